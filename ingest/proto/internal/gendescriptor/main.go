// Gendescriptor makes the table of message types that package descriptor embeds:
//
//	go run ./ingest/proto/internal/gendescriptor FIELDS.tsv ENUMS.tsv ingest/proto/descriptor/types.gz
//
// FIELDS.tsv lists the fields of messages: message, field, number, type,
// type_name, label, oneof, packed, file; the message "extend X" is for extensions
// of X. ENUMS.tsv lists the values of enums: enum, value, number. Options of
// fields that change how they are shown are in options.tsv.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

//go:embed options.tsv
var options string

// Messages of these files are of no use in traces.
var skipped = []string{
	"protos/perfetto/trace_processor/", "protos/perfetto/perfetto_sql/", "protos/perfetto/trace_summary/",
	"protos/third_party/pprof/", "protos/third_party/simpleperf/",
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: gendescriptor FIELDS.tsv ENUMS.tsv OUTPUT")
	}
	fields, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	enums, err := os.Open(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	io.WriteString(z, table(fields, enums))
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[3], out.Bytes(), 0o666); err != nil {
		log.Fatal(err)
	}
}

// table lists types in alphabetical order: a line ".name" for a message and
// "#name" for an enum, then a line for each field or value.
func table(fields, enums io.Reader) string {
	marks := map[string]string{}
	for row := range rows(strings.NewReader(options)) {
		key := row[0] + " " + row[1]
		switch row[2] {
		case "is_pid":
			marks[key] += "p"
		case "is_tid":
			marks[key] += "t"
		case "flags_enum":
			marks[key] += " " + row[3]
		}
	}
	types := map[string][]string{}
	for row := range rows(fields) {
		message, field, number, kind, typeName, label, file := row[0], row[1], row[2], row[3], row[4], row[5], row[8]
		if slices.ContainsFunc(skipped, func(p string) bool { return strings.HasPrefix(file, p) }) {
			continue
		}
		mark := marks[message+" "+field]
		if label == "repeated" {
			mark = "*" + mark
		}
		if extended, ok := strings.CutPrefix(message, "extend "); ok {
			message, mark = extended, "+"+mark
		}
		if typeName != "" {
			mark += " " + typeName
		}
		types["."+message] = append(types["."+message], strings.TrimRight(fmt.Sprintf("%s %s %s %s", number, field, kind, mark), " "))
	}
	for row := range rows(enums) {
		types["#"+row[0]] = append(types["#"+row[0]], row[2]+" "+row[1])
	}
	var b strings.Builder
	names := slices.SortedFunc(maps.Keys(types), func(a, b string) int { return cmp.Or(cmp.Compare(a[1:], b[1:]), cmp.Compare(a, b)) })
	for _, name := range names {
		b.WriteString(name + "\n")
		for _, line := range types[name] {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// rows yields the rows of a table after its header.
func rows(r io.Reader) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		s := bufio.NewScanner(r)
		for header := true; s.Scan(); header = false {
			if !header && !yield(strings.Split(s.Text(), "\t")) {
				return
			}
		}
	}
}
