-- trace_start(): the least timestamp of any event, ns of the trace clock.
CREATE OR REPLACE MACRO trace_start(/*! trace_id */) AS (
    SELECT any_value(_bounds.start_ts)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- trace_end(): the greatest timestamp of any event, ns of the trace clock.
CREATE OR REPLACE MACRO trace_end(/*! trace_id */) AS (
    SELECT any_value(_bounds.end_ts)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- trace_dur(): the time from trace_start() to trace_end(), ns.
CREATE OR REPLACE MACRO trace_dur(/*! trace_id */) AS (
    SELECT any_value(_bounds.end_ts - _bounds.start_ts)
    FROM /*! (SELECT trace_id AS _trace) AS _of JOIN */ trace_bounds AS _bounds /*! ON _bounds.trace_id = _of._trace */);

-- _lasting is the duration of what has dur -1 if it did not end: it lasts to the end of the trace.
CREATE OR REPLACE MACRO _lasting(ts, dur /*!, trace_id */) AS
    CASE WHEN dur = -1 THEN greatest(trace_end(/*! trace_id */) - ts, 0) ELSE dur END;

-- _clock_segment is where each clock's snapshots hold: from one to the next, and before the first.
CREATE OR REPLACE VIEW _clock_segment AS
SELECT clock_id, ts AS from_ts, ts, clock_value, /*! trace_id, */
       lead(clock_value) OVER (PARTITION BY clock_id /*!, trace_id */ ORDER BY ts) AS next_value
FROM clock_snapshot
UNION ALL BY NAME
SELECT clock_id, -9223372036854775807 AS from_ts, min(ts) AS ts, arg_min(clock_value, ts) AS clock_value /*!, trace_id */
FROM clock_snapshot GROUP BY clock_id /*!, trace_id */;

-- _to_clock is the value of a clock at a trace timestamp: that of the last snapshot plus the time since, but no more
-- than that of the next; before the first snapshot, that of the first.
CREATE OR REPLACE MACRO _to_clock(ts, clock /*!, trace_id */) AS (
    SELECT any_value(CASE WHEN _at <= _s.ts THEN clock_value ELSE least(clock_value + _at - _s.ts, next_value) END)
    FROM (SELECT ts AS _at, clock AS _clock /*!, trace_id AS _trace */) AS _of
    ASOF JOIN _clock_segment AS _s ON _s.clock_id = _of._clock AND _of._at >= _s.from_ts /*! AND _s.trace_id = _of._trace */);

-- to_realtime(ts): the wall clock, ns since 1970-01-01 UTC, at a trace timestamp; NULL without a snapshot of it.
-- Source: clock_snapshot, as Trace Processor's to_realtime.
CREATE OR REPLACE MACRO to_realtime(ts /*!, trace_id */) AS _to_clock(ts, 1 /*!, trace_id */);

-- to_monotonic(ts): CLOCK_MONOTONIC, ns, at a trace timestamp; NULL without a snapshot of it.
CREATE OR REPLACE MACRO to_monotonic(ts /*!, trace_id */) AS _to_clock(ts, 3 /*!, trace_id */);

-- abs_time_str(ts): to_realtime(ts) as text, 2022-07-19T22:46:31.123456789, UTC.
CREATE OR REPLACE MACRO abs_time_str(ts /*!, trace_id */) AS
    strftime(make_timestamp_ns(to_realtime(ts /*!, trace_id */)), '%Y-%m-%dT%H:%M:%S.%n');

-- to_timecode(ts): ns as hours:minutes:seconds milli micro nano, 01:02:03 004 005 006.
CREATE OR REPLACE MACRO to_timecode(ts) AS
    format('{:02d}:{:02d}:{:02d} {:03d} {:03d} {:03d}', ts // 3600000000000, ts // 60000000000 % 60, ts // 1000000000 % 60,
           ts // 1000000 % 1000, ts // 1000 % 1000, ts % 1000);

-- time_from_ns(nanos) to time_from_days(days): a duration as ns. Source: Trace Processor's time.conversion.
CREATE OR REPLACE MACRO time_from_ns(nanos) AS nanos;
CREATE OR REPLACE MACRO time_from_us(micros) AS micros * 1000::BIGINT;
CREATE OR REPLACE MACRO time_from_ms(millis) AS millis * 1000000::BIGINT;
CREATE OR REPLACE MACRO time_from_s(seconds) AS seconds * 1000000000::BIGINT;
CREATE OR REPLACE MACRO time_from_min(minutes) AS minutes * 60000000000;
CREATE OR REPLACE MACRO time_from_hours(hours) AS hours * 3600000000000;
CREATE OR REPLACE MACRO time_from_days(days) AS days * 86400000000000;

-- time_to_ns(nanos) to time_to_days(nanos): ns as a whole number of the unit, rounded towards zero.
CREATE OR REPLACE MACRO time_to_ns(nanos) AS nanos;
CREATE OR REPLACE MACRO time_to_us(nanos) AS nanos // 1000;
CREATE OR REPLACE MACRO time_to_ms(nanos) AS nanos // 1000000;
CREATE OR REPLACE MACRO time_to_s(nanos) AS nanos // 1000000000;
CREATE OR REPLACE MACRO time_to_min(nanos) AS nanos // 60000000000;
CREATE OR REPLACE MACRO time_to_hours(nanos) AS nanos // 3600000000000;
CREATE OR REPLACE MACRO time_to_days(nanos) AS nanos // 86400000000000;
