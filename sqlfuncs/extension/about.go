//go:build cgo

package main

import (
	"strings"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// about are the tables that describe a trace.
type about struct {
	Tables  aboutTables
	Losses  aboutLosses
	Inspect aboutTrace
}

type aboutTables struct {
	table.Table `tp:"trace_tables" doc:"The tables of a trace."`
	Name        table.String `tp:"2,name" doc:"Name of the table."`
	Rows        table.Int64  `tp:"3,rows" doc:"Number of its rows."`
	Columns     table.String `tp:"4,columns" doc:"Names of its columns, separated by commas."`
	Doc         table.String `tp:"5,doc" doc:"What a row of it is."`
}

type aboutLosses struct {
	table.Table `tp:"trace_losses" doc:"What was lost, damaged or not read of a trace."`
	Name        table.String `tp:"2,name" doc:"Name of the statistic."`
	Effect      table.String `tp:"3,effect" doc:"What it means for the rows: lost, damaged or not read."`
	Value       table.Int64  `tp:"4,value" doc:"How many."`
	Text        table.String `tp:"5,text" doc:"Of what."`
}

type aboutTrace struct {
	table.Table `tp:"trace_inspect" doc:"A trace as a whole."`
	Format      table.String `tp:"2,format" doc:"Formats of the trace and of the files in it, outermost first, separated by slashes."`
	Bytes       table.Int64  `tp:"3,bytes" doc:"Size of the trace, bytes, before any decompression."`
	SHA256      table.String `tp:"4,sha256" doc:"SHA-256 of the trace, hexadecimal."`
	StartTS     table.Int64  `tp:"5,start_ts,null" doc:"Earliest timestamp of any event, ns of the trace clock."`
	EndTS       table.Int64  `tp:"6,end_ts,null" doc:"Latest timestamp of any event, ns of the trace clock."`
	StartUnixNS table.Int64  `tp:"7,start_unix_ns,null" doc:"Wall clock at start_ts, or when a profile without times began, ns since 1970-01-01 UTC, if the trace contains it."`
	Events      table.Int64  `tp:"8,events" doc:"Number of events."`
	Lost        table.Int64  `tp:"9,lost" doc:"Number of events that were lost, as far as they were counted."`
	Incomplete  table.Bool   `tp:"10,incomplete" doc:"Whether the trace ends too early."`
	Alarm       table.String `tp:"11,alarm" doc:"One line if much is lost, or NULL."`
}

// The order of the fields of about.
const (
	tablesOfTrace = iota
	lossesOfTrace
	wholeTrace
)

// describes makes a call return one of the tables of about, which fill appends to.
func (c *call) describes(which int, fill func(t *trace, a *about, text func(string) table.StringID)) {
	s := table.Schemas[about]()[which].Without("id")
	c.returns(s)
	c.rowsOf = func(t *trace) (*table.Kept, error) {
		var a about
		texts, made := table.NewStringPool(), table.Keep(defaultMemory)
		set := table.NewSet(&a, texts, 0, made, table.Parking{})
		fill(t, &a, texts.Intern)
		set.Finish()
		return made, set.Err()
	}
}

func bindTables(c *call) error {
	c.describes(tablesOfTrace, func(t *trace, a *about, text func(string) table.StringID) {
		for _, s := range schema.All() {
			if s.Abstract || c.attach != nil && t.Rows(s.Name) == 0 {
				continue
			}
			var columns []string
			for _, column := range s.Columns {
				columns = append(columns, column.Name)
			}
			row := a.Tables.Append()
			a.Tables.Name.Set(row, text(s.Name))
			a.Tables.Rows.Set(row, t.Rows(s.Name))
			a.Tables.Columns.Set(row, text(strings.Join(columns, ", ")))
			a.Tables.Doc.Set(row, text(s.Doc))
		}
	})
	return nil
}

func bindLosses(c *call) error {
	c.describes(lossesOfTrace, func(t *trace, a *about, text func(string) table.StringID) {
		for _, l := range t.facts.Losses().Counts {
			row := a.Losses.Append()
			a.Losses.Name.Set(row, text(l.Name))
			a.Losses.Effect.Set(row, text(l.Effect))
			a.Losses.Value.Set(row, l.Value)
			a.Losses.Text.Set(row, text(l.Text))
		}
	})
	return nil
}

func bindInspect(c *call) error {
	c.describes(wholeTrace, func(t *trace, a *about, text func(string) table.StringID) {
		to, f, losses := &a.Inspect, t.facts, t.facts.Losses()
		row := to.Append()
		to.Format.Set(row, text(f.Input.Formats()))
		to.Bytes.Set(row, f.Input.Bytes)
		to.SHA256.Set(row, text(f.Input.SHA256))
		for column, v := range map[*table.Int64]*int64{&to.StartTS: f.Start, &to.EndTS: f.End, &to.StartUnixNS: f.StartUnix} {
			if v != nil {
				column.Set(row, *v)
			}
		}
		to.Events.Set(row, losses.Events)
		to.Lost.Set(row, losses.Lost)
		to.Incomplete.Set(row, losses.Incomplete)
		if alarm := losses.Alarm(); alarm != "" {
			to.Alarm.Set(row, text(alarm))
		}
	})
	return nil
}
