package ingest

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// ownTables have rows whatever the input is, or rows that are about others.
var ownTables = []string{"trace_file", "machine", "metadata", "stats", "import_log", "args"}

// ownMetadata are the facts that the conversion states about every input.
var ownMetadata = []string{"trace_type", "trace_size_bytes", "trace_time_clock_id", "converter_version"}

// nothing returns the error for an input of which nothing was read, and nothing was counted, or nil. A fact
// that the input states about itself is something. named is whether it states its uuid.
func (rd *reading) nothing(named bool) error {
	if named || rd.overrides.Read || rd.options.Cut != nil || rd.anyRow() || rd.anyFact() || rd.anyCount() {
		return nil
	}
	var formats []string
	for _, f := range rd.formats {
		formats = append(formats, f.String())
	}
	looks := strings.Join(formats, "/")
	err := format.Errorf(format.ErrNoEvents, -1, "it looks like %s, but nothing in it can be read", looks)
	err.File = rd.name
	return err
}

// anyRow reports whether a table has a row that the input caused. Every machine has an idle thread and a process for it.
func (rd *reading) anyRow() bool {
	rows := rd.store.Rows()
	machines := rows["machine"]
	for table, n := range rows {
		switch table {
		case "thread", "process":
			n -= machines
		}
		if n > 0 && !slices.Contains(ownTables, table) {
			return true
		}
	}
	return false
}

func (rd *reading) anyFact() bool {
	m := &rd.store.Metadata
	if m.Rows() > int64((1+len(rd.files))*len(ownMetadata)) {
		return true
	}
	for row := range m.Rows() {
		name, _ := m.Name.Get(row)
		if !slices.Contains(ownMetadata, rd.store.Strings.Get(name)) {
			return true
		}
	}
	return false
}

// anyCount reports whether something is counted as lost or unread, or the recorder counted something.
func (rd *reading) anyCount() bool {
	return slices.ContainsFunc(rd.store.Stats(), func(c model.StatCount) bool {
		e := c.Stat.Effect()
		return c.Stat.Source() == model.FromTrace || e == model.Lost || e == model.Damaged || e == model.NotRead
	})
}
