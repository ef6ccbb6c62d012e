CREATE OR REPLACE MACRO _counter_intervals(counters) AS TABLE
SELECT id, ts, coalesce(lead(ts) OVER _track, trace_end(/*! trace_id */)) - ts AS dur, track_id, value,
       lead(value) OVER _track AS next_value, value - lag(value) OVER _track AS delta_value /*!, trace_id */
FROM query_table(counters)
WINDOW _track AS (PARTITION BY track_id /*!, trace_id */ ORDER BY ts, id);

-- counter_intervals(source): each value of the counters in source (a table, view or query as text, such as 'counter')
-- as an interval: id, ts, dur (ns, to the track's next value or the end of the trace), track_id, value, next_value, and
-- delta_value since the track's previous value.
CREATE OR REPLACE MACRO counter_intervals(source) AS TABLE
WITH _counters AS (FROM query(_query(source)))
FROM _counter_intervals('_counters');

-- counter_leading_intervals(source): counter_intervals without the values inside a run of equal ones: the first two
-- stay, and so does the last one before a change. Source: Trace Processor's counter_leading_intervals.
CREATE OR REPLACE MACRO counter_leading_intervals(source) AS TABLE
WITH _counters AS (
    SELECT * EXCLUDE (_previous)
    FROM (SELECT *, lag(value) OVER _track AS _previous FROM query(_query(source))
          WINDOW _track AS (PARTITION BY track_id /*!, trace_id */ ORDER BY ts, id))
    WINDOW _track AS (PARTITION BY track_id /*!, trace_id */ ORDER BY ts, id)
    QUALIFY NOT coalesce(value = _previous AND value = lag(_previous) OVER _track
                         AND value = coalesce(lead(value) OVER _track, value), false))
FROM _counter_intervals('_counters');
