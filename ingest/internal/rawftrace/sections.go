package rawftrace

// Magic begins the descriptions of tracepoints.
const Magic = "\x17\x08\x44tracing"

// PageHeaders reads how the kernel describes the heads of pages and of events, and returns the size of a page's commit field and
// where its events begin, in bytes. They are zero if the description lacks them.
func PageHeaders(c *Cursor) (commit, data int64) {
	c.Expect("header_page\x00")
	for f := range fields(c.Long(), 0) {
		switch f.name {
		case "commit":
			commit = int64(f.size)
		case "data":
			data = int64(f.offset)
		}
	}
	c.Expect("header_event\x00")
	c.Long()
	return commit, data
}

// Descriptions reads the descriptions of events, and the functions and texts that these point to, in the order of perf and of version 6
// of trace-cmd's files.
func (d *Decoder) Descriptions(c *Cursor) {
	d.FtraceEvents(c)
	d.EventFormats(c)
	d.Kallsyms(c)
	d.PrintkFormats(c)
}

// FtraceEvents reads the descriptions of ftrace's own events.
func (d *Decoder) FtraceEvents(c *Cursor) {
	for range c.Uint32() {
		if c.Err != nil {
			return
		}
		d.addFormat(c.Long())
	}
}

// EventFormats reads the descriptions of events, by system.
func (d *Decoder) EventFormats(c *Cursor) {
	for range c.Uint32() {
		c.Text() // system
		d.FtraceEvents(c)
		if c.Err != nil {
			return
		}
	}
}

// Kallsyms reads the kernel's functions.
func (d *Decoder) Kallsyms(c *Cursor) { d.symbols = parseKallsyms(c.Bytes(int64(c.Uint32()))) }

// PrintkFormats reads the constant texts that events point to.
func (d *Decoder) PrintkFormats(c *Cursor) { d.printks = parsePrintks(c.Bytes(int64(c.Uint32()))) }

// Cmdlines reads the names of threads.
func (d *Decoder) Cmdlines(c *Cursor) { d.setComms(c.Long()) }
