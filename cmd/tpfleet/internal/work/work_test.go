package work

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/model/table"
)

// A conversion that does not end when it should is left alone. Its trace is large, and the others of the task are converted.
func TestStuckConversion(t *testing.T) {
	dir := t.TempDir()
	l := task.Layout{Tables: map[string]task.Table{}}
	for _, s := range task.Packed() {
		place := task.Table{Location: "file://" + filepath.Join(dir, s.Name), Fields: map[string]int{}}
		for i, c := range s.Columns {
			place.Fields[c.Name] = i + 1
		}
		l.Tables[s.Name] = place
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	of := task.Task{ID: "a", Layout: "file://" + filepath.Join(dir, "layout.json")}
	for name, content := range map[string]string{"layout.json": string(text), "poison.json": "[]", "good.json": `[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":2}]`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"poison.json", "good.json"} {
		of.Traces = append(of.Traces, task.Trace{URL: "file://" + filepath.Join(dir, name)})
	}
	end, refused := make(chan bool), make(chan error, 1)
	w := Worker{Memory: 1 << 20, MaxTime: 200 * time.Millisecond, patience: 100 * time.Millisecond}
	w.convertFile = func(ctx context.Context, name string, r io.Reader, sink table.Sink, o tpconvert.Options) (*tpconvert.Facts, error) {
		if name != "poison.json" {
			return tpconvert.Read(ctx, name, r, sink, o)
		}
		<-end // it does not look at ctx
		facts, err := tpconvert.Read(context.Background(), name, r, sink, o)
		refused <- err
		return facts, err
	}
	r := w.Do(t.Context(), of)
	if len(r.Traces) != 2 || r.Traces[0].Status != task.Large || r.Traces[0].Error != "it takes more than --max-time=200ms" || r.Traces[0].SHA256 == "" || r.Traces[1].Status != task.OK || !r.Stuck {
		t.Errorf("%+v", r.Traces)
	}
	close(end)
	if err := <-refused; err == nil {
		t.Error("its rows were taken")
	}
}
