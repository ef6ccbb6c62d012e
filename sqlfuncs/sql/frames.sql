-- frame_timeline: each frame of Android's FrameTimeline, expected and actual: its tokens, process and layer;
-- expected_ts and expected_dur, the actual ts and dur, and overrun, how much too late the frame ended (all in ns);
-- whether it was janky (jank_type: None, or the reasons) and how badly; and how it was presented. A frame without
-- surface_frame_token is a display frame, by SurfaceFlinger. Without a valid prediction expected_ts is NULL.
CREATE OR REPLACE VIEW frame_timeline AS
SELECT a.id, a.display_frame_token, a.surface_frame_token, a.upid, p.name AS process_name, a.layer_name,
       e.ts AS expected_ts, _lasting(e.ts, e.dur /*!, e.trace_id */) AS expected_dur,
       a.ts, _lasting(a.ts, a.dur /*!, a.trace_id */) AS dur,
       a.ts + _lasting(a.ts, a.dur /*!, a.trace_id */) - e.ts - _lasting(e.ts, e.dur /*!, e.trace_id */) AS overrun,
       a.jank_type, a.jank_severity_type, a.present_type, a.on_time_finish, a.prediction_type, a.gpu_composition
       /*!, a.trace_id */
FROM actual_frame_timeline_slice AS a
LEFT JOIN expected_frame_timeline_slice AS e
    ON e.upid IS NOT DISTINCT FROM a.upid AND e.surface_frame_token IS NOT DISTINCT FROM a.surface_frame_token
    AND (a.surface_frame_token IS NOT NULL OR e.display_frame_token = a.display_frame_token) /*! AND e.trace_id = a.trace_id */
LEFT JOIN process AS p ON p.upid = a.upid /*! AND p.trace_id = a.trace_id */;
