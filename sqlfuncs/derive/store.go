package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Apply replaces the additions to a trace by the rows of the definitions.
func (e *Evaluator) Apply(ctx context.Context, to *export.Extension, definitions []Definition) error {
	var rows Rows
	var all []export.Derivation
	for _, d := range definitions {
		if err := e.Evaluate(ctx, &d, &rows); err != nil {
			return err
		}
		all = append(all, d.Derivation)
	}
	if err := e.store(ctx, to, &rows); err != nil {
		return err
	}
	return to.Commit(all)
}

// store adds rows to the tables. Their ids follow those of the trace.
func (e *Evaluator) store(ctx context.Context, to *export.Extension, rows *Rows) error {
	w := &writer{strings: table.NewStringPool()}
	set := table.NewSet(&w.tables, w.strings, 0, to, table.Parking{})
	defer set.Close()
	if len(rows.Events) > 0 {
		if to.Rows("track") == 0 && to.Rows("slice")+to.Rows("counter") > 0 {
			return errors.New("the dataset has no table track: convert the trace without --tables, or with it")
		}
		if err := e.begin(ctx, w); err != nil {
			return err
		}
	}
	for i := range rows.Events {
		w.events(&rows.Events[i])
	}
	for _, a := range rows.Annotations {
		w.annotation(a)
	}
	for _, a := range rows.Alerts {
		w.alert(a)
	}
	set.Finish()
	return set.Err()
}

// begin finds the first free ids and the machines. In a part of a trace, ids are no numbers of rows.
func (e *Evaluator) begin(ctx context.Context, w *writer) error {
	s, err := e.session(ctx, perfetto)
	if err != nil {
		return err
	}
	ids, err := integers(ctx, s, `SELECT (SELECT max(id) FROM (
			SELECT max(arg_set_id) AS id FROM args UNION ALL SELECT max(arg_set_id) FROM slice UNION ALL
			SELECT max(source_arg_set_id) FROM track UNION ALL SELECT max(dimension_arg_set_id) FROM track)) AS args,
		(SELECT max(track_group_id) FROM track) AS "groups", (SELECT max(id) FROM track) AS track, (SELECT max(id) FROM slice) AS slice,
		(SELECT max(id) FROM counter) AS counter, (SELECT max(id) FROM args) AS arg`)
	if err != nil {
		return err
	}
	w.tables.Track.Continue(ids["track"] + 1)
	w.tables.Slice.Continue(ids["slice"] + 1)
	w.tables.Counter.Continue(ids["counter"] + 1)
	w.tables.Args.Continue(ids["arg"] + 1)
	w.argSet, w.group = model.ArgSetID(ids["args"]+1), ids["groups"]+1
	for name, to := range map[string]*map[int64]model.MachineID{"thread": &w.threads, "process": &w.processes} {
		var r result
		err := s.Each(ctx, fmt.Sprintf("SELECT id, machine_id FROM %s WHERE machine_id <> 0", name), func(q *session.Query) error { return r.read(ctx, q) })
		if err != nil {
			return err
		}
		*to = map[int64]model.MachineID{}
		for _, row := range r.values {
			(*to)[row[0].(int64)] = model.MachineID(row[1].(int64))
		}
	}
	return nil
}

// writer fills tables.
type writer struct {
	strings            *table.StringPool
	tables             tables
	argSet             model.ArgSetID            // first free
	group              int64                     // first free
	threads, processes map[int64]model.MachineID // machines other than 0, by utid and upid
}

// tables are the tables with derived rows, parents before their children.
type tables struct {
	Slice               schema.Slice
	Track               schema.Track
	CPUTrack            schema.CPUTrack
	ProcessTrack        schema.ProcessTrack
	ThreadTrack         schema.ThreadTrack
	CounterTrack        schema.CounterTrack
	CPUCounterTrack     schema.CPUCounterTrack
	ProcessCounterTrack schema.ProcessCounterTrack
	ThreadCounterTrack  schema.ThreadCounterTrack
	Counter             schema.Counter
	Args                schema.Args
	Annotation          schema.Annotation
	Alert               schema.Alert
}

func (w *writer) text(to *table.String, row int64, text string) {
	if text != "" {
		to.Set(row, w.strings.Intern(text))
	}
}

func optional[T ~int64](to interface{ Set(row int64, value T) }, row int64, value *int64) {
	if value != nil {
		to.Set(row, T(*value))
	}
}

func (w *writer) events(events *eventRows) {
	first := model.TrackID(w.tables.Track.Rows())
	shared := map[int]int64{} // numbers of groups of several tracks
	for i, t := range events.tracks {
		if t.group != i && shared[t.group] == 0 {
			shared[t.group] = w.group + 1
			w.group++
		}
	}
	source := w.args([]argument{{"description", "Derived by tpconvert: " + events.name}, {"derivation", events.name}})
	for _, t := range events.tracks {
		row := w.track(events, t, source)
		if group := shared[t.group]; group != 0 {
			w.tables.Track.TrackGroupID.Set(row, group-1)
		}
	}
	for _, c := range events.counters {
		to := &w.tables.Counter
		row := to.Append()
		to.TS.Set(row, c.ts)
		to.TrackID.Set(row, first+model.TrackID(c.track))
		to.Value.Set(row, c.value)
	}
	before := model.SliceID(w.tables.Slice.Rows())
	stacks := make([]uint64, len(events.slices))
	for i, s := range events.slices {
		to := &w.tables.Slice
		row := to.Append()
		category, name := w.strings.Intern(s.category), w.strings.Intern(s.name)
		if s.category == "" {
			category = 0
		}
		var parent uint64
		if s.parent >= 0 {
			parent = stacks[s.parent]
			to.ParentID.Set(row, before+model.SliceID(s.parent))
		}
		stacks[i] = model.StackID(w.strings, parent, category, name)
		to.TS.Set(row, s.ts)
		to.Dur.Set(row, s.dur)
		to.TrackID.Set(row, first+model.TrackID(s.track))
		to.Category.Set(row, category)
		to.Name.Set(row, name)
		to.Depth.Set(row, s.depth)
		to.StackID.Set(row, int64(stacks[i]))
		to.ParentStackID.Set(row, int64(parent))
		w.text(&to.Type, row, "slice")
		if len(s.args) > 0 {
			to.ArgSetID.Set(row, w.args(s.args))
		}
	}
}

// track adds a track, and returns its row.
func (w *writer) track(events *eventRows, t *track, source model.ArgSetID) int64 {
	to := &w.tables.Track
	row := to.Append()
	scope, machine := "global", model.MachineID(0)
	switch {
	case t.utid >= 0:
		scope, machine = "thread", w.threads[t.utid]
		to.UTID.Set(row, model.UTID(t.utid))
		to.DimensionArgSetID.Set(row, w.args([]argument{{"utid", t.utid}}))
	case t.upid >= 0:
		scope, machine = "process", w.processes[t.upid]
		to.UPID.Set(row, model.UPID(t.upid))
		to.DimensionArgSetID.Set(row, w.args([]argument{{"upid", t.upid}}))
	case t.cpu >= 0:
		to.CPU.Set(row, int32(t.cpu))
		to.DimensionArgSetID.Set(row, w.args([]argument{{"cpu", t.cpu}}))
	}
	// Perfetto's UI shows tracks of these classifications.
	kind, classification := "slice", scope+"_track_event"
	if events.isCounter {
		kind, classification = "counter", scope+"_counter_track_event"
		w.text(&to.CounterUnit, row, events.unit)
	}
	w.text(&to.Name, row, t.name)
	w.text(&to.Classification, row, classification)
	w.text(&to.EventType, row, kind)
	to.SourceArgSetID.Set(row, source)
	to.MachineID.Set(row, machine)
	return row
}

// args adds a set of arguments and returns its id.
func (w *writer) args(all []argument) model.ArgSetID {
	to := &w.tables.Args
	id := w.argSet
	w.argSet++
	for _, a := range all {
		row := to.Append()
		to.ArgSetID.Set(row, id)
		w.text(&to.FlatKey, row, a.key)
		w.text(&to.Key, row, a.key)
		kind := "string"
		switch v := a.value.(type) {
		case int64:
			kind = "int"
			to.IntValue.Set(row, v)
		case float64:
			kind = "real"
			to.RealValue.Set(row, v)
		case bool:
			kind = "bool"
			to.IntValue.Set(row, int64(slices.Index([]bool{false, true}, v)))
		default:
			to.StringValue.Set(row, w.strings.Intern(fmt.Sprint(v)))
		}
		w.text(&to.ValueType, row, kind)
	}
	return id
}

func (w *writer) annotation(a Annotation) {
	to := &w.tables.Annotation
	row := to.Append()
	to.SliceID.Set(row, model.SliceID(a.SliceID))
	w.text(&to.Name, row, a.Name)
	w.text(&to.Text, row, a.Text)
	w.text(&to.Link, row, a.Link)
}

func (w *writer) alert(a Alert) {
	to := &w.tables.Alert
	row := to.Append()
	optional(&to.TS, row, a.TS)
	optional(&to.Dur, row, a.Dur)
	w.text(&to.Level, row, a.Level)
	w.text(&to.Name, row, a.Name)
	w.text(&to.Text, row, a.Text)
	optional(&to.SliceID, row, a.SliceID)
	optional(&to.UTID, row, a.UTID)
	optional(&to.UPID, row, a.UPID)
}
