package ingest

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/bugreport"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// member is a file in an archive.
type member struct {
	format.Member
	file   *model.File
	format *format.Format // nil to detect it from the first bytes
	turn   format.Turn
	parts  []format.Part // of a trace in several files, not nil
	err    error         // why it cannot be read
}

// members reads the files of an archive: a bug report's in its own order, others by turn and name.
func (rd *reading) members(archive origin, found []format.Member) error {
	if o := rd.override(archive); o.OfTrace() {
		return noOverride(archive)
	}
	all := rd.inOrder(archive.parent, found)
	if len(all) == 0 {
		return format.Errorf(format.ErrEmpty, -1, "no files in the archive")
	}
	rd.several = rd.several || len(all) > 1
	var first error
	read := 0
	for _, m := range all {
		at := archive.member(m.Name)
		at.file, at.format, at.parts = m.file, m.format, m.parts
		if m.err == nil {
			m.err = rd.member(at, m)
		}
		if m.err == nil {
			read++
			continue
		}
		m.err = place(m.err, at.shown, "")
		if !format.BadInput(m.err) || m.turn == format.TurnManifest || errors.Is(m.err, format.ErrManifest) {
			return m.err
		}
		first = cmp.Or(first, m.err)
		if errors.Is(m.err, format.ErrNoEvents) { // a recorder of several traces, such as LTTng, may have had nothing to record in one of them
			archive.parent.Unread(model.StatUnreadFact, model.None, "archive member without events ("+m.Name+")").Add(model.LogEntry{})
			continue
		}
		archive.parent.ExplainUnread(model.StatUnreadArchiveMember, int64(m.file.ID), "archive member is not read, or only in part: "+m.err.Error())
	}
	if read == 0 {
		return first
	}
	return nil
}

// inOrder adds the files of an archive to the store and returns the ones to read, in order.
func (rd *reading) inOrder(archive *model.File, found []format.Member) []*member {
	if report := bugreport.Arrange(found); report != nil {
		return rd.ofReport(archive, report)
	}
	var all []*member
	for _, m := range found {
		if hidden(m.Name) {
			archive.Unread(model.StatUnreadFact, model.None, "hidden file").Add(model.LogEntry{})
			continue
		}
		all = append(all, rd.newMember(archive, m))
	}
	rd.sortByTurn(all)
	return rd.inFolders(all)
}

// inFolders gives the files of a folder to the one whose format has traces in several files, and returns the others.
func (rd *reading) inFolders(all []*member) []*member {
	traces := map[string]*member{}
	for _, m := range all {
		if m.format != nil && m.format.Folder == path.Base(m.Name) {
			m.parts = []format.Part{}
			traces[path.Dir(m.Name)] = m
		}
	}
	return slices.DeleteFunc(all, func(m *member) bool {
		folder := path.Dir(m.Name)
		trace := traces[folder]
		if path.Base(folder) == format.IndexFolder && trace == nil && traces[path.Dir(folder)] != nil {
			return true // what it says is in the packets, too
		}
		if trace == nil || trace == m {
			return false
		}
		trace.parts = append(trace.parts, format.Part{Member: m.Member, File: m.file})
		m.file.SetPartOf(trace.format.Name)
		rd.files = append(rd.files, m.file)
		return true
	})
}

func (rd *reading) ofReport(archive *model.File, report *bugreport.Report) []*member {
	rd.store.NewFile("", archive) // Trace Processor gives the report itself a row
	var all, read, traces []*member
	for _, m := range report.Members {
		all = append(all, rd.newMember(archive, m))
	}
	for _, part := range report.Parts {
		all[part.Index].format = part.Format
		read = append(read, all[part.Index])
	}
	for _, i := range report.Traces {
		traces = append(traces, all[i])
	}
	rd.sortByTurn(traces)
	read = append(read, traces...)
	for range len(all) - len(read) {
		archive.Unread(model.StatUnreadFact, model.None, "bug report file").Add(model.LogEntry{})
	}
	return read
}

// sortByTurn sorts members by their turns and names.
func (rd *reading) sortByTurn(members []*member) {
	for _, m := range members {
		m.turn, m.err = rd.turn(m)
	}
	slices.SortStableFunc(members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), strings.Compare(a.Name, b.Name))
	})
}

func (rd *reading) newMember(archive *model.File, m format.Member) *member {
	rd.beside = append(rd.beside, m.Name)
	file := rd.store.NewFile(m.Name, archive)
	file.SetSize(m.Size)
	return &member{Member: m, file: file}
}

// override returns what a manifest says about a file of an archive.
func (rd *reading) override(source origin) format.Override {
	if o := rd.overrides.Files[source.name]; o != nil && source.inner {
		return *o
	}
	return format.Override{}
}

// mayConfigure returns an error if a manifest is not allowed in this place.
func (rd *reading) mayConfigure(o format.Override, at origin) error {
	switch {
	case o.OfTrace():
		return noOverride(at)
	case rd.traces > 0:
		return format.Errorf(format.ErrManifest, -1, "perfetto_manifest file must be the first trace file in the input")
	}
	return nil
}

// noOverride is the error for a manifest entry that overrides something other than a trace.
func noOverride(source origin) error {
	return format.Errorf(format.ErrManifest, -1, "perfetto_manifest: overrides are not supported for trace files which are themselves archives or perfetto_manifest files: %s", source.name)
}

func (rd *reading) member(at origin, m *member) error {
	r, err := m.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return rd.file(at, r)
}

// turn tells from the first bytes of a member when to read it, and whether its format needs its folder. An error in reading them
// is ignored here, because it shows again when the member is read.
func (rd *reading) turn(m *member) (format.Turn, error) {
	r, err := m.Open()
	if err != nil {
		return format.TurnTrace, err
	}
	defer r.Close()
	head, err := rd.begin(r)
	if f := detect(rd.options.Formats, decodeHead(head)); f != nil && err == nil {
		if f.Folder != "" {
			m.format = f
		}
		return f.Turn, nil
	}
	return format.TurnTrace, nil
}

// hidden reports whether any name in a path starts with a dot. Operating systems add such files to
// archives; they are not traces.
func hidden(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}
