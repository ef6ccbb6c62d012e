package predicate

import (
	"errors"
	"slices"
	"testing"
)

func TestRows(t *testing.T) {
	columns := []Column{{Name: "url", Text: true}, {Name: "bytes"}, {Name: "converter_version", Text: true, Version: true}}
	rows := []map[string]any{
		{"url": "s3://a/1", "bytes": int64(10), "converter_version": "v1.9.0"},
		{"url": "s3://a/2", "bytes": int64(20), "converter_version": "v1.10.0"},
		{"url": nil, "bytes": int64(30), "converter_version": "(devel)"},
	}
	for where, want := range map[string][]int{
		"converter_version < 'v1.10.0'": {0, 2},
		"bytes >= 20":                   {1, 2},
		"url IS NULL OR url LIKE '%/1'": {0, 2},
		"bytes > 100 -- none":           nil,
		"1":                             {0, 1, 2},
	} {
		p, err := New(t.Context(), "ledger", where, columns)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // batches do not see each other
			got, err := p.Rows(t.Context(), len(rows), func(c Column, row int) any { return rows[row][c.Name] })
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v", where, got, err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(t.Context(), "ledger", "size > 1", columns); !errors.Is(err, ErrWrong) {
		t.Errorf("a column that is not there gives %v", err)
	}
}
