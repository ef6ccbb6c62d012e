package perfettosql_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

var datasets = flag.Int("datasets", 30, "how many damaged datasets to query")

const recorded = `{"traceEvents":[{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"main"}},
	{"ph":"X","pid":1,"tid":2,"ts":1,"dur":9,"name":"work","cat":"c","args":{"x":1,"text":"a long text that is stored as it is","real":0.5}},
	{"ph":"X","pid":1,"tid":2,"ts":2,"dur":5,"name":"part","args":{"list":[1,2,{"y":"z"}]}},{"ph":"X","pid":1,"tid":3,"ts":4,"dur":2,"name":"wörk"},
	{"ph":"s","pid":1,"tid":2,"ts":3,"id":7,"cat":"f","name":"flow"},{"ph":"f","bp":"e","pid":1,"tid":3,"ts":5,"id":7,"cat":"f","name":"flow"},
	{"ph":"C","pid":1,"ts":1,"name":"load","args":{"v":1.5}},{"ph":"C","pid":1,"ts":2,"name":"load","args":{"v":-3}},
	{"ph":"b","pid":1,"tid":2,"ts":1,"id":"a","cat":"c","name":"async"},{"ph":"e","pid":1,"tid":2,"ts":8,"id":"a","cat":"c","name":"async"}],
	"stackFrames":{"1":{"name":"main"},"2":{"name":"inner","parent":1}},"samples":[{"ts":2,"sf":2,"tid":2},{"ts":3,"sf":1,"tid":2}]}`

// questions search, join, compare and sort columns, and read texts and args of rows.
var questions = []string{
	"SELECT s.name, t.name, extract_arg(s.arg_set_id, 'args.x'), extract_arg(s.arg_set_id, 'args.text') FROM slice s JOIN thread_track tt ON s.track_id = tt.id JOIN thread t USING (utid) WHERE s.name LIKE 'w%' ORDER BY s.ts DESC",
	"SELECT * FROM slice a JOIN slice b ON a.parent_id = b.id WHERE a.ts BETWEEN 1 AND 9000 AND b.name GLOB '*o*'",
	"SELECT key, string_value, int_value, real_value FROM args WHERE arg_set_id IN (SELECT arg_set_id FROM slice) ORDER BY string_value, real_value",
	"SELECT count(DISTINCT name), max(name), min(category), sum(dur) FROM slice GROUP BY track_id HAVING count(*) > 0",
	"SELECT f.name, c.depth, p.parent_id FROM stack_profile_callsite c JOIN stack_profile_frame f ON f.id = c.frame_id LEFT JOIN stack_profile_callsite p ON p.id = c.parent_id",
	"SELECT * FROM flow JOIN slice ON slice_out = slice.id OR slice_in = slice.id",
	"SELECT ts, value, lead(ts) OVER (PARTITION BY track_id ORDER BY ts) FROM counter WHERE value > -5 AND track_id >= 0",
	"CREATE PERFETTO TABLE copied AS SELECT id, ts, dur, name, track_id FROM slice; SELECT * FROM copied WHERE name = 'work' OR id = 2",
	"CREATE PERFETTO TABLE counted AS SELECT ts, 1000 AS dur, value FROM counter; CREATE VIRTUAL TABLE joined USING SPAN_JOIN(copied PARTITIONED track_id, counted); SELECT * FROM joined",
	"SELECT * FROM ancestor_slice(2)", "SELECT * FROM descendant_slice(1)", "SELECT * FROM slice WHERE id = 3",
}

// TestDamagedDatasets queries datasets whose files are damaged. A query has rows or an error, in seconds; nothing panics. With -asan, it also
// shows what C reads or writes beside the columns.
func TestDamagedDatasets(t *testing.T) {
	whole := datasettest.Convert(t, recorded)
	all := files(t, whole)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	if asked, failed := ask(t, whole); failed > 0 {
		t.Fatalf("%d of %d queries of the whole dataset fail", failed, asked)
	}
	good, bad := 0, 0
	for range *datasets {
		folder := t.TempDir()
		for name, data := range all {
			if random.IntN(len(all)) < 4 {
				data = damage(random, data)
			}
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		asked, failed := ask(t, folder)
		good, bad = good+asked-failed, bad+failed
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d datasets: %d queries had rows, %d an error", *datasets, good, bad)
	if good == 0 || bad == 0 {
		t.Error("all datasets are whole, or none can be read")
	}
}

// files returns the files of a dataset.
func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all[path], err = os.ReadFile(filepath.Join(folder, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// damage changes some bytes: mostly of pages, because what is behind them says whether there is a table.
func damage(random *rand.Rand, file []byte) []byte {
	data := bytes.Clone(file)
	until := len(data)
	if footer := data[max(len(data)-8, 0):]; random.IntN(10) > 0 && string(footer[4:]) == "PAR1" {
		until -= min(8+int(binary.LittleEndian.Uint32(footer)), until-1)
	}
	for range 1 + random.IntN(8) {
		at := random.IntN(until)
		switch random.IntN(8) {
		case 0, 1:
			data[at] = []byte{0, 0xff, 0x7f, 0x80}[random.IntN(4)]
		case 2:
			data[at] = byte(random.Uint32())
		default:
			data[at] ^= 1 << random.IntN(8)
		}
	}
	return data
}

// ask asks all questions of a dataset, and for all rows of each table. It returns how many it asked, and how many failed.
func ask(t *testing.T, folder string) (asked, failed int) {
	t.Helper()
	data := tables.NewDataset(tables.FileOpener(func(table string) []string { return []string{filepath.Join(folder, table+".parquet")} }))
	defer data.Close()
	s, err := perfettosql.New(data, perfettosql.Options{})
	if err != nil {
		return 1, 1
	}
	defer s.Close()
	queries := slices.Clone(questions)
	paths, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		queries = append(queries, "SELECT * FROM "+strings.TrimSuffix(filepath.Base(path), ".parquet"))
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for _, sql := range queries {
		err := s.Run(ctx, sql, func(r *perfettosql.Rows) error {
			for {
				more, err := r.Next()
				if err != nil || !more {
					return err
				}
				for i := range r.Columns() {
					_ = r.Any(i)
				}
			}
		})
		if asked++; err != nil {
			failed++
		}
	}
	if ctx.Err() != nil {
		t.Errorf("the queries of a damaged dataset do not end")
	}
	return asked, failed
}
