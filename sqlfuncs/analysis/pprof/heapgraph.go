package pprof

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	stacks "github.com/tpconvert/tpconvert/model/profile"
)

// The metrics of a heap graph.
var (
	objectCount = profile.ValueType{Type: "inuse_objects", Unit: "count"}
	objectSpace = profile.ValueType{Type: "inuse_space", Unit: "bytes"}
)

// readHeapGraph adds the objects of managed heaps. An object's stack consists of the classes of its dominators, the
// objects that keep it alive. It only reads the last of several dumps of a process.
func (r *reader) readHeapGraph(ctx context.Context, b *builder, metrics []profile.ValueType) error {
	type object struct {
		trace  string
		id     int64
		class  int32 // index of the class's location
		size   int64
		labels sampleLabels
	}
	objects := []object{{}} // the first one stands for the parent of the roots
	var references []edge
	var trace, class string
	var holder owner
	var id, size int64
	var root bool
	err := r.each(ctx, `
		WITH dump AS (
		    SELECT `+r.traceOf("g")+` AS trace, upid, max(graph_sample_ts) AS ts FROM heap_graph_object AS g
		    WHERE `+r.inTrace("g")+` AND ($1::BIGINT IS NULL OR graph_sample_ts >= $1) AND ($2::BIGINT IS NULL OR graph_sample_ts < $2)
		    GROUP BY ALL)
		SELECT `+r.traceOf("o")+`, o.id, coalesce(c.deobfuscated_name, c.name, ''), o.self_size, o.root_type IS NOT NULL,
		       coalesce(p.title, ''), coalesce(CAST(p.pid AS VARCHAR), '')
		FROM heap_graph_object AS o
		JOIN dump ON dump.trace = `+r.traceOf("o")+` AND dump.upid = o.upid AND dump.ts = o.graph_sample_ts
		LEFT JOIN heap_graph_class AS c ON c.id = o.type_id AND `+r.sameTrace("c", "o")+`
		LEFT JOIN process_title AS p ON p.id = o.upid AND `+r.sameTrace("p", "o")+`
		WHERE o.reachable AND `+r.wanted()+` ORDER BY 1, o.id`,
		r.bounds, append([]any{&trace, &id, &class, &size, &root}, holder.targets()[:2]...), func() error {
			if root {
				references = append(references, edge{0, int32(len(objects))})
			}
			objects = append(objects, object{trace, id, b.function(class), size, b.ownerLabels(holder)})
			return nil
		})
	if err != nil {
		return err
	}
	find := func(trace string, id int64) (int32, bool) {
		at, ok := slices.BinarySearchFunc(objects[1:], 0, func(o object, _ int) int {
			return cmp.Or(strings.Compare(o.trace, trace), cmp.Compare(o.id, id))
		})
		return int32(at) + 1, ok
	}
	var owner, owned int64
	err = r.each(ctx, `
		SELECT `+r.traceOf("f")+`, f.owner_id, f.owned_id
		FROM heap_graph_reference AS f
		JOIN heap_graph_object AS o ON o.id = f.owner_id AND `+r.sameTrace("o", "f")+`
		LEFT JOIN heap_graph_class AS c ON c.id = o.type_id AND `+r.sameTrace("c", "o")+`
		WHERE f.owned_id IS NOT NULL AND o.reachable AND coalesce(f.field_type_name, '') <> 'weak' AND `+r.inTrace("f")+`
		      AND NOT (coalesce(f.field_name, '') = 'java.lang.ref.Reference.referent'
		               AND coalesce(c.kind, '') IN ('KIND_FINALIZER_REFERENCE', 'KIND_PHANTOM_REFERENCE', 'KIND_SOFT_REFERENCE',
		                                            'KIND_WEAK_REFERENCE'))`,
		nil, []any{&trace, &owner, &owned}, func() error {
			from, ok := find(trace, owner)
			to, known := find(trace, owned)
			if ok && known {
				references = append(references, edge{from, to})
			}
			return nil
		})
	if err != nil {
		return err
	}
	at := make([]stacks.StackNumber, len(objects))
	at[0] = stacks.EmptyStack
	for node, dominator := range dominators(len(objects), references) {
		o := &objects[node]
		at[node] = b.push(at[dominator], o.class)
		for i, metric := range metrics {
			if metric == objectCount {
				b.add(at[node], o.labels, i, 1)
			} else {
				b.add(at[node], o.labels, i, o.size)
			}
		}
	}
	return nil
}
