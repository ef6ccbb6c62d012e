package ingest_test

import (
	"bytes"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/model"
)

var mutate = flag.Duration("mutate", 2*time.Second, "how long to read damaged traces")

// TestMutations reads recorded traces and test cases with random damage, one after the other in one
// process. Each is either read or refused as bad input, without a panic, in seconds.
func TestMutations(t *testing.T) {
	var traces [][]byte
	err := filepath.WalkDir("../testdata", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "record":
			return fs.SkipDir
		case e.IsDir() || strings.HasSuffix(path, ".md"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err == nil && filepath.Ext(path) == ".txtar" {
			_, data, err = tracecase.Trace(&txtar.Parse(data).Files[0])
		}
		traces = append(traces, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	read, slowest := 0, time.Duration(0)
	path := filepath.Join(os.TempDir(), "damaged-"+strconv.Itoa(os.Getpid()))
	for end := time.Now().Add(*mutate); time.Now().Before(end); read++ {
		data := damage(random, traces[random.IntN(len(traces))])
		begun := time.Now()
		hang := time.AfterFunc(20*time.Second, func() {
			_ = os.WriteFile(path, data, 0o666)
			panic("reading " + path + " does not end") // which shows where it is
		})
		store := model.NewStore(model.Options{})
		err := ingest.Read(store, "damaged", bytes.NewReader(data), ingest.Options{Memory: 16 << 20})
		if err == nil {
			err = store.Finish()
		}
		store.Close()
		hang.Stop()
		slowest = max(slowest, time.Since(begun))
		if err != nil && !format.BadInput(err) {
			_ = os.WriteFile(path, data, 0o666)
			t.Fatalf("seed %d, trace %d, written to %s: %v", seed, read, path, err)
		}
	}
	t.Logf("read %d damaged traces, the slowest in %s", read, slowest.Round(time.Millisecond))
}

// damage changes some bytes, cuts pieces out, repeats others, or truncates the trace.
func damage(random *rand.Rand, trace []byte) []byte {
	data := bytes.Clone(trace)
	for range 1 + random.IntN(8) {
		if len(data) == 0 {
			return data
		}
		from := random.IntN(len(data))
		to := min(len(data), from+1+random.IntN(64))
		switch random.IntN(6) {
		case 0:
			data = append(data[:from:from], data[to:]...)
		case 1:
			data = append(data[:to:to], data[from:]...)
		case 2:
			data = data[:to]
		case 3:
			data[from] ^= 1 << random.IntN(8)
		case 4:
			for i := from; i < to; i++ {
				data[i] = byte(random.Uint32())
			}
		case 5:
			data[from] = []byte{0, 0xff, 0x7f, 0x80, '"', '{', '}', '\n'}[random.IntN(8)]
		}
	}
	return data
}
