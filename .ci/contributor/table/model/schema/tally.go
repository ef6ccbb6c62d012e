package schema

import "github.com/tpconvert/tpconvert/model/table"

// Tally holds pieces of work.
type Tally struct {
	table.Table `tp:"tally,bounds=ts" doc:"A piece of work in a tally."`
	TS          table.Time   `tp:"2,ts,asc" doc:"When it began, ns of the trace clock."`
	Dur         table.Dur    `tp:"3,dur" doc:"How long it took, in ns."`
	Name        table.String `tp:"4,name" doc:"What was done."`
}
