package schema

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

var writeDocs = flag.Bool("docs", false, "write docs/tables.md")

func TestDocsAreCurrent(t *testing.T) {
	const path = "../../docs/tables.md"
	var want bytes.Buffer
	if err := WriteDocs(&want); err != nil {
		t.Fatal(err)
	}
	if *writeDocs {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not current: run go test ./model/schema -docs", path)
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

// changed lists columns of Trace Processor v58 that are not as they were there.
var changed = map[string]bool{
	"profiler_sample.task_context_id":      true, // flattened
	"profiler_sample.execution_context_id": true, // flattened
	"cpu.cpu":                              true, // only CPUs with a number have a row
	"gpu.gpu":                              true, // only GPUs with a number have a row
}

// testdata/tables_v58.txt lists the tables of Trace Processor v58 and their
// columns, with a question mark where a value can be absent.
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

// What the dataset promises of every table of some kind.
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
