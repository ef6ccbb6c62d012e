package work

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
)

// boundBytes is the number of bytes to which bounds of text are cut.
const boundBytes = 16

// Describe describes a file for the commit.
func Describe(p export.PackedFile, schemas []*table.Schema) task.File {
	s := schemas[slices.IndexFunc(schemas, func(s *table.Schema) bool { return s.Name == p.Table })]
	f := task.File{Table: p.Table, Rows: p.Rows, Bytes: p.Bytes, Groups: p.Groups}
	for i, c := range p.Columns {
		least, greatest := c.Least, c.Greatest
		if s.Columns[i].Type == table.TypeString {
			least, greatest = cut(least), cutAbove(greatest)
		}
		if s.Columns[i].Type == table.TypeBytes {
			least, greatest = nil, nil // of no use, and long
		}
		f.Columns = append(f.Columns, task.Column{Field: c.Field, Bytes: c.Bytes, Nulls: c.Nulls, Least: least, Greatest: greatest})
	}
	return f
}

// cut cuts a text to whole characters.
func cut(text []byte) []byte {
	n := min(len(text), boundBytes)
	for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// cutAbove cuts a text so that the result is not less, or returns nil if that is impossible.
func cutAbove(text []byte) []byte {
	short := cut(text)
	if len(short) == len(text) {
		return text
	}
	for len(short) > 0 {
		last, size := utf8.DecodeLastRune(short)
		short = short[:len(short)-size]
		if last++; last == 0xD800 {
			last = 0xE000 // what is between is no text
		}
		if last <= utf8.MaxRune {
			return utf8.AppendRune(slices.Clone(short), last)
		}
	}
	return nil
}

// hashOf returns the SHA-256 of a file in hexadecimal.
func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, f)
	return hex.EncodeToString(digest.Sum(nil)), err
}
