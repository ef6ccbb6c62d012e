package lake

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Status is the state of a lake.
type Status struct {
	OK, Copies, Bad, Forgotten int           // entries of the ledger
	Tables                     []TableStatus // with rows, in order
}

// TableStatus is the state of a table.
type TableStatus struct {
	Name  string
	Rows  int64
	Files int64
	Bytes int64
}

// Status counts the entries of the ledger, and what the tables hold.
func (l *Lake) Status(ctx context.Context) (s Status, err error) {
	ledger, err := l.load(ctx, task.Ledger)
	if err != nil {
		return s, err
	}
	counts := map[string]*int{task.OK: &s.OK, task.Copy: &s.Copies, task.Bad: &s.Bad, task.Forgotten: &s.Forgotten}
	err = eachBatch(ctx, ledger, []string{"status"}, func(b batch) error {
		for row := range b.rows {
			if n := counts[b.text("status", row)]; n != nil {
				*n++
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range tableNames() {
		group.Go(func() error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			snapshot := t.CurrentSnapshot()
			if snapshot == nil || snapshot.Summary == nil {
				return nil
			}
			number := func(key string) int64 {
				n, _ := strconv.ParseInt(snapshot.Summary.Properties[key], 10, 64)
				return n
			}
			mu.Lock()
			defer mu.Unlock()
			s.Tables = append(s.Tables, TableStatus{name, number("total-records"), number("total-data-files"), number("total-files-size")})
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(s.Tables, func(a, b TableStatus) int { return strings.Compare(a.Name, b.Name) })
	return s, err
}

// tableNames returns the names of all tables.
func tableNames() []string {
	names := []string{task.Ledger}
	for _, s := range task.Packed() {
		names = append(names, s.Name)
	}
	return names
}

// Files returns the URLs of a table's data files.
func (l *Lake) Files(ctx context.Context, name string) (urls []string, err error) {
	t, err := l.load(ctx, name)
	if err != nil {
		return nil, err
	}
	tasks, err := t.Scan().PlanFiles(ctx)
	for _, task := range tasks {
		urls = append(urls, task.File.FilePath())
	}
	return urls, err
}
