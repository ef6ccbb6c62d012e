package dataframe

// Source has the tables that functions read.
type Source interface {
	// Table returns a table of Trace Processor by its internal name without the prefix "__intrinsic_", such as "slice". A
	// table without rows in the trace is there too.
	Table(name string) (*Frame, error)
	Pool() *Pool
}
