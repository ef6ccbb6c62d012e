package flamegraph

import (
	"context"
	"slices"

	"github.com/tpconvert/tpconvert/model"
)

// readSlices adds the stacks of slices, with their self time.
func (r *reader) readSlices(ctx context.Context, b *builder) error {
	type stack struct {
		parent int64
		name   string
		number int32
		known  bool
	}
	stacks := map[int64]*stack{}
	var id, parent, ns int64
	var name string
	err := r.each(ctx, `
		SELECT stack_id, any_value(parent_stack_id), coalesce(any_value(name), '`+unknownFunction+`')
		FROM slice AS s WHERE `+r.inTrace("s")+` GROUP BY stack_id`,
		nil, []any{&id, &parent, &name}, func() error {
			stacks[id] = &stack{parent: parent, name: name}
			return nil
		})
	if err != nil {
		return err
	}
	numberOf := func(id int64) (int32, error) {
		var path []*stack
		at := model.EmptyStack
		for s := stacks[id]; s != nil; s = stacks[s.parent] {
			if s.known {
				at = s.number
				break
			}
			if path = append(path, s); len(path) > len(stacks) {
				return 0, errCycle
			}
		}
		for _, s := range slices.Backward(path) {
			at = b.push(at, b.function(s.name))
			s.number, s.known = at, true
		}
		return at, nil
	}
	var o owner
	return r.each(ctx, `
		WITH piece AS (
		    SELECT *, greatest(ts, coalesce($1::BIGINT, ts)) AS begun, least(ts + dur, coalesce($2::BIGINT, ts + dur)) AS ended
		    FROM flat_slice AS f WHERE `+r.inTrace("f")+`)
		SELECT s.stack_id, sum(f.ended - f.begun)::BIGINT, `+ownerColumns+`
		FROM piece AS f
		JOIN slice AS s ON s.id = f.slice_id AND `+r.sameTrace("s", "f")+`
		LEFT JOIN thread_track AS tt ON tt.id = s.track_id AND `+r.sameTrace("tt", "s")+`
		LEFT JOIN process_track AS pt ON pt.id = s.track_id AND `+r.sameTrace("pt", "s")+`
		LEFT JOIN thread AS t ON t.id = tt.utid AND `+r.sameTrace("t", "s")+`
		LEFT JOIN process AS p ON p.id = coalesce(pt.upid, t.upid) AND `+r.sameTrace("p", "s")+`
		WHERE f.begun < f.ended AND `+r.wanted()+`
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&id, &ns}, o.targets()...), func() error {
			at, err := numberOf(id)
			if err == nil {
				b.add(at, b.ownerLabels(o), 0, ns)
			}
			return err
		})
}
