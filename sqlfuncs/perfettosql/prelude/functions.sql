-- Macros and functions. What the functions in Go do is documented with them.

CREATE PERFETTO MACRO cast_int(value Expr) RETURNS Expr AS CAST($value AS INT);
CREATE PERFETTO MACRO cast_double(value Expr) RETURNS Expr AS CAST($value AS REAL);
CREATE PERFETTO MACRO cast_string(value Expr) RETURNS Expr AS CAST($value AS TEXT);

CREATE PERFETTO FUNCTION regexp(pattern STRING, text STRING) RETURNS BOOL DELEGATES TO __intrinsic_regexp;
CREATE PERFETTO FUNCTION regexp(pattern STRING, text STRING, flags STRING) RETURNS BOOL DELEGATES TO __intrinsic_regexp_with_flags;
CREATE PERFETTO FUNCTION regexp_extract(text STRING, pattern STRING) RETURNS STRING DELEGATES TO __intrinsic_regexp_extract;
CREATE PERFETTO FUNCTION regexp_replace_simple(text STRING, pattern STRING, replacement STRING) RETURNS STRING
DELEGATES TO __intrinsic_regexp_replace_simple;
CREATE PERFETTO FUNCTION reverse(text STRING) RETURNS STRING DELEGATES TO __intrinsic_reverse;
CREATE PERFETTO FUNCTION unhex(text STRING) RETURNS LONG DELEGATES TO __intrinsic_unhex;
CREATE PERFETTO FUNCTION demangle(text STRING) RETURNS STRING DELEGATES TO __intrinsic_demangle;
CREATE PERFETTO FUNCTION base64_encode(bytes BYTES) RETURNS STRING DELEGATES TO __intrinsic_base64_encode;
CREATE PERFETTO FUNCTION base64_decode(text STRING) RETURNS BYTES DELEGATES TO __intrinsic_base64_decode;

CREATE PERFETTO FUNCTION exp(x DOUBLE) RETURNS DOUBLE DELEGATES TO __intrinsic_exp;
CREATE PERFETTO FUNCTION ln(x DOUBLE) RETURNS DOUBLE DELEGATES TO __intrinsic_ln;
CREATE PERFETTO FUNCTION sqrt(x DOUBLE) RETURNS DOUBLE DELEGATES TO __intrinsic_sqrt;

CREATE PERFETTO FUNCTION abs_time_str(ts LONG) RETURNS STRING DELEGATES TO __intrinsic_abs_time_str;
CREATE PERFETTO FUNCTION to_monotonic(ts LONG) RETURNS LONG DELEGATES TO __intrinsic_to_monotonic;
CREATE PERFETTO FUNCTION to_realtime(ts LONG) RETURNS LONG DELEGATES TO __intrinsic_to_realtime;
CREATE PERFETTO FUNCTION to_timecode(ts LONG) RETURNS STRING DELEGATES TO __intrinsic_to_timecode;

CREATE PERFETTO FUNCTION trace_start() RETURNS TIMESTAMP AS SELECT start_ts FROM _trace_bounds;
CREATE PERFETTO FUNCTION trace_end() RETURNS TIMESTAMP AS SELECT end_ts FROM _trace_bounds;
CREATE PERFETTO FUNCTION trace_dur() RETURNS DURATION AS SELECT end_ts - start_ts FROM _trace_bounds;

-- Whether a slice encloses another of its track. One without an end encloses all that start later and lie deeper.
CREATE PERFETTO FUNCTION slice_is_ancestor(ancestor LONG, descendant LONG) RETURNS BOOL AS
SELECT a.track_id = d.track_id AND a.depth < d.depth AND a.ts <= d.ts AND (a.dur = -1 OR d.ts + d.dur <= a.ts + a.dur)
FROM __intrinsic_slice AS a JOIN __intrinsic_slice AS d ON d.id = $descendant
WHERE a.id = $ancestor;

-- The stack of a path of fields. The module proto_path calls it by this name, though it defines it under another.
CREATE PERFETTO FUNCTION experimental_proto_path_to_frame(path LONG) RETURNS BYTES AS
SELECT cat_stacks('event.name:' || extract_arg(arg_set_id, 'event.name'), 'event.category:' || extract_arg(arg_set_id, 'event.category'),
                  field_name, field_type)
FROM experimental_proto_path WHERE id = $path;
