package tpconvert_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert"
)

// folder returns a temporary folder for an example.
func folder() string {
	dir, err := os.MkdirTemp("", "tpconvert-example-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

func ExampleConvert() {
	dir := folder()
	defer os.RemoveAll(dir)
	result, err := tpconvert.Convert(context.Background(), []string{"testdata/chromium.json.gz"}, filepath.Join(dir, "out"), tpconvert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	trace := result.Traces[0]
	fmt.Println(trace.Format, trace.TraceID, trace.Lost)
	for _, t := range trace.Tables {
		if t.Name == "slice" || t.Name == "thread" {
			fmt.Println(t.Name, t.Rows)
		}
	}
	// Output:
	// gzip/json t_ab8e40200a1f274c 27
	// slice 6033
	// thread 46
}

func ExampleConvert_errors() {
	dir := folder()
	defer os.RemoveAll(dir)
	damaged := filepath.Join(dir, "damaged.json")
	if err := os.WriteFile(damaged, []byte(`{"traceEvents":[{"ph":"X"`), 0o666); err != nil {
		log.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	_, err := tpconvert.Convert(context.Background(), []string{damaged}, out, tpconvert.Options{})
	var bad *tpconvert.InputError
	if errors.As(err, &bad) {
		fmt.Println(filepath.Base(bad.File), bad.Format, errors.Is(err, tpconvert.ErrNoEvents))
	}

	good := []string{"testdata/go_heap.pb.gz"}
	if _, err := tpconvert.Convert(context.Background(), good, out, tpconvert.Options{}); err != nil {
		log.Fatal(err)
	}
	_, err = tpconvert.Convert(context.Background(), good, out, tpconvert.Options{})
	fmt.Println(errors.Is(err, tpconvert.ErrExists))

	// Of several traces, those that can be read are converted.
	result, err := tpconvert.Convert(context.Background(), append(good, damaged), filepath.Join(dir, "many"), tpconvert.Options{})
	var failed *tpconvert.FailedError
	if errors.As(err, &failed) {
		fmt.Println(len(failed.Errs), "of", failed.Of, failed.BadInput(), result.Traces[0].Format)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = tpconvert.Convert(ctx, good, filepath.Join(dir, "other"), tpconvert.Options{})
	fmt.Println(errors.Is(err, context.Canceled))
	// Output:
	// damaged.json Trace Event Format true
	// true
	// 1 of 2 true gzip/pprof
	// true
}

func ExampleOpen() {
	dir := folder()
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	if _, err := tpconvert.Convert(context.Background(), []string{"testdata/chromium.json.gz"}, out, tpconvert.Options{}); err != nil {
		log.Fatal(err)
	}
	dataset, err := tpconvert.Open(out)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dataset.Traces[0].Input.Name, dataset.Traces[0].Events)
	session, err := dataset.PerfettoSQL("", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	query := "SELECT name, count(*) AS n, sum(dur) AS dur FROM slice GROUP BY name ORDER BY n DESC, name LIMIT 2"
	for row, err := range session.Query(context.Background(), query) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Columns, row.Values)
	}
	// Output:
	// chromium.json.gz 6033
	// [name n dur] [Receive mojo message 1680 212617993]
	// [name n dur] [InlineNode::ShapeTextIncludingFirstLine 242 651000]
}

func ExampleRead() {
	trace := strings.NewReader(`[{"ph":"X","pid":1,"tid":2,"ts":3,"dur":4,"name":"a"}]`)
	facts, err := tpconvert.Read(context.Background(), "a.json", trace, nil, tpconvert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(facts.Input.Format, *facts.Start, *facts.End, "ns")
	for _, t := range facts.Tables {
		if t.Name == "slice" {
			fmt.Println(t.Rows, "slice")
		}
	}
	// Output:
	// json 3000 7000 ns
	// 1 slice
}
