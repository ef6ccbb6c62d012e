package schema

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

var generate = flag.Bool("generate", false, "write docs/tables.md, and new columns to testdata/fields.txt")

func TestDocsAreCurrent(t *testing.T) {
	const path = "../../docs/tables.md"
	var want bytes.Buffer
	if err := WriteDocs(&want); err != nil {
		t.Fatal(err)
	}
	current(t, path, want.Bytes())
}

// current compares a generated file with the expected text, or writes it.
func current(t *testing.T, path string, want []byte) {
	t.Helper()
	if *generate {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current: run make generate", path)
	}
}

// testdata/fields.txt lists every field id ever assigned: table, id, the column's
// name and its names in older versions of the schema, if different. Lines are never
// removed, so that no id changes its meaning.
func TestFieldIDsAreNotReused(t *testing.T) {
	const path = "testdata/fields.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // by table and id
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		field := words[0] + " " + words[1]
		if names[field] != "" {
			t.Errorf("%s: %s is given out twice", path, field)
		}
		names[field] = words[2]
	}
	inherited := map[string]int{}
	for _, s := range All() {
		inherited[s.Name] = len(s.Columns)
		for _, c := range s.Columns[inherited[s.Parent]:] {
			field := fmt.Sprintf("%s %d", s.Name, c.Field)
			switch names[field] {
			case c.Name:
			case "":
				text = fmt.Appendf(text, "%s %s\n", field, c.Name)
			default:
				t.Errorf("field id %s was column %s: give %s a new one or, if it is the same column under a new name, say so in %s",
					field, names[field], c.Name, path)
			}
		}
	}
	if !t.Failed() {
		current(t, path, text)
	}
}

// exported are tables that only exports of Trace Processor fill, which are read by the tables' names.
var exported = []string{
	"ETMV4Configuration", "ETMV4Session", "ETMV4Chunk", "JITCode", "JITFrame", "ELFFile", "File", "V8Isolate", "V8JSScript", "V8WasmScript",
	"V8JSFunction", "V8JSCode", "V8InternalCode", "V8WasmCode", "V8RegexpCode",
}

// A table is planned until code refers to its field of Tables.
func TestPlannedTablesHaveNoWriter(t *testing.T) {
	named := map[string]bool{}
	field := regexp.MustCompile(`\.(\w+)`)
	for _, folder := range []string{"../../model", "../../ingest", "../../export", "../../sqlfuncs/derive"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && e.Name() == "schema" {
				return cmp.Or(err, fs.SkipDir)
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				text, err := os.ReadFile(path)
				for _, m := range field.FindAllSubmatch(text, -1) {
					named[string(m[1])] = true
				}
				return err
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range exported {
		named[name] = true
	}
	all := reflect.TypeFor[Tables]()
	for i, s := range All() {
		name := all.Field(i).Name
		if s.Planned && named[name] {
			t.Errorf("%s is planned, but something fills it: take the word off its declaration", s.Name)
		}
		if !s.Planned && !s.Derived && !s.Abstract && !named[name] {
			t.Errorf("nothing fills %s: declare it planned", s.Name)
		}
	}
}

// Columns named by bounds must be times.
func TestBounds(t *testing.T) {
	for _, s := range All() {
		if i := s.Column(s.Bounds); s.Bounds != "" && (i < 0 || s.Columns[i].Type != table.TypeInt64) {
			t.Errorf("%s: bounds=%s is no column of times", s.Name, s.Bounds)
		}
	}
}

// renamed maps tables of Trace Processor v58 to the tables that have their columns.
var renamed = map[string]string{
	"_linux_interrupt_mapping":   "linux_interrupt_mapping",
	"logs":                       "android_logs",
	"trace_import_logs":          "import_log",
	"profiler_sample":            "stack_sample",
	"profiler_task_context":      "stack_sample",
	"profiler_execution_context": "stack_sample",
}

// changed lists columns of Trace Processor v58 that differ here.
var changed = map[string]bool{
	"flow.trace_id":                        true, // local_trace_id
	"metadata.trace_id":                    true, // local_trace_id
	"stats.trace_id":                       true, // local_trace_id
	"trace_diagnostics.trace_id":           true, // local_trace_id
	"trace_import_logs.trace_id":           true, // local_trace_id
	"profiler_sample.task_context_id":      true, // flattened
	"profiler_sample.execution_context_id": true, // flattened
	"cpu.cpu":                              true, // only CPUs with a number have a row
	"gpu.gpu":                              true, // only GPUs with a number have a row
}

// testdata/tables_v58.txt lists the tables of Trace Processor v58 and their
// columns, with a question mark for columns that may be NULL.
func TestTraceProcessorTables(t *testing.T) {
	data, err := os.ReadFile("testdata/tables_v58.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		from, columns, _ := strings.Cut(line, ":")
		name := from
		if to, ok := renamed[from]; ok {
			name = to
		}
		s := schemaOf(name)
		if s == nil {
			t.Errorf("no table %s", name)
			continue
		}
		for _, column := range strings.Fields(columns) {
			column, nullable := strings.CutSuffix(column, "?")
			if changed[from+"."+column] {
				continue
			}
			i := s.Column(column)
			if i < 0 {
				t.Errorf("%s: no column %s", name, column)
			} else if nullable && !s.Columns[i].Nullable {
				t.Errorf("%s.%s cannot be NULL", name, column)
			}
		}
	}
}

func TestDeclarations(t *testing.T) {
	docs := map[string]string{}
	seen := map[string]*table.Schema{}
	for _, s := range All() {
		if seen[s.Name] != nil {
			t.Errorf("%s: declared twice", s.Name)
		}
		seen[s.Name] = s
		if other, ok := docs[s.Doc]; ok {
			t.Errorf("%s: same doc as %s", s.Name, other)
		}
		docs[s.Doc] = s.Name
		checkDoc(t, s.Name, s.Doc)

		kinds := map[table.Type]bool{}
		for _, c := range s.Columns {
			kinds[c.Type] = true
		}
		if kinds[table.TypeBytes] && kinds[table.TypeString] {
			t.Errorf("%s: bytes and text in one table, see table.Bytes", s.Name)
		}

		inherited, last, most := 0, 0, 100
		if s.Parent != "" {
			parent := seen[s.Parent]
			if parent == nil {
				t.Errorf("%s: parent %s is not declared before it", s.Name, s.Parent)
				continue
			}
			inherited, most = len(parent.Columns), 1000
			last = max(100, parent.Columns[inherited-1].Field)
		}
		for i, c := range s.Columns {
			name := s.Name + "." + c.Name
			if s.Column(c.Name) != i {
				t.Errorf("%s: declared twice", name)
			}
			checkDoc(t, name, c.Doc)
			if i < inherited {
				continue
			}
			if c.Field <= last || c.Field > most {
				t.Errorf("%s: field id %d, want one in %d-%d", name, c.Field, last+1, most)
			}
			last = c.Field
			if c.Ref != "" && schemaOf(c.Ref) == nil {
				t.Errorf("%s: refers to %s, which is no table", name, c.Ref)
			}
			if s.Derived && seen[s.Parent].Column(c.From) < 0 {
				t.Errorf("%s: from %q, which the parent does not have", name, c.From)
			}
		}
	}
}

func checkDoc(t *testing.T, name, doc string) {
	if !strings.HasSuffix(doc, ".") || strings.ContainsAny(doc, "|\n") {
		t.Errorf("%s: doc %q is no sentence", name, doc)
	}
}

// lasting are the tables with times of facts that hold for longer, or that only add up as a whole. See docs/cut.md.
var lasting = []string{"alert", "clock_snapshot", "import_log", "mmap_record", "filedescriptor", "android_aflags", "heap_profile", "heap_profile_allocation"}

// These are the dataset's promises about whole groups of tables.
func TestConventions(t *testing.T) {
	parents := map[string]bool{}
	for _, s := range All() {
		parents[s.Parent] = true
	}
	for _, s := range All() {
		if parents[s.Name] && s.Column("type") < 0 {
			t.Errorf("%s has children and no type", s.Name)
		}
		if s.Column("ucpu") >= 0 && s.Column("cpu") < 0 {
			t.Errorf("%s has ucpu and no cpu", s.Name)
		}
		for _, c := range s.Columns {
			want := map[string]table.Type{
				"ts": table.TypeInt64, "dur": table.TypeInt64, "id": table.TypeInt64, "arg_set_id": table.TypeInt64,
				"depth": table.TypeInt32, "cpu": table.TypeInt32, "priority": table.TypeInt32, "name": table.TypeString,
			}
			if typ, ok := want[c.Name]; ok && c.Type != typ {
				t.Errorf("%s.%s is %s, want %s", s.Name, c.Name, c.Type, typ)
			}
			if (c.Name == "ts" || c.Name == "timestamp") && !c.Time && !slices.Contains(lasting, s.Name) {
				t.Errorf("%s.%s is no table.Time, but %s is not among the tables that no cut makes smaller", s.Name, c.Name, s.Name)
			}
			if c.Time && c.Nullable {
				t.Errorf("%s.%s may be NULL: then a cut does not know when the row happens", s.Name, c.Name)
			}
			if strings.HasPrefix(c.Name, "is_") && c.Type != table.TypeBool {
				t.Errorf("%s.%s is %s, want bool", s.Name, c.Name, c.Type)
			}
			if ref, ok := map[string]string{"utid": "thread", "upid": "process", "ucpu": "cpu"}[c.Name]; ok && !c.Row && c.Ref != ref {
				t.Errorf("%s.%s refers to %q, want %s", s.Name, c.Name, c.Ref, ref)
			}
		}
	}
}

// Tables that grow with the trace must not be held in memory.
func TestLargeTablesAreNotHeld(t *testing.T) {
	large := []string{"slice", "counter", "args", "flow", "sched_slice", "thread_state", "ftrace_event",
		"android_logs", "stack_sample", "heap_graph_object", "import_log"}
	for _, name := range large {
		if schemaOf(name).Held {
			t.Errorf("%s is held", name)
		}
	}
}

func TestFieldsAreNamedLikeTheirTypes(t *testing.T) {
	for field := range reflect.TypeFor[Tables]().Fields() {
		if field.Name != field.Type.Name() {
			t.Errorf("Tables.%s is a %s", field.Name, field.Type.Name())
		}
	}
}

func schemaOf(name string) *table.Schema {
	all := All()
	if i := slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}
