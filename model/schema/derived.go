package schema

import "github.com/tpconvert/tpconvert/model/table"

// DerivedFolder has the files of the rows that the command derive added to a trace, in the folder of its other files. Programs
// that look for tables in folders leave out names with an underscore.
const DerivedFolder = "_derived"

// Additions are the tables without rows of the conversion.
var Additions = []string{"annotation", "alert"}

// Annotation is filled by the command derive.
type Annotation struct {
	table.Table `tp:"annotation" doc:"A text about a slice, added by the command derive."`
	SliceID     table.Ref[Slice] `tp:"2,slice_id" doc:"Slice that the text is about."`
	Name        table.String     `tp:"3,name" doc:"Name of the definition."`
	Text        table.String     `tp:"4,text" doc:"What the slice is."`
	Link        table.String     `tp:"5,link" doc:"URL of a page about it."`
}

// Alert is filled by the command derive.
type Alert struct {
	table.Table `tp:"alert" doc:"Something that deserves attention, added by the command derive."`
	TS          table.Int64        `tp:"2,ts,null" doc:"Start, ns of the trace clock; NULL if the alert is about the whole trace."`
	Dur         table.Int64        `tp:"3,dur,null" doc:"Duration in ns, -1 if it did not end in the trace; NULL for a moment."`
	Level       table.String       `tp:"4,level" doc:"warning or error."`
	Name        table.String       `tp:"5,name" doc:"Name of the definition."`
	Text        table.String       `tp:"6,text" doc:"What happened."`
	SliceID     table.Ref[Slice]   `tp:"7,slice_id,null" doc:"Slice in which it happened."`
	UTID        table.Ref[Thread]  `tp:"8,utid,null" doc:"Thread that it happened to."`
	UPID        table.Ref[Process] `tp:"9,upid,null" doc:"Process that it happened to."`
}
