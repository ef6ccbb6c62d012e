-- _frame_function is the functions of each frame: itself and, with a higher symbol_id first, those inlined into it.
CREATE OR REPLACE VIEW _frame_function AS
SELECT f.id AS frame_id, coalesce(s.name, f.deobfuscated_name, f.name, 'unknown') AS name, m.name AS mapping_name,
       s.source_file, s.line_number, coalesce(s.inlined, false) AS inlined, s.id AS symbol_id /*!, f.trace_id */
FROM stack_profile_frame AS f
LEFT JOIN stack_profile_symbol AS s ON s.symbol_set_id = f.symbol_set_id /*! AND s.trace_id = f.trace_id */
LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping /*! AND m.trace_id = f.trace_id */;

-- callstack_frames(callsite_id): the functions of a callstack, of which position counts from the root: position,
-- callsite_id, name, mapping_name, source_file, line_number, inlined.
CREATE OR REPLACE MACRO callstack_frames(callsite_id /*!, trace_id */) AS TABLE
WITH RECURSIVE _up AS (
    SELECT callsite_id AS _id /*!, trace_id AS _trace */
    UNION ALL
    SELECT _c.parent_id /*!, _trace */
    FROM _up JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    WHERE _c.parent_id IS NOT NULL)
SELECT row_number() OVER (ORDER BY _c.depth, _f.symbol_id DESC) - 1 AS position, _c.id AS callsite_id, _f.name,
       _f.mapping_name, _f.source_file, _f.line_number, _f.inlined /*!, _trace AS trace_id */
FROM _up
JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
JOIN _frame_function AS _f ON _f.frame_id = _c.frame_id /*! AND _f.trace_id = _up._trace */;

-- callstack(callsite_id): the names of a callstack's functions from the root, as text: main;run;read.
CREATE OR REPLACE MACRO callstack(callsite_id /*!, trace_id */) AS (
    SELECT string_agg(name, ';' ORDER BY position) FROM callstack_frames(callsite_id /*!, trace_id */));

-- callstack_list(callsite_id): the names of a callstack's functions from the root, as a list.
CREATE OR REPLACE MACRO callstack_list(callsite_id /*!, trace_id */) AS (
    SELECT list(name ORDER BY position) FROM callstack_frames(callsite_id /*!, trace_id */));

-- flamegraph(samples): the callsites under samples, a table, view or query as text (such as 'perf_sample', or
-- 'FROM aggregate_sample WHERE aggregate_profile_id = 0') with callsite_id and, if samples weigh other than 1, value: id,
-- parent_id and depth of the callsite, its name (with what is inlined into it, from the outermost: f;g) and mapping_name,
-- self_value of the samples right there, and cumulative_value of those there and below. In the unit of value.
CREATE OR REPLACE MACRO flamegraph(samples) AS TABLE
WITH RECURSIVE
_sample AS (
    FROM relation(samples) UNION ALL BY NAME SELECT 1 AS value WHERE false),
_up AS (
    SELECT callsite_id AS _id, sum(coalesce(value, 1)) AS _value, true AS _self /*!, trace_id AS _trace */
    FROM _sample WHERE callsite_id IS NOT NULL GROUP BY callsite_id /*!, trace_id */
    UNION ALL
    SELECT _c.parent_id, _value, false /*!, _trace */
    FROM _up JOIN stack_profile_callsite AS _c ON _c.id = _up._id /*! AND _c.trace_id = _up._trace */
    WHERE _c.parent_id IS NOT NULL),
_total AS (
    SELECT _id, coalesce(sum(_value) FILTER (_self), 0) AS _own, sum(_value) AS _all /*!, _trace */
    FROM _up GROUP BY _id /*!, _trace */),
_name AS (
    SELECT frame_id, string_agg(name, ';' ORDER BY symbol_id DESC) AS name, any_value(mapping_name) AS mapping_name
           /*!, trace_id */
    FROM _frame_function GROUP BY frame_id /*!, trace_id */)
SELECT _c.id, _c.parent_id, _c.depth, _name.name, _name.mapping_name, _own AS self_value, _all AS cumulative_value
       /*!, _trace AS trace_id */
FROM _total
JOIN stack_profile_callsite AS _c ON _c.id = _total._id /*! AND _c.trace_id = _total._trace */
JOIN _name ON _name.frame_id = _c.frame_id /*! AND _name.trace_id = _total._trace */;
