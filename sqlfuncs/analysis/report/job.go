package report

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

//go:embed job.yaml
var jobYAML string

// jobNote says what the SQL of a job's page runs on.
const jobNote = "On the tables that tpconvert summarize -o metrics/ gpu writes of this dataset."

// Rank is the trace of a rank.
type Rank struct {
	*export.Manifest
	Alarm string // what the reader should know before all else, or ""
}

// Job makes the report of a job with several ranks, each of which has a trace. open opens a trace for PerfettoSQL.
func Job(ctx context.Context, ranks []Rank, open func(context.Context, Rank) (*session.Session, error), o Options) (*Page, error) {
	s, err := session.New(ctx, session.Options{Perfetto: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.OpenEmpty(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(ranks, func(a, b Rank) int { return cmp.Compare(*a.Rank, *b.Rank) })
	j := &job{maker: maker{Options: o, s: s, page: &Page{Title: o.Printable(filepath.Base(o.Name)), SQLNote: jobNote}}, ranks: ranks, open: open}
	if err := j.read(ctx); err != nil {
		return nil, err
	}
	if err := j.sections(ctx); err != nil {
		return nil, err
	}
	if j.page.Sentences, err = j.glance(ctx, jobYAML); err != nil {
		return nil, fmt.Errorf("at a glance: %w", err)
	}
	j.page.link()
	j.page.Drawn, err = j.encode()
	return j.page, err
}

// job makes the report of a job. The session has the tables of summarize.
type job struct {
	maker
	ranks    []Rank
	open     func(context.Context, Rank) (*session.Session, error)
	gpu      metrics.Summarizer
	relation *metrics.Ranks
	lanes    []lane // of all ranks, in their order
}

// jobLanes are the lanes of each rank.
var jobLanes = []struct{ group, while string }{
	{"Computation", "computing > 0"},
	{"Communication that nothing hides", "communicating > 0 AND communicating = running"},
}

// read reads the traces, one after the other, and stores what they say in tables of the session.
func (j *job) read(ctx context.Context) error {
	spec, _ := metrics.Spec("gpu")
	if err := j.gpu.Add(spec); err != nil {
		return err
	}
	j.relation = j.gpu.Ranks(nil)
	longest := int64(0)
	for _, r := range j.ranks {
		longest = max(longest, duration(r.Manifest))
	}
	j.page.data.Width = longest/buckets + 1
	var all []metrics.Table
	for _, r := range j.ranks {
		tables, err := j.rank(ctx, r)
		if err != nil {
			return fmt.Errorf("rank %d: %w", *r.Rank, err)
		}
		if all == nil {
			all = tables
			continue
		}
		for i := range tables {
			all[i].Rows = append(all[i].Rows, tables[i].Rows...)
		}
	}
	j.align()
	for _, t := range append(all, j.relation.Tables()...) {
		if err := j.store(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
	}
	return nil
}

// rank reads the trace of a rank. It returns the tables of its kernels and GPUs.
func (j *job) rank(ctx context.Context, r Rank) (tables []metrics.Table, err error) {
	s, err := j.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := j.relation.Add(ctx, s); err != nil {
		return nil, err
	}
	rank := maker{Options: j.Options, s: s, page: &Page{data: data{Width: j.page.data.Width}}}
	for _, l := range jobLanes {
		if err := rank.lanes(ctx, l.group, j.busy(r, l.while), "ns"); err != nil {
			return nil, err
		}
	}
	for _, l := range rank.page.data.Lanes {
		l.rank = *r.Rank
		j.lanes = append(j.lanes, l)
	}
	wanted := slices.DeleteFunc(j.gpu.IDs(), func(id string) bool {
		return !strings.HasPrefix(id, "gpu_kernels_") && !strings.HasPrefix(id, "gpu_devices_")
	})
	summary, err := j.gpu.Summarize(ctx, s, wanted, "")
	if err != nil {
		return nil, err
	}
	tables = summary.Tables()
	for i := range tables {
		tables[i] = tables[i].OfRank(*r.Rank)
	}
	return tables, nil
}

// busy is the SQL for the lane of each GPU of a rank.
func (j *job) busy(r Rank, while string) string {
	bounds := fmt.Sprintf("bounds AS (SELECT start_ts AS first_ts, end_ts AS last_ts, %d AS width FROM trace_bounds)", j.page.data.Width)
	names := fmt.Sprintf("SELECT lane, 'rank %d' || iif((SELECT count(DISTINCT lane) FROM busy) > 1, ', GPU ' || lane, '') AS name, NULL AS process, bucket, busy, running FROM busy", *r.Rank)
	return "INCLUDE PERFETTO MODULE tpconvert.gpu;" + busyOf(bounds, "SELECT coalesce(device, 0) AS lane, ts, dur FROM _gpu_sweep WHERE "+while, names)
}

// align puts the lanes on one scale of time: the ranks end the first collective of all together.
func (j *job) align() {
	ends := j.relation.FirstEnds()
	latest := int64(0) // after the start of its trace
	for _, r := range j.ranks {
		if end, ok := ends[*r.Rank]; ok && r.Start != nil {
			ends[*r.Rank] = end - *r.Start
			latest = max(latest, end-*r.Start)
		}
	}
	shift := func(rank int64) int64 {
		if end, ok := ends[rank]; ok {
			return latest - end
		}
		return 0
	}
	d := &j.page.data
	for _, r := range j.ranks {
		d.Dur = max(d.Dur, shift(*r.Rank)+duration(r.Manifest))
	}
	d.Buckets = int(d.Dur/d.Width) + 2 // of which one is for what is rounded
	for _, kind := range jobLanes {
		for _, l := range j.lanes {
			if l.Group == kind.group {
				busy := make([]byte, d.Buckets)
				copy(busy[(shift(l.rank)+d.Width/2)/d.Width:], l.Busy)
				l.Busy = busy
				d.Lanes = append(d.Lanes, l)
			}
		}
	}
}

// store makes a table of the session.
func (j *job) store(ctx context.Context, t metrics.Table) error {
	var names []string
	for _, c := range t.Columns {
		names = append(names, sqltext.QuoteName(c.Name))
	}
	var rows []string
	for _, row := range t.Rows {
		var values []string
		for _, v := range row {
			values = append(values, literal(v))
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	sql := fmt.Sprintf("CREATE TABLE %s (%s)", t.ID, strings.Join(names, ", "))
	if rows != nil {
		sql += fmt.Sprintf("; INSERT INTO %s VALUES %s", t.ID, strings.Join(rows, ", "))
	}
	return j.each(ctx, sql, func([]any) {})
}

// literal returns a value of a metric in SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return sqltext.QuoteText(v)
	}
	return fmt.Sprint(v)
}

// sections makes the figures.
func (j *job) sections(ctx context.Context) error {
	if len(j.page.data.Lanes) > 0 {
		note := "Ranks end a collective together, so the one whose communication is short came late. Times are aligned by the end of the first collective of all."
		j.page.Sections = append(j.page.Sections, Section{"Overview", []Figure{{Timeline: true, Note: note}}})
	}
	busy, err := j.devices(ctx)
	if err != nil {
		return err
	}
	late, err := j.tables(ctx, stragglers, skews)
	if err != nil {
		return err
	}
	kernels, err := j.tables(ctx, rankKernels)
	if err != nil {
		return err
	}
	for _, s := range []Section{{"Late ranks", late}, {"Computation and communication", busy}, {"Kernels by rank", kernels}, {"Traces", []Figure{j.traces()}}} {
		s.Figures = slices.DeleteFunc(s.Figures, func(f Figure) bool { return len(f.Table.Rows) == 0 })
		for _, f := range s.Figures {
			f.Table.dropEmpty()
		}
		if len(s.Figures) > 0 {
			j.page.Sections = append(j.page.Sections, s)
		}
	}
	summary := []string{fmt.Sprintf("%d ranks", len(j.ranks)), human.Quantity(float64(j.page.data.Dur), "ns")}
	if world := j.ranks[0].WorldSize; world != nil && *world != int64(len(j.ranks)) {
		summary[0] = fmt.Sprintf("%d of %d ranks", len(j.ranks), *world)
	}
	j.page.Summary = strings.Join(summary, ", ")
	return nil
}

// devices shows what the GPUs of each rank did as a bar.
func (j *job) devices(ctx context.Context) ([]Figure, error) {
	f, err := j.table(ctx, rankDevices)
	if err != nil {
		return nil, err
	}
	f.Note = "Green computes, blue computes and communicates, red only communicates, violet copies, grey does nothing. A whole bar is the time from the first work to the last."
	at := func(name string) int {
		return slices.IndexFunc(f.Table.Columns, func(c Column) bool { return c.Name == name })
	}
	for i := range f.Table.Rows {
		row := &f.Table.Rows[i]
		value := func(name string) float64 {
			v, _ := strconv.ParseFloat(row.Cells[at(name)].Sort, 64) // a number
			return v
		}
		from, whole := 0.0, value("busy")+value("idle")
		var parts []Part
		for _, p := range []Part{
			{Name: "only computation", Class: "running", Share: value("computation") - value("overlap")}, {Name: "both", Class: "both", Share: value("overlap")},
			{Name: "only communication", Class: "blocked", Share: value("communication alone")}, {Name: "copies", Class: "other",
				Share: value("busy") - value("computation") - value("communication alone")}, {Name: "idle", Class: "sleeping", Share: value("idle")},
		} {
			p.Name += ": " + human.Quantity(p.Share, "ns")
			p.From, p.Share = from, 100*p.Share/max(whole, 1)
			from += p.Share
			parts = append(parts, p)
		}
		row.Cells = append(row.Cells, Cell{Parts: parts})
	}
	f.Table.Columns = append(f.Table.Columns, Column{Name: "time"})
	return []Figure{f}, nil
}

// traces lists the traces of the ranks.
func (j *job) traces() Figure {
	t := &Table{Columns: []Column{{"rank", true}, {"duration", true}, {"bytes", true}, {Name: "trace"}, {Name: "trace id"}, {Name: "lost"}}, Total: len(j.ranks)}
	for _, r := range j.ranks {
		t.Rows = append(t.Rows, Row{Cells: []Cell{j.cell(*r.Rank, "id"), j.cell(duration(r.Manifest), "ns"), j.cell(r.Input.Bytes, "bytes"),
			{Text: j.text(path.Base(filepath.ToSlash(r.Input.Name)))}, {Text: r.TraceID}, {Text: j.text(r.Alarm)}}})
	}
	return Figure{Note: "tpconvert report --trace-id shows one of them.", Table: t}
}

var (
	stragglers = query{title: "Who comes last", units: map[string]string{"rank": "id", "last_skew": "ns", "waited": "ns", "others_waited": "ns"}, bar: "others_waited", limit: 64, asIs: true, sql: `
SELECT rank, count AS collectives, last AS came_last, last_skew AS others_waited, waited
FROM gpu_stragglers ORDER BY last_skew DESC, rank`}

	skews = query{title: "Skew of collectives", units: map[string]string{"total_skew": "ns", "max_skew": "ns", "straggler": "id"}, bar: "total_skew", sql: `
SELECT count, total_skew, max_skew, straggler, step, name, process_group, group_ranks
FROM gpu_skew WHERE total_skew > 0 ORDER BY total_skew DESC, step, name`}

	rankDevices = query{units: map[string]string{"rank": "id", "busy": "ns", "idle": "ns", "computation": "ns", "communication": "ns", "overlap": "ns",
		"communication_alone": "ns"}, limit: 64, asIs: true, sql: `
SELECT rank, device, busy, idle, computation, communication, overlap, communication - overlap AS communication_alone
FROM gpu_devices ORDER BY rank, device`}

	rankKernels = query{title: "Kernels by the difference between ranks", units: map[string]string{"least": "ns", "most": "ns", "difference": "ns", "mean": "ns", "slowest_rank": "id"},
		bar: "difference", limit: 30, sql: `
SELECT max(total_dur) - min(total_dur) AS difference, min(total_dur) AS least, avg(total_dur) AS mean, max(total_dur) AS most,
  (SELECT rank FROM gpu_kernels AS k WHERE k.name = g.name AND k.kind = g.kind ORDER BY total_dur DESC, rank LIMIT 1) AS slowest_rank,
  count(*) AS ranks, kind, name
FROM gpu_kernels AS g WHERE kind <> 'communication'
GROUP BY kind, name ORDER BY difference DESC, most DESC, name`}
)
