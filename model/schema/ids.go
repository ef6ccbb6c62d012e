package schema

import "github.com/tpconvert/tpconvert/model/table"

// The ids of rows. A row's id is its number, but in child and sparse tables.
type (
	TrackID       = table.ID[Track]
	SliceID       = table.ID[Slice]
	UTID          = table.ID[Thread]
	UPID          = table.ID[Process]
	UCPU          = table.ID[CPU]
	UGPU          = table.ID[GPU]
	MachineID     = table.ID[Machine]
	FileID        = table.ID[TraceFile]
	ThreadStateID = table.ID[ThreadState]
	CounterID     = table.ID[Counter]
)
