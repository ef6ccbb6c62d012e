package datasettest

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Find returns the files and folders below a folder that have a text: in their name, their bytes, or a value of a Parquet or Avro file.
// There must be some.
func Find(t testing.TB, folder, text string) (found []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		has := strings.Contains(name, text)
		if !entry.IsDir() {
			files++
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			switch has = has || bytes.Contains(content, []byte(text)); filepath.Ext(path) {
			case ".parquet":
				has = has || strings.Contains(parquetText(t, path), text)
			case ".avro":
				has = has || bytes.Contains(avroBytes(t, content), []byte(text))
			}
		}
		if has {
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatalf("no files in %s", folder)
	}
	return found
}

// parquetText returns all values of a file, as text.
func parquetText(t testing.TB, path string) string {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer all.Release()
	var b strings.Builder
	for i := range int(all.NumCols()) {
		for _, chunk := range all.Column(i).Data().Chunks() {
			for row := range chunk.Len() {
				b.WriteString(chunk.ValueStr(row) + "\n")
			}
		}
	}
	return b.String()
}

// avroBytes returns the blocks of an Avro file whose codec is deflate.
func avroBytes(t testing.TB, content []byte) (all []byte) {
	t.Helper()
	marker := content[max(0, len(content)-16):]
	for i, block := range bytes.Split(content, marker) {
		if i == 0 || len(block) == 0 { // the head, what follows the last marker
			continue
		}
		for range 2 { // the number of objects, the size
			_, n := binary.Varint(block)
			block = block[max(0, n):]
		}
		inflated, err := io.ReadAll(flate.NewReader(bytes.NewReader(block)))
		if err != nil {
			t.Fatalf("a block of Avro: %v", err)
		}
		all = append(all, inflated...)
	}
	return all
}
