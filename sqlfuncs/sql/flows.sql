-- following_flow(id): the flows that start at a slice, at a slice inside it, or at a slice that they lead to, and so
-- on, each once. Source: Trace Processor's following_flow.
CREATE OR REPLACE MACRO following_flow(id /*!, trace_id */) AS TABLE
WITH RECURSIVE _reached AS (
    SELECT id AS _id /*!, trace_id AS _trace */
    UNION
    SELECT _next._to /*!, _trace */
    FROM _reached
    JOIN (SELECT slice_out AS _from, slice_in AS _to /*!, _f.trace_id */ FROM flow AS _f
          UNION ALL
          SELECT _s.parent_id, _s.id /*!, _s.trace_id */ FROM slice AS _s) AS _next
        ON _next._from = _reached._id /*! AND _next.trace_id = _reached._trace */)
SELECT _f.* FROM _reached JOIN flow AS _f ON _f.slice_out = _reached._id /*! AND _f.trace_id = _reached._trace */;

-- preceding_flow(id): the flows that end at a slice, at a slice around it, or at a slice that they come from, and so
-- on, each once. Source: Trace Processor's preceding_flow.
CREATE OR REPLACE MACRO preceding_flow(id /*!, trace_id */) AS TABLE
WITH RECURSIVE _reached AS (
    SELECT id AS _id /*!, trace_id AS _trace */
    UNION
    SELECT _next._to /*!, _trace */
    FROM _reached
    JOIN (SELECT slice_in AS _from, slice_out AS _to /*!, _f.trace_id */ FROM flow AS _f
          UNION ALL
          SELECT _s.id, _s.parent_id /*!, _s.trace_id */ FROM slice AS _s WHERE _s.parent_id IS NOT NULL) AS _next
        ON _next._from = _reached._id /*! AND _next.trace_id = _reached._trace */)
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
