package nsys_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/tracecase"
)

func caseTrace(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../testdata/cases/" + path + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, data, err := tracecase.Trace(&txtar.Parse(text).Files[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) (*ingesttest.Tables, error) {
	return ingesttest.Read(t, ingesttest.File{Name: "trace.sqlite", Reader: bytes.NewReader(data)})
}

// TestStream reads a database that has no random access.
func TestStream(t *testing.T) {
	for _, path := range []string{"nsys/cuda", "rocpd/hip"} {
		ingesttest.MustRead(t, path, caseTrace(t, path))
	}
}

func TestOtherApplication(t *testing.T) {
	_, data, err := tracecase.Trace(&txtar.File{Name: "x.sql", Data: []byte("CREATE TABLE moz_places (id INTEGER PRIMARY KEY)")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = read(t, data)
	if !format.BadInput(err) || !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "moz_places") {
		t.Error(err)
	}
}

// TestDamage reads databases that are cut off or have random damage.
func TestDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, path := range []string{"nsys/cuda", "rocpd/hip"} {
		whole := caseTrace(t, path)
		for i := range 100 {
			data := slices.Clone(whole)
			if i%3 == 0 {
				data = data[:random.IntN(len(data))]
			}
			for range random.IntN(20) {
				if len(data) > 0 {
					data[random.IntN(len(data))] = byte(random.Uint32())
				}
			}
			ingesttest.MayFail(t, data)
		}
	}
}

// TestSamples compares the exports in the folder nsys of FORMAT_SAMPLES with what SQLite reads in them.
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "nsys/*.sqlite", func(path string, data []byte) {
		tables, err := read(t, data)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var want []string
		for category, table := range map[string]string{"kernel": "KERNEL", "gpu_memcpy": "MEMCPY", "gpu_memset": "MEMSET", "cuda_sync": "SYNCHRONIZATION"} {
			want = append(want, rows(t, db, fmt.Sprintf("SELECT '%s|' || start || '|' || (end - start) FROM CUPTI_ACTIVITY_KIND_%s WHERE start >= 0", category, table))...)
		}
		want = append(want, rows(t, db, `SELECT CASE coalesce(eventClass, 0) WHEN 1 THEN 'cuda_driver|' ELSE 'cuda_runtime|' END || start || '|' || (end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start >= 0`)...)
		want = append(want, rows(t, db, "SELECT 'nvtx|' || start || '|' || (end - start) FROM NVTX_EVENTS WHERE eventType = 59")...)
		got := tables.Rows("slice", "category", "ts", "dur")
		got = slices.DeleteFunc(got, func(row string) bool {
			category, _, _ := strings.Cut(row, "|")
			return !slices.Contains([]string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_driver", "cuda_runtime", "nvtx"}, category)
		})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d rows, want %d", len(got), len(want))
		}
		t.Logf("%d rows", len(want))
	})
}

// rows returns the texts that a query selects, none if the database lacks the table or its columns.
func rows(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	found, err := db.Query(query)
	if err != nil {
		if strings.Contains(err.Error(), "no such column: eventClass") {
			return rows(t, db, strings.Replace(query, "eventClass", "0", 1))
		}
		return nil
	}
	defer found.Close()
	var all []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func FuzzRead(f *testing.F) {
	for _, path := range []string{"nsys/cuda", "rocpd/hip"} {
		f.Add(caseTrace(f, path))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ingesttest.MayFail(t, data)
	})
}
