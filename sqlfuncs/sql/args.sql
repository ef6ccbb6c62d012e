CREATE OR REPLACE MACRO _arg(arg_set_id, key /*!, trace_id */) AS TABLE
SELECT _arg.*
FROM (SELECT arg_set_id AS _set, key AS _key /*!, trace_id AS _trace */) AS _of
JOIN args AS _arg ON _arg.arg_set_id = _of._set AND _arg.key = _of._key /*! AND _arg.trace_id = _of._trace */;

-- _extract_arg returns the value of an argument as a VARIANT of the argument's type, for PerfettoSQL. DuckDB 1.4 and 2
-- compare, sort and return VARIANTs wrongly.
CREATE OR REPLACE MACRO _extract_arg(arg_set_id, key /*!, trace_id */) AS (
    SELECT any_value(CASE WHEN int_value IS NOT NULL THEN int_value::VARIANT
                          WHEN real_value IS NOT NULL THEN real_value::VARIANT
                          ELSE string_value::VARIANT END)
    FROM _arg(arg_set_id, key /*!, trace_id */));

-- extract_arg_int(arg_set_id, key): the value of an integer, boolean (0 and 1) or pointer argument, else NULL.
CREATE OR REPLACE MACRO extract_arg_int(arg_set_id, key /*!, trace_id */) AS (
    SELECT any_value(int_value) FROM _arg(arg_set_id, key /*!, trace_id */));

-- extract_arg_real(arg_set_id, key): the value of a numeric argument as a DOUBLE, else NULL.
CREATE OR REPLACE MACRO extract_arg_real(arg_set_id, key /*!, trace_id */) AS (
    SELECT any_value(coalesce(real_value, int_value)) FROM _arg(arg_set_id, key /*!, trace_id */));

-- extract_arg_str(arg_set_id, key): the value of an argument of any type as text, else NULL.
CREATE OR REPLACE MACRO extract_arg_str(arg_set_id, key /*!, trace_id */) AS (
    SELECT any_value(coalesce(string_value, int_value::VARCHAR, real_value::VARCHAR))
    FROM _arg(arg_set_id, key /*!, trace_id */));

-- extract_arg(arg_set_id, key): the same as extract_arg_str. Use extract_arg_int and extract_arg_real for numbers:
-- comparing this result with a number is an error. Source: Trace Processor's EXTRACT_ARG, which returns a value of the
-- argument's type.
CREATE OR REPLACE MACRO extract_arg(arg_set_id, key /*!, trace_id */) AS extract_arg_str(arg_set_id, key /*!, trace_id */);
