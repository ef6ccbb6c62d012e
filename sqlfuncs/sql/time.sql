-- trace_start(): the earliest timestamp of any event, in ns of the trace clock, 0 without events.
CREATE OR REPLACE MACRO trace_start(/*! trace_id */) AS (
    SELECT coalesce(any_value(_bounds.start_ts), 0)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- trace_end(): the latest timestamp of any event, in ns of the trace clock, 0 without events.
CREATE OR REPLACE MACRO trace_end(/*! trace_id */) AS (
    SELECT coalesce(any_value(_bounds.end_ts), 0)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- trace_dur(): the time from trace_start() to trace_end(), in ns, 0 without events.
CREATE OR REPLACE MACRO trace_dur(/*! trace_id */) AS (
    SELECT coalesce(any_value(_bounds.end_ts - _bounds.start_ts), 0)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- _lasting returns a duration. If it is -1, which means unfinished, it lasts until the end of the trace.
CREATE OR REPLACE MACRO _lasting(ts, dur /*!, trace_id */) AS
    CASE WHEN dur = -1 THEN greatest(trace_end(/*! trace_id */) - ts, 0) ELSE dur END;

-- _clock_segment has the range in which each clock's snapshot is valid: until the next one, and also before the
-- first.
CREATE OR REPLACE VIEW _clock_segment AS
SELECT clock_id, ts AS from_ts, ts, clock_value, /*! trace_id, */
       lead(clock_value) OVER (PARTITION BY clock_id /*!, trace_id */ ORDER BY ts) AS next_value
FROM clock_snapshot
UNION ALL BY NAME
SELECT clock_id, -9223372036854775807 AS from_ts, min(ts) AS ts, arg_min(clock_value, ts) AS clock_value /*!, trace_id */
FROM clock_snapshot GROUP BY clock_id /*!, trace_id */;

-- _to_clock returns the value of a clock at a trace timestamp: the last snapshot's value plus the time since, but no
-- more than the next snapshot's value; before the first snapshot, the first snapshot's value.
CREATE OR REPLACE MACRO _to_clock(ts, clock /*!, trace_id */) AS (
    SELECT any_value(CASE WHEN _at <= _s.ts THEN clock_value ELSE least(clock_value + _at - _s.ts, next_value) END)
    FROM (SELECT ts AS _at, clock AS _clock /*!, trace_id AS _trace */) AS _of
    ASOF JOIN _clock_segment AS _s ON _s.clock_id = _of._clock AND _of._at >= _s.from_ts /*! AND _s.trace_id = _of._trace */);

-- to_realtime(ts): the wall clock, in ns since 1970-01-01 UTC, at a trace timestamp; NULL if the trace has no
-- snapshot of it. Source: clock_snapshot, as in Trace Processor's to_realtime.
CREATE OR REPLACE MACRO to_realtime(ts /*!, trace_id */) AS _to_clock(ts, 1 /*!, trace_id */);

-- to_monotonic(ts): CLOCK_MONOTONIC, in ns, at a trace timestamp; NULL if the trace has no snapshot of it.
CREATE OR REPLACE MACRO to_monotonic(ts /*!, trace_id */) AS _to_clock(ts, 3 /*!, trace_id */);

-- abs_time_str(ts): to_realtime(ts) as text, 2022-07-19T22:46:31.123456789, UTC.
CREATE OR REPLACE MACRO abs_time_str(ts /*!, trace_id */) AS
    strftime(make_timestamp_ns(to_realtime(ts /*!, trace_id */)), '%Y-%m-%dT%H:%M:%S.%n');

-- to_timecode(ts): ns as hours:minutes:seconds milli micro nano, 01:02:03 004 005 006.
CREATE OR REPLACE MACRO to_timecode(ts) AS
    format('{:02d}:{:02d}:{:02d} {:03d} {:03d} {:03d}', ts // 3600000000000, ts // 60000000000 % 60, ts // 1000000000 % 60,
           ts // 1000000 % 1000, ts // 1000 % 1000, ts % 1000);

-- time_from_ns(nanos) to time_from_days(days): converts a duration to ns. Source: Trace Processor's time.conversion.
CREATE OR REPLACE MACRO time_from_ns(nanos) AS nanos;
CREATE OR REPLACE MACRO time_from_us(micros) AS micros * 1000::BIGINT;
CREATE OR REPLACE MACRO time_from_ms(millis) AS millis * 1000000::BIGINT;
CREATE OR REPLACE MACRO time_from_s(seconds) AS seconds * 1000000000::BIGINT;
CREATE OR REPLACE MACRO time_from_min(minutes) AS minutes * 60000000000;
CREATE OR REPLACE MACRO time_from_hours(hours) AS hours * 3600000000000;
CREATE OR REPLACE MACRO time_from_days(days) AS days * 86400000000000;

-- time_to_ns(nanos) to time_to_days(nanos): converts ns to a whole number of the unit, rounded towards zero.
CREATE OR REPLACE MACRO time_to_ns(nanos) AS nanos;
CREATE OR REPLACE MACRO time_to_us(nanos) AS nanos // 1000;
CREATE OR REPLACE MACRO time_to_ms(nanos) AS nanos // 1000000;
CREATE OR REPLACE MACRO time_to_s(nanos) AS nanos // 1000000000;
CREATE OR REPLACE MACRO time_to_min(nanos) AS nanos // 60000000000;
CREATE OR REPLACE MACRO time_to_hours(nanos) AS nanos // 3600000000000;
CREATE OR REPLACE MACRO time_to_days(nanos) AS nanos // 86400000000000;
