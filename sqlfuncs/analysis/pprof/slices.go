package pprof

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/model/profile"
)

// readSlices adds the stacks of slices, with their self time. Slices that did not end are left out, as their time is not
// known: theirs belongs to the slice around them, if that one ended. It returns a note that says how many there are.
func (r *reader) readSlices(ctx context.Context, b *builder) (note string, err error) {
	all, err := r.sliceStacks(ctx)
	if err != nil {
		return "", err
	}
	joins := `
		LEFT JOIN thread_track AS tt ON tt.id = s.track_id AND ` + r.sameTrace("tt", "s") + `
		LEFT JOIN process_track AS pt ON pt.id = s.track_id AND ` + r.sameTrace("pt", "s") + `
		LEFT JOIN thread AS t ON t.id = tt.utid AND ` + r.sameTrace("t", "s") + `
		LEFT JOIN process_title AS p ON p.id = coalesce(pt.upid, t.upid) AND ` + r.sameTrace("p", "s")
	var o owner
	var id, ns int64
	var open string
	err = r.each(ctx, `
		WITH RECURSIVE
		unended AS (SELECT * FROM slice AS s WHERE dur < 0 AND `+r.inTrace("s")+`),
		outer_of AS ( -- the slices around those that did not end, up to the first that did
		    SELECT id, parent_id AS around, `+r.traceOf("u")+` AS trace FROM unended AS u
		    UNION ALL
		    SELECT o.id, u.parent_id, o.trace FROM outer_of AS o JOIN unended AS u ON u.id = o.around AND `+r.traceOf("u")+` = o.trace),
		bound AS (
		    SELECT o.id, o.trace, s.ts + s.dur AS ended FROM outer_of AS o JOIN slice AS s ON s.id = o.around AND `+r.traceOf("s")+` = o.trace
		    WHERE s.dur >= 0),
		inside AS ( -- each slice that did not end, and those in it
		    SELECT id, depth AS open, `+r.traceOf("u")+` AS trace FROM unended AS u
		    UNION ALL
		    SELECT s.id, i.open, i.trace FROM inside AS i JOIN slice AS s ON s.parent_id = i.id AND `+r.traceOf("s")+` = i.trace),
		open AS (SELECT id, trace, string_agg(open::VARCHAR, ',' ORDER BY open) AS depths FROM inside GROUP BY id, trace),
		piece AS (
		    SELECT f.*, greatest(f.ts, coalesce($1::BIGINT, f.ts)) AS begun,
		           least(f.ts + f.dur, coalesce($2::BIGINT, f.ts + f.dur), coalesce(d.ended, f.ts + f.dur)) AS ended, coalesce(open.depths, '') AS depths
		    FROM _slice_piece AS f
		    LEFT JOIN open ON open.id = f.slice_id AND open.trace = `+r.traceOf("f")+`
		    LEFT JOIN bound AS d ON d.id = f.slice_id AND d.trace = `+r.traceOf("f")+`
		    WHERE `+r.inTrace("f")+`)
		SELECT s.stack_id, f.depths, sum(f.ended - f.begun)::BIGINT, `+ownerColumns+`
		FROM piece AS f
		JOIN slice AS s ON s.id = f.slice_id AND `+r.sameTrace("s", "f")+joins+`
		WHERE f.begun < f.ended AND `+r.wanted()+`
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&id, &open, &ns}, o.targets()...), func() error {
			at, err := all.ended(b, id, open)
			if err == nil && at != profile.EmptyStack {
				b.add(at, b.ownerLabels(o), 0, ns)
			}
			return err
		})
	if err == nil {
		err = r.readSpans(ctx, b, joins)
	}
	if err != nil {
		return "", err
	}
	var unended int64
	err = r.each(ctx, `SELECT count(*) FROM slice AS s`+joins+`
		WHERE s.dur < 0 AND `+r.inTrace("s")+` AND `+r.wanted()+` AND ($1::BIGINT IS NULL OR s.ts < $1)`,
		r.bounds[1:], []any{&unended}, func() error { return nil })
	if unended > 0 {
		note = fmt.Sprintf(", without %d that did not end", unended)
	}
	return note, err
}

// sliceStacks are the stacks of slices by stack_id.
type sliceStacks map[int64]*sliceStack

type sliceStack struct {
	parent int64
	name   string
}

func (r *reader) sliceStacks(ctx context.Context) (sliceStacks, error) {
	all := sliceStacks{}
	var id, parent int64
	var name string
	err := r.each(ctx, `
		SELECT stack_id, any_value(parent_stack_id), coalesce(any_value(name), '`+unknownFunction+`')
		FROM slice AS s WHERE `+r.inTrace("s")+` GROUP BY stack_id`,
		nil, []any{&id, &parent, &name}, func() error {
			all[id] = &sliceStack{parent, name}
			return nil
		})
	return all, err
}

// ended returns the stack without the slices that did not end, whose depths are listed.
func (all sliceStacks) ended(b *builder, id int64, depths string) (profile.StackNumber, error) {
	var path []*sliceStack
	for s := all[id]; s != nil; s = all[s.parent] {
		if path = append(path, s); len(path) > len(all) {
			return 0, errCycle
		}
	}
	slices.Reverse(path)
	for text := range strings.SplitSeq(depths, ",") {
		if depth, err := strconv.Atoi(text); err == nil && depth < len(path) {
			path[depth] = nil
		}
	}
	at := profile.EmptyStack
	for _, s := range path {
		if s != nil {
			at = b.push(at, b.function(s.name))
		}
	}
	return at, nil
}

// spanKey names a span of a trace.
type spanKey struct {
	trace string
	id    int64
}

// spanNode is a span of a distributed trace.
type spanNode struct {
	parent spanKey
	name   string
	at     profile.StackNumber
	placed bool
}

// readSpans adds the stacks of the spans of distributed traces, with their self time. What a span calls may be in another service.
func (r *reader) readSpans(ctx context.Context, b *builder, joins string) error {
	all := map[spanKey]*spanNode{}
	var key spanKey
	var parent int64
	var name string
	err := r.each(ctx, `SELECT id, `+r.traceOf("s")+`, coalesce(parent_id, -1), coalesce(name, '`+unknownFunction+`') FROM _span AS s WHERE `+r.inTrace("s"),
		nil, []any{&key.id, &key.trace, &parent, &name}, func() error {
			all[key] = &spanNode{parent: spanKey{key.trace, parent}, name: name, at: profile.EmptyStack}
			return nil
		})
	if err != nil || len(all) == 0 {
		return err
	}
	var o owner
	var ns int64
	return r.each(ctx, `
		WITH piece AS (
		    SELECT f.*, greatest(f.ts, coalesce($1::BIGINT, f.ts)) AS begun, least(f.ts + f.dur, coalesce($2::BIGINT, f.ts + f.dur)) AS ended
		    FROM _span_piece AS f WHERE `+r.inTrace("f")+`)
		SELECT s.id, `+r.traceOf("s")+`, sum(f.ended - f.begun)::BIGINT, `+ownerColumns+`
		FROM piece AS f
		JOIN slice AS s ON s.id = f.slice_id AND `+r.sameTrace("s", "f")+joins+`
		WHERE f.begun < f.ended AND s.dur >= 0 AND `+r.wanted()+`
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&key.id, &key.trace, &ns}, o.targets()...), func() error {
			b.add(placeSpan(b, all, key), b.ownerLabels(o), 0, ns)
			return nil
		})
}

// placeSpan returns the stack of a span. Where spans contain each other, one of them is the outermost.
func placeSpan(b *builder, all map[spanKey]*spanNode, key spanKey) profile.StackNumber {
	var path []*spanNode
	at := profile.EmptyStack
	for s := all[key]; s != nil; s = all[s.parent] {
		if s.placed {
			at = s.at
			break
		}
		s.placed = true
		path = append(path, s)
	}
	for _, s := range slices.Backward(path) {
		at = b.push(at, b.function(s.name))
		s.at = at
	}
	return at
}
