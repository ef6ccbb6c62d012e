package task

import (
	"fmt"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Ledger is the name of the table with a row for each trace. Commits write it, not tasks.
const Ledger = "trace"

// Packed returns the schemas of all tables that tasks write.
func Packed() []*table.Schema {
	var all []*table.Schema
	for _, s := range schema.All() {
		if !s.Abstract && s.Name != Ledger {
			all = append(all, export.PackedSchema(s))
		}
	}
	return all
}

// Schemas returns the schemas of all tables that tasks write, with the field ids of the layout.
func (l Layout) Schemas() ([]*table.Schema, error) {
	all := Packed()
	for i, s := range all {
		t, there := l.Tables[s.Name]
		if t.Fields[export.TraceAttemptColumn] != 0 {
			s = export.WithAttempt(s)
			all[i] = s
		}
		for i, c := range s.Columns {
			id := t.Fields[c.Name]
			if !there || id == 0 {
				return nil, fmt.Errorf("the column %s of the table %s is missing: run \"tpfleet init\" of this version", c.Name, s.Name)
			}
			s.Columns[i].Field = id
		}
	}
	return all, nil
}
