package pprof

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	tree "github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// readStacks adds the values of call stacks.
func (r *reader) readStacks(ctx context.Context, b *builder, from *source, scopes []string) error {
	sites := &traceStacks{builder: b, traces: map[string]*callsites{}}
	if err := r.readFrames(ctx, from.kind, sites); err != nil {
		return err
	}
	place := map[profile.ValueType]int{}
	for i, t := range from.metrics {
		place[t] = i
	}
	quoted := make([]string, len(scopes))
	for i, s := range scopes {
		quoted[i] = sqltext.QuoteText(s)
	}
	inScope := " IN (" + strings.Join(quoted, ", ") + ")"
	var trace string
	var o owner
	var metric profile.ValueType
	var callsite sql.NullInt64
	var value float64
	err := r.each(ctx, `
		SELECT `+r.traceOf("v")+`, v.callsite_id, v.metric, v.unit, sum(v.value)::DOUBLE, `+ownerColumns+`
		FROM _stack_value AS v
		LEFT JOIN thread AS t ON t.id = v.utid AND `+r.sameTrace("t", "v")+`
		LEFT JOIN process_title AS p ON p.id = v.upid AND `+r.sameTrace("p", "v")+`
		WHERE v.kind = `+sqltext.QuoteText(from.kind)+` AND v.scope`+inScope+` AND `+r.inTrace("v")+` AND `+r.wanted()+`
		      AND ($1::BIGINT IS NULL OR v.ts >= $1) AND ($2::BIGINT IS NULL OR v.ts < $2)
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&trace, &callsite, &metric.Type, &metric.Unit, &value}, o.targets()...), func() error {
			i, ok := place[metric]
			if !ok {
				return nil // not selected
			}
			at, err := sites.stack(trace, callsite)
			if err == nil {
				b.addReal(at, b.ownerLabels(o), i, value)
			}
			return err
		})
	if err != nil || from.kind != profiles.KindProfile || r.OneMetric {
		return err
	}
	return r.readLabels(ctx, b, sites, place, inScope)
}

// readFrames reads the frames and callsites of the traces.
func (r *reader) readFrames(ctx context.Context, kind string, sites *traceStacks) error {
	var at, next struct {
		trace string
		id    int64
		frame
	}
	at.id = -1
	var l frameLine
	store := func() {
		if len(at.lines) > 0 {
			sites.of(at.trace).frames.add(at.id, sites.builder.location(&at.frame))
		}
	}
	err := r.each(ctx, `
		SELECT `+r.traceOf("f")+`, f.id, f.rel_pc, coalesce(m.name, ''), coalesce(m.build_id, ''), coalesce(m.start, 0),
		       coalesce(m."end", 0), coalesce(m.exact_offset, 0), coalesce(m.load_bias, 0), n.name, coalesce(n.source_file, ''),
		       coalesce(n.line_number, 0), n.is_known
		FROM stack_profile_frame AS f
		LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping AND `+r.sameTrace("m", "f")+`
		JOIN _frame_function AS n ON n.frame_id = f.id AND `+r.sameTrace("n", "f")+`
		WHERE `+r.inTrace("f")+`
		ORDER BY 1, f.id, n.symbol_id`,
		nil, []any{&next.trace, &next.id, &next.relPC, &next.file, &next.buildID, &next.start, &next.end, &next.offset,
			&next.relOffset, &l.name, &l.file, &l.line, &l.known},
		func() error {
			if next.id != at.id || next.trace != at.trace {
				store()
				lines := at.lines[:0]
				at = next
				at.lines = lines
				if kind == profiles.KindProfile { // addresses are relative to the mapping, not to the file
					at.relOffset, at.buildID = 0, plainBuildID(at.buildID)
				} else {
					at.relOffset += at.offset
				}
			}
			at.lines = append(at.lines, l)
			return nil
		})
	if err != nil {
		return err
	}
	store()
	var trace string
	var id int64
	var c callsite
	return r.each(ctx, `SELECT `+r.traceOf("c")+`, c.id, c.parent_id, c.frame_id FROM stack_profile_callsite AS c
		WHERE `+r.inTrace("c")+` ORDER BY 1, c.id`,
		nil, []any{&trace, &id, &c.parent, &c.frame}, func() error {
			sites.of(trace).byID.add(id, c)
			return nil
		})
}

// readLabels adds labels to the samples that have some. The sums without labels, as in aggregate_sample,
// already contain their values, so readLabels moves these from there.
func (r *reader) readLabels(ctx context.Context, b *builder, sites *traceStacks, place map[profile.ValueType]int, inScope string) error {
	var at struct {
		trace    string
		sample   int64
		callsite sql.NullInt64
		values   []float64
		labels   sampleLabels
	}
	at.sample = -1
	move := func() error {
		if at.sample < 0 {
			return nil
		}
		stack, err := sites.stack(at.trace, at.callsite)
		if err != nil {
			return err
		}
		for i, v := range at.values {
			b.addReal(stack, sampleLabels{}, i, -v)
			b.addReal(stack, at.labels, i, v)
		}
		return nil
	}
	var trace, key, unit string
	var metric profile.ValueType
	var sample int64
	var callsite, number sql.NullInt64
	var text sql.NullString
	var value float64
	err := r.each(ctx, `
		SELECT `+r.traceOf("l")+`, l.sample_id, l.callsite_id, p.metric, p.unit, l.value * p.scale, coalesce(l.key, ''),
		       l.string_value, l.int_value, coalesce(l.unit, '')
		FROM aggregate_sample_label AS l
		JOIN _profile_measure AS p ON p.id = l.aggregate_profile_id AND `+r.sameTrace("p", "l")+`
		WHERE p.scope`+inScope+` AND `+r.inTrace("l")+`
		ORDER BY 1, l.sample_id, l.aggregate_profile_id, l.id`,
		nil, []any{&trace, &sample, &callsite, &metric.Type, &metric.Unit, &value, &key, &text, &number, &unit}, func() error {
			if sample != at.sample || trace != at.trace {
				if err := move(); err != nil {
					return err
				}
				at.trace, at.sample, at.callsite, at.labels = trace, sample, callsite, sampleLabels{}
				at.values = make([]float64, len(place))
			}
			i := place[metric]
			at.values[i] = value
			if i == 0 { // every metric repeats the labels
				if text.Valid {
					at.labels.addText(key, text.String)
				} else {
					at.labels.addNumber(key, number.Int64, unit)
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return move()
}

// frame is a frame of a dataset with its functions, innermost first.
type frame struct {
	relPC              int64
	file, buildID      string // of the mapping, like the next three fields
	start, end, offset int64
	relOffset          int64 // relPC at the start of the mapping
	lines              []frameLine
}

type frameLine struct {
	name, file string
	line       int64
	known      bool // not only the name of the file
}

// plainBuildID returns a build id as in the pprof file. Trace Processor takes it for bytes and writes it in
// hexadecimal.
func plainBuildID(id string) string {
	if plain, err := hex.DecodeString(id); err == nil {
		return string(plain)
	}
	return id
}

// traceStacks returns the stacks of callsites in the traces of a dataset.
type traceStacks struct {
	builder *builder
	traces  map[string]*callsites
}

// callsites are the call stacks of a trace.
type callsites struct {
	frames byID[int32] // locations
	byID   byID[callsite]
}

// byID has values by ids, which are added in order.
type byID[T any] struct {
	ids    []int64
	values []T
}

func (b *byID[T]) add(id int64, value T) {
	b.ids, b.values = append(b.ids, id), append(b.values, value)
}

// get returns the value of an id, or nil.
func (b *byID[T]) get(id int64) *T {
	if id >= 0 && id < int64(len(b.ids)) && b.ids[id] == id {
		return &b.values[id]
	}
	at, ok := slices.BinarySearch(b.ids, id)
	if !ok {
		return nil
	}
	return &b.values[at]
}

type callsite struct {
	parent sql.NullInt64
	frame  int64
	stack  tree.StackNumber
	known  bool // stack is set
}

func (s *traceStacks) of(trace string) *callsites {
	c := s.traces[trace]
	if c == nil {
		c = &callsites{}
		s.traces[trace] = c
	}
	return c
}

// stack returns the stack of a callsite, or the empty one for NULL.
func (s *traceStacks) stack(trace string, id sql.NullInt64) (tree.StackNumber, error) {
	all := s.of(trace)
	var above []*callsite
	stack := tree.EmptyStack
	for id.Valid {
		c := all.byID.get(id.Int64)
		if c == nil {
			return 0, fmt.Errorf("there is no callsite %d", id.Int64)
		}
		if c.known {
			stack = c.stack
			break
		}
		if above = append(above, c); len(above) > len(all.byID.ids) {
			return 0, errCycle
		}
		id = c.parent
	}
	for _, c := range slices.Backward(above) {
		location := all.frames.get(c.frame)
		if location == nil {
			return 0, fmt.Errorf("there is no frame %d", c.frame)
		}
		stack = s.builder.push(stack, *location)
		c.stack, c.known = stack, true
	}
	return stack, nil
}
