package httpserver

// PassNone lets all connections have their requests answered here, as long as they are small.
func PassNone() (undo func()) {
	before := few
	few = 1 << 30
	return func() { few = before }
}
