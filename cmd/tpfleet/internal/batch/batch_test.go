package batch

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestBatch(t *testing.T) {
	text, number := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	schema := arrow.NewSchema([]arrow.Field{{Name: "url", Type: text}, {Name: "etag", Type: text, Nullable: true}, {Name: "bytes", Type: number, Nullable: true}}, nil)
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"url": "s3://a/1", "etag": "x", "bytes": 5}, {"url": "s3://a/2"}]`))
	if err != nil {
		t.Fatal(err)
	}
	b := Of(rows)
	if b.Rows != 2 || b.Text("url", 0) != "s3://a/1" || b.Text("etag", 0) != "x" || *b.Number("bytes", 0) != 5 {
		t.Errorf("the first of %d rows is %q, %q, %d", b.Rows, b.Text("url", 0), b.Text("etag", 0), *b.Number("bytes", 0))
	}
	if b.Text("etag", 1) != "" || b.Number("bytes", 1) != nil || !b.IsNull("etag", 1) || b.IsNull("url", 1) || !b.IsNull("status", 0) {
		t.Error("NULL has a value")
	}
}
