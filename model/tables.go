package model

// Tables are all tables of a dataset, parents before their children.
type Tables struct {
	Slice Slice
}

// Slice and its children.
type Slice struct {
	Table `tp:"slice" doc:"A span of time on a track, or an instant (dur 0)."`
	TS    Int64 `tp:"2,ts,asc" doc:"Start, in ns of the trace clock."`
}
