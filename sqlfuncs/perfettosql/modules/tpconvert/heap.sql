-- What objects on heaps keep alive.

-- Classes of one name, whoever loaded them, have one key.
CREATE PERFETTO TABLE _heap_class_name AS
SELECT id AS type_id, kind, coalesce(deobfuscated_name, name) AS class, min(id) OVER (PARTITION BY coalesce(deobfuscated_name, name)) AS class_key
FROM heap_graph_class;

-- The references that keep objects alive, and one from node 0, which has no object, to each root. The node of an object is its id + 1.
CREATE PERFETTO VIEW _heap_edge AS
SELECT r.owner_id + 1 AS source, r.owned_id + 1 AS dest
FROM heap_graph_reference AS r JOIN heap_graph_object AS o ON o.id = r.owner_id JOIN _heap_class_name AS c USING (type_id)
WHERE o.reachable AND r.owned_id IS NOT NULL AND r.field_type_name IS NOT 'weak'
    AND NOT (r.field_name IS 'java.lang.ref.Reference.referent' AND c.kind IN ('KIND_FINALIZER_REFERENCE', 'KIND_PHANTOM_REFERENCE', 'KIND_WEAK_REFERENCE'))
UNION ALL
SELECT 0, id + 1 FROM heap_graph_object WHERE root_type IS NOT NULL;

-- heap_retained: for each reachable object the one that dominates it, without which it would not be reachable (NULL for roots and
-- for what several roots keep), and the objects and bytes that it keeps alive, with its own.
CREATE PERFETTO TABLE heap_retained AS
WITH dominator AS MATERIALIZED (
    SELECT c0 - 1 AS id, nullif(c1, 0) - 1 AS dominator_id
    FROM __intrinsic_table_ptr((SELECT __intrinsic_dominator_tree(source, dest, 0) FROM _heap_edge))
    WHERE __intrinsic_table_ptr_bind(c0, 'node_id') AND __intrinsic_table_ptr_bind(c1, 'dominator_node_id') AND c1 IS NOT NULL)
SELECT c0 AS id, c1 AS dominator_id, c2 AS retained_objects, c3 AS retained_bytes
FROM __intrinsic_table_ptr((
    SELECT __intrinsic_tree_dominator_summary(__intrinsic_tree_from_table(
        'id', d.id, 'parent_id', d.dominator_id, 'self_size', o.self_size, 'native_size', 0, 'self_count', 1))
    FROM dominator AS d JOIN heap_graph_object AS o USING (id)))
WHERE __intrinsic_table_ptr_bind(c0, 'id') AND __intrinsic_table_ptr_bind(c1, 'idom_id')
    AND __intrinsic_table_ptr_bind(c2, 'dominated_obj_count') AND __intrinsic_table_ptr_bind(c3, 'dominated_size_bytes');

-- heap_class: the reachable objects of each class in a dump. What they keep alive counts once, where one keeps another of the class.
CREATE PERFETTO TABLE heap_class AS
WITH node AS MATERIALIZED (
    SELECT r.id + 1 AS id, ifnull(r.dominator_id + 1, 0) AS parent_id, class_key
    FROM heap_retained AS r JOIN heap_graph_object AS o USING (id) JOIN _heap_class_name USING (type_id)
    UNION ALL
    SELECT 0, NULL, (SELECT max(id) + 1 FROM heap_graph_class)),
outermost AS MATERIALIZED (
    SELECT c0 - 1 AS id FROM __intrinsic_table_ptr((SELECT __intrinsic_structural_tree_partition(id, parent_id, class_key) FROM node))
    WHERE __intrinsic_table_ptr_bind(c0, 'node_id') AND __intrinsic_table_ptr_bind(c1, 'parent_node_id') AND c1 IS NULL)
SELECT o.upid, o.graph_sample_ts, c.class, count(*) AS count, sum(o.self_size) AS bytes,
       sum(iif(r.id IN outermost, r.retained_objects, 0)) AS retained_objects, sum(iif(r.id IN outermost, r.retained_bytes, 0)) AS retained_bytes
FROM heap_retained AS r JOIN heap_graph_object AS o USING (id) JOIN _heap_class_name AS c USING (type_id)
GROUP BY o.upid, o.graph_sample_ts, c.class_key
ORDER BY o.upid, o.graph_sample_ts, c.class_key;
