// Package tracecase reads the traces of test cases, which are written as text.
package tracecase

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "modernc.org/sqlite" // the driver

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// Trace returns the name and the bytes of a trace. NAME.textproto is a protobuf message in text format,
// NAME.hex has bytes in hexadecimal, NAME.sql statements that make an SQLite database; any other file is
// returned unchanged.
func Trace(f *txtar.File) (name string, data []byte, err error) {
	if base, ok := strings.CutSuffix(f.Name, ".textproto"); ok {
		data, err = encodeText(f.Data)
		return base + ".pftrace", data, err
	}
	if base, ok := strings.CutSuffix(f.Name, ".hex"); ok {
		data, err = decodeHex(string(f.Data))
		return base, data, err
	}
	if base, ok := strings.CutSuffix(f.Name, ".sql"); ok {
		data, err = database(string(f.Data))
		return base + ".sqlite", data, err
	}
	return f.Name, f.Data, nil
}

// database returns the file that SQLite makes of statements.
func database(statements string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "tracecase-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trace.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(statements)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

var messages = sync.OnceValues(func() (*dynamicpb.Types, error) {
	files, err := perfetto.Files(perfetto.Descriptors())
	return dynamicpb.NewTypes(files), err
})

// encodeText encodes a message in text format. It is a Trace, unless the first line is a comment "#
// proto-message: NAME".
func encodeText(text []byte) ([]byte, error) {
	types, err := messages()
	if err != nil {
		return nil, err
	}
	name := "perfetto.protos.Trace"
	line, _, _ := strings.Cut(string(text), "\n")
	if other, ok := strings.CutPrefix(line, "# proto-message: "); ok {
		name = other
	}
	kind, err := types.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	m := kind.New().Interface()
	if err := (prototext.UnmarshalOptions{Resolver: types}).Unmarshal(text, m); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// decodeHex decodes hexadecimal bytes, mixed with spaces, quoted "text" and # comments.
func decodeHex(text string) ([]byte, error) {
	var data []byte
	for line := range strings.Lines(text) {
		for line = strings.TrimSpace(line); line != "" && line[0] != '#'; line = strings.TrimSpace(line) {
			if quoted, err := strconv.QuotedPrefix(line); err == nil {
				part, _ := strconv.Unquote(quoted)
				data, line = append(data, part...), line[len(quoted):]
				continue
			}
			word := line[:strings.IndexAny(line+" ", " \t#\"")]
			part, err := hex.DecodeString(word)
			if err != nil || word == "" {
				return nil, fmt.Errorf("%q: %v", line, err)
			}
			data, line = append(data, part...), line[len(word):]
		}
	}
	return data, nil
}
