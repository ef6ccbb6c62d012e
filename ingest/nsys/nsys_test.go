package nsys_test

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
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

var damaged = flag.Int("damaged", 100, "how many damaged forms of each database to read")

// TestDamage reads databases that are cut off or have random damage: those of the cases, and the exports in the folder nsys of
// FORMAT_SAMPLES. No damaged form takes as long as all the others.
func TestDamage(t *testing.T) {
	databases := map[string][]byte{}
	for _, path := range []string{"nsys/cuda", "rocpd/hip"} {
		databases[path] = caseTrace(t, path)
	}
	if folder := os.Getenv("FORMAT_SAMPLES"); folder != "" {
		files, err := filepath.Glob(filepath.Join(folder, "nsys/*.sqlite"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if databases[file], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	for path, whole := range databases {
		random, refused := rand.New(rand.NewPCG(1, 2)), 0
		var all, slowest time.Duration
		for range *damaged {
			start := time.Now()
			if _, failed := ingesttest.MayFail(t, damage(random, whole)); failed {
				refused++
			}
			took := time.Since(start)
			all, slowest = all+took, max(slowest, took)
		}
		if slowest > all/2 {
			t.Errorf("%s: one of %d took %v, the others %v", path, *damaged, slowest, all-slowest)
		}
		t.Logf("%s: %d of %d refused, %v at most", path, refused, *damaged, slowest.Round(time.Millisecond))
	}
}

// damage cuts a database off, changes bytes of it, or what SQLite knows: its pages, their headers, the types of values, the
// definitions of tables.
func damage(random *rand.Rand, whole []byte) []byte {
	data := slices.Clone(whole)
	size := int(binary.BigEndian.Uint16(data[16:]))
	page := func() []byte {
		at := random.IntN(len(whole)/size) * size
		return data[at : at+size]
	}
	for range 1 + random.IntN(8) {
		switch random.IntN(8) {
		case 0:
			for range random.IntN(20) {
				data[random.IntN(len(data))] = byte(random.Uint32())
			}
		case 1:
			copy(page(), page())
		case 2:
			clear(page())
		case 3: // kind, cells, right child, first cells
			p := page()
			p[random.IntN(16)] = []byte{0, 1, 2, 5, 10, 13, 0x7f, 0xff, byte(random.Uint32())}[random.IntN(9)]
		case 4:
			binary.BigEndian.PutUint32(page()[random.IntN(size-4):], random.Uint32N(uint32(len(whole)/size+2)))
		case 5: // the types of values in some row
			p := page()
			if cells := int(binary.BigEndian.Uint16(p[3:])); p[0] == 13 && cells > 0 {
				at := int(binary.BigEndian.Uint16(p[8+2*random.IntN(min(cells, size/4)):]))
				for i := at + 3; i < min(at+20, len(p)); i++ {
					if random.IntN(4) == 0 {
						p[i] = byte(random.IntN(32))
					}
				}
			}
		case 6:
			if at := bytes.Index(data, []byte("CREATE TABLE")); at >= 0 {
				at += random.IntN(min(size, len(data)-at))
				data[at] = "()\"',; 0x"[random.IntN(9)]
			}
		case 7:
			if random.IntN(4) == 0 {
				return data[:random.IntN(len(data))]
			}
		}
	}
	return data
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
	fuzz.Run(f, func(t *testing.T, data []byte) {
		ingesttest.MayFail(t, data)
	})
}
