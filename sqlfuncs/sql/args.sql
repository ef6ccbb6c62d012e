CREATE OR REPLACE MACRO _arg(arg_set_id, key /*!, trace_id */) AS TABLE
SELECT _arg.*
FROM (SELECT arg_set_id AS _set, key AS _key /*!, trace_id AS _trace */) AS _of
JOIN args AS _arg ON _arg.arg_set_id = _of._set AND _arg.key = _of._key /*! AND _arg.trace_id = _of._trace */;

-- extract_arg(arg_set_id, key): the value of an argument as a VARIANT that holds a BIGINT for integers, booleans
-- (0 and 1) and pointers, else a DOUBLE or VARCHAR; NULL if the set has no such key. It compares and computes as a
-- value of that type does; comparing a number with text is an error. Where a key has values of both kinds, or a client
-- cannot read a VARIANT, use extract_arg_int, extract_arg_real or extract_arg_str. Source: Trace Processor's EXTRACT_ARG.
CREATE OR REPLACE MACRO extract_arg(arg_set_id, key /*!, trace_id */) AS (
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

-- extract_arg_str(arg_set_id, key): the value of an argument of any type as text.
CREATE OR REPLACE MACRO extract_arg_str(arg_set_id, key /*!, trace_id */) AS (
    SELECT any_value(coalesce(string_value, int_value::VARCHAR, real_value::VARCHAR))
    FROM _arg(arg_set_id, key /*!, trace_id */));
