package json_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/model"
)

// BenchmarkRead reads a trace of slices with args into a store without a sink.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"traceEvents":[`)
	for i := range 100_000 {
		fmt.Fprintf(&text, `{"args":{"data":{"frame":"F%d","n":%d}},"cat":"devtools.timeline","dur":%d,"name":"Task%d","ph":"X","pid":1,"tid":%d,"ts":%d,"tts":%d},`+"\n",
			i%50, i%1000, 5+i%7, i%40, i%16, i*9, i)
	}
	text.WriteString(`{}]}`)
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		store := model.NewStore(model.Options{})
		if err := ingest.Read(store, "a.json", bytes.NewReader(text.Bytes()), ingest.Options{}); err != nil {
			b.Fatal(err)
		}
		if rows := store.Rows()["slice"]; rows != 100_000 {
			b.Fatalf("%d slices", rows)
		}
	}
}
