-- _next is read once for all steps of a recursion, because EXISTS names it a second time (slices.sql says why).

-- following_flow(id): the flows that start at a slice, at a slice inside it, or at a slice that they lead to, and so
-- on, each once. Source: Trace Processor's following_flow.
CREATE OR REPLACE MACRO following_flow(id /*!, trace_id */) AS TABLE
WITH RECURSIVE
_next AS (
    SELECT slice_out AS _from, slice_in AS _to /*!, _f.trace_id AS _trace */ FROM flow AS _f
    UNION ALL
    SELECT _s.parent_id, _s.id /*!, _s.trace_id */ FROM slice AS _s),
_reached AS (
    SELECT _start::BIGINT AS _id /*!, _trace */ FROM (SELECT id AS _start /*!, trace_id AS _trace */) AS _of WHERE EXISTS (FROM _next)
    UNION
    SELECT _to /*!, _reached._trace */
    FROM _reached JOIN _next ON _from = _reached._id /*! AND _next._trace = _reached._trace */)
SELECT _f.* FROM _reached JOIN flow AS _f ON _f.slice_out = _reached._id /*! AND _f.trace_id = _reached._trace */;

-- preceding_flow(id): the flows that end at a slice, at a slice around it, or at a slice that they come from, and so
-- on, each once. Source: Trace Processor's preceding_flow.
CREATE OR REPLACE MACRO preceding_flow(id /*!, trace_id */) AS TABLE
WITH RECURSIVE
_next AS (
    SELECT slice_in AS _from, slice_out AS _to /*!, _f.trace_id AS _trace */ FROM flow AS _f
    UNION ALL
    SELECT _s.id, _s.parent_id /*!, _s.trace_id */ FROM slice AS _s WHERE _s.parent_id IS NOT NULL),
_reached AS (
    SELECT _start::BIGINT AS _id /*!, _trace */ FROM (SELECT id AS _start /*!, trace_id AS _trace */) AS _of WHERE EXISTS (FROM _next)
    UNION
    SELECT _to /*!, _reached._trace */
    FROM _reached JOIN _next ON _from = _reached._id /*! AND _next._trace = _reached._trace */)
SELECT _f.* FROM _reached JOIN flow AS _f ON _f.slice_in = _reached._id /*! AND _f.trace_id = _reached._trace */;

-- directly_connected_flow(id): the flows that can be followed forward from a slice, and those that can be followed
-- backward, without looking inside or around slices, each once. Source: Trace Processor's directly_connected_flow,
-- which returns a flow in a cycle twice.
CREATE OR REPLACE MACRO directly_connected_flow(id /*!, trace_id */) AS TABLE
WITH RECURSIVE
_step AS (
    SELECT _f.id AS _flow, true AS _forward, slice_out AS _from, slice_in AS _to /*!, _f.trace_id */ FROM flow AS _f
    UNION ALL
    SELECT _f.id, false, slice_in, slice_out /*!, _f.trace_id */ FROM flow AS _f),
_reached AS (
    SELECT id AS _id, unnest([true, false]) AS _forward /*!, trace_id AS _trace */
    UNION
    SELECT _step._to, _reached._forward /*!, _trace */
    FROM _reached
    JOIN _step ON _step._from = _reached._id AND _step._forward = _reached._forward
        /*! AND _step.trace_id = _reached._trace */)
SELECT DISTINCT _f.*
FROM _reached
JOIN _step ON _step._from = _reached._id AND _step._forward = _reached._forward /*! AND _step.trace_id = _reached._trace */
JOIN flow AS _f ON _f.id = _step._flow /*! AND _f.trace_id = _step.trace_id */;
