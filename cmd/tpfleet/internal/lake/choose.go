package lake

import (
	"fmt"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
)

// choice is what a transaction adds and removes.
type choice struct {
	entries []entry
	files   map[string][]resultFile // by table
	objects map[task.Trace]bool     // whose entries are removed from the ledger
	gone    work.Gone               // traces whose rows are removed, by id
	moved   map[string]task.Trace   // objects that traces have now, by id
	account Account
	removed removed // by changes
}

// resultFile is a file of a result.
type resultFile struct {
	task.File
	result string // name
}

// choose selects what is not in the ledger, and updates it. The files of the results whose names are in lost are gone.
func choose(ledger *Ledger, results []task.Result, lost map[string]bool) choice {
	c := choice{files: map[string][]resultFile{}, objects: map[task.Trace]bool{}, gone: work.Gone{}, moved: map[string]task.Trace{}, account: Account{Tasks: len(results)}}
	for _, r := range results {
		c.add(ledger, &r, lost[r.Name()] || ledger.abandoned[r.Name()])
	}
	return c
}

func (c *choice) add(ledger *Ledger, r *task.Result, lost bool) {
	isNew := func(o *task.Outcome) bool { return o.Status == task.OK && ledger.takes(r, o) }
	now := time.Now().UnixNano()
	fresh, whole := false, !lost
	for _, o := range r.Traces {
		fresh = fresh || isNew(&o)
		whole = whole && (o.Status != task.OK || isNew(&o))
	}
	if fresh && whole {
		for _, f := range r.Files {
			c.files[f.Table] = append(c.files[f.Table], resultFile{f, r.Name()})
		}
		c.account.Files += len(r.Files)
	}
	for _, o := range knownFirst(ledger, r.Traces) {
		known, e := ledger.Object(o.Trace), entry{task: r.Task, added: &now}
		switch {
		case o.Status == task.Failed:
			c.account.Failed++
			continue
		case (o.Status == task.Bad || o.Status == task.Large) && r.Replaces[export.TraceID(o.SHA256)] != "":
			c.account.Kept++
			continue
		case known.Done && !isNew(&o), o.Status == task.Bad && known.Bad == o.Version, o.Status == task.Large && known.Large, ledger.isOld(r, &o):
			c.account.Known++
			continue
		case o.Status == task.Bad:
			c.account.Bad++
		case o.Status == task.Large:
			c.account.Large++
		case isNew(&o) && !whole:
			c.account.Again++
			continue
		case isNew(&o):
			c.takeIn(ledger, &o, &e)
			e.attempt = r.Name()
		case !c.takeCopy(ledger, &o):
			continue
		}
		if o.Status != task.Bad && o.Status != task.Large && r.Supersedes() {
			c.supersede(ledger, o.Trace, now)
		}
		if known.Bad != "" || known.Large || known.Superseded {
			c.objects[o.Trace] = true // one entry is enough
		}
		e.Outcome = o
		ledger.add(&e)
		c.entries = append(c.entries, e)
	}
}

// knownFirst puts the copies of known traces first, while these are there: a newer version of their object may be among the others.
func knownFirst(ledger *Ledger, traces []task.Outcome) []task.Outcome {
	var known, others []task.Outcome
	for _, o := range traces {
		if o.Status == task.Copy {
			if _, there := ledger.content[export.TraceID(o.SHA256)]; there {
				known = append(known, o)
				continue
			}
		}
		others = append(others, o)
	}
	return append(known, others...)
}

// takeIn takes the rows of a trace.
func (c *choice) takeIn(ledger *Ledger, o *task.Outcome, e *entry) {
	if old, there := ledger.content[o.TraceID]; there {
		c.objects[old.object], c.gone[o.TraceID] = true, ""
		e.added, e.changed = old.added, e.added
		c.account.Replaced++
	} else {
		c.account.OK++
		if ledger.gone[o.TraceID] {
			e.changed = e.added
		}
	}
	if o.Lacks() {
		c.account.Lossy++
	}
	if failedSpec(o.Metrics) {
		c.account.Unmeasured++
	}
	if o.Truncated != nil {
		c.account.Truncated += int(*o.Truncated)
	}
}

// takeCopy takes a trace whose content should be known, and reports whether it needs an entry.
func (c *choice) takeCopy(ledger *Ledger, o *task.Outcome) bool {
	id := export.TraceID(o.SHA256)
	original, there := ledger.content[id]
	switch {
	case !there:
		c.account.Again++
		return false
	case !original.is(o.SHA256):
		o.Status, o.TraceID, o.ExitCode, o.Error = task.Bad, "", exitBadInput, fmt.Sprintf("another trace, with the SHA-256 %s, has the same trace_id", original.sha256)
		c.account.Bad++
	case original.forgotten:
		*o = forgotten(*o, "its content was forgotten before")
		c.account.Forgotten++
	case original.object.URL == o.URL && original.object != o.Trace:
		// It was written again as it was.
		c.move(ledger, id, o.Trace)
		c.account.Known++
		return false
	default:
		o.Status, o.TraceID = task.Copy, ""
		c.account.Copies++
		ledger.copies[id] = append(ledger.copies[id], o.Trace)
	}
	return true
}

// exitBadInput is the exit code of tpconvert for what it cannot read.
const exitBadInput = 4

// forgotten returns what the ledger keeps of a trace that is forgotten.
func forgotten(o task.Outcome, why string) task.Outcome {
	id := o.TraceID
	if id == "" && o.SHA256 != "" {
		id = export.TraceID(o.SHA256)
	}
	return task.Outcome{Trace: o.Trace, Status: task.Forgotten, TraceID: id, Error: why, Version: o.Version, Schema: o.Schema}
}
