-- The trace, and the machine that it is from.

CREATE PERFETTO VIEW trace_bounds AS SELECT * FROM _trace_bounds;

-- The metrics of version 1.
CREATE TABLE _trace_metrics AS WITH metric(name) AS (VALUES
('ad_services_metric'), ('android_anomaly'), ('android_anr'), ('android_auto_multiuser'), ('android_batt'), ('android_binder'),
('android_blocking_calls_cuj_metric'), ('android_blocking_calls_cuj_per_frame_metric'), ('android_blocking_calls_unagg'),
('android_boot'), ('android_boot_unagg'), ('android_broadcasts'), ('android_camera'), ('android_camera_unagg'), ('android_cpu'),
('android_dma_heap'), ('android_dvfs'), ('android_fastrpc'), ('android_frame_timeline_metric'),
('android_garbage_collection_stats'), ('android_garbage_collection_unagg'), ('android_gpu'), ('android_hwcomposer'),
('android_hwui_metric'), ('android_io'), ('android_io_unagg'), ('android_ion'), ('android_irq_runtime'), ('android_jank_cuj'),
('android_lmk'), ('android_lmk_reason'), ('android_mem'), ('android_mem_unagg'), ('android_monitor_contention'),
('android_monitor_contention_agg'), ('android_multiuser'), ('android_netperf'), ('android_oom_adjuster'),
('android_package_list'), ('android_powrails'), ('android_rt_runtime'), ('android_simpleperf'), ('android_startup'),
('android_surfaceflinger'), ('android_sysui_notifications_blocking_calls_metric'), ('android_trace_quality'), ('codec_metrics'),
('display_metrics'), ('g2d'), ('java_heap_class_stats'), ('java_heap_histogram'), ('java_heap_stats'), ('profiler_smaps'),
('android_app_process_starts'), ('sysui_notif_shade_list_builder_metric'), ('sysui_update_notif_on_ui_mode_changed_metric'),
('unsymbolized_frames'), ('wattson_app_startup_rails'), ('wattson_app_startup_threads'), ('wattson_atrace_apps_rails'),
('wattson_atrace_apps_threads'), ('wattson_markers_rails'), ('wattson_markers_threads'), ('wattson_trace_rails'),
('wattson_trace_threads'), ('chrome_args_class_names'), ('chrome_histogram_hashes'), ('chrome_histogram_summaries'),
('chrome_performance_mark_hashes'), ('chrome_scroll_jank_v3'), ('chrome_slice_names'), ('chrome_study_hashes'),
('chrome_unsymbolized_args'), ('chrome_user_event_hashes'), ('test_chrome_metric'), ('clone_duration'), ('chrome_dropped_frames'),
('chrome_long_latency'), ('frame_times'), ('media_metric'), ('reported_by_page'), ('trace_metadata'), ('trace_stats'),
('webview_jank_approximation'))
SELECT name FROM metric;
CREATE PERFETTO VIEW trace_metrics AS SELECT * FROM _trace_metrics;

CREATE PERFETTO VIEW _trace_import_logs AS
SELECT l.id, l.trace_id, l.ts, l.byte_offset, s.severity, s.name, l.arg_set_id
FROM __intrinsic_trace_import_logs AS l JOIN _stat_key_to_severity_and_name AS s ON s.key = l.stat_key;

CREATE PERFETTO VIEW thread AS SELECT id AS utid, * FROM __intrinsic_thread;
CREATE PERFETTO VIEW process AS SELECT id AS upid, * FROM __intrinsic_process;

-- label_index numbers the machines other than the one that recorded the trace.
CREATE PERFETTO VIEW machine AS
SELECT *, iif(raw_id = 0, 0, count(*) FILTER (WHERE raw_id <> 0) OVER (ORDER BY id)) AS label_index FROM __intrinsic_machine;
CREATE PERFETTO VIEW cpu AS
SELECT id, id AS ucpu, cpu, cluster_id, processor, machine_id, capacity, arg_set_id FROM __intrinsic_cpu WHERE cpu IS NOT NULL;
CREATE PERFETTO VIEW cpu_available_frequencies AS SELECT id, ucpu AS cpu, freq, ucpu FROM __intrinsic_cpu_freq;
CREATE PERFETTO VIEW gpu AS
SELECT id, id AS ugpu, gpu, name, vendor, model, architecture, uuid, pci_bdf, machine_id, arg_set_id
FROM __intrinsic_gpu WHERE gpu IS NOT NULL;
