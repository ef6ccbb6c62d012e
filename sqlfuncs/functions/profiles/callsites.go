package profiles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// callsiteColumns are the columns of stack_profile_callsite.
var callsiteColumns = define.Specs("id, depth, parent_id, frame_id")

// callsiteTable has the callsites of stacks, and the frames and mappings that they are in.
type callsiteTable struct {
	frame                           *dataframe.Frame
	byID, frames, mappings          define.RowsByID
	depth, parent, of               dataframe.Reader
	function, deobfuscated          dataframe.Reader // names of a frame
	mapping, address, symbols       dataframe.Reader // of a frame
	file, build, start, end, offset dataframe.Reader // of a mapping

	annotations map[int]annotation // by row
}

func readCallsites(tables dataframe.Source) (*callsiteTable, error) {
	t := &callsiteTable{annotations: map[int]annotation{}}
	var err error
	t.frame, err = define.Columns(tables, "stack_profile_callsite", define.Readers{
		"id": &t.byID.ID, "depth": &t.depth, "parent_id": &t.parent, "frame_id": &t.of,
	})
	if err != nil {
		return nil, err
	}
	for i, c := range callsiteColumns {
		if i >= len(t.frame.Columns) || t.frame.Columns[i].Name != c.Name {
			return nil, fmt.Errorf("column %d of stack_profile_callsite is not %s", i, c.Name)
		}
	}
	frames, err := define.Columns(tables, "stack_profile_frame", define.Readers{
		"id": &t.frames.ID, "name": &t.function, "deobfuscated_name": &t.deobfuscated, "mapping": &t.mapping, "rel_pc": &t.address,
		"symbol_set_id": &t.symbols,
	})
	if err != nil {
		return nil, err
	}
	mappings, err := define.Columns(tables, "stack_profile_mapping", define.Readers{
		"id": &t.mappings.ID, "name": &t.file, "build_id": &t.build, "start": &t.start, "end": &t.end, "exact_offset": &t.offset,
	})
	if err != nil {
		return nil, err
	}
	t.byID.Rows, t.frames.Rows, t.mappings.Rows = t.frame.Rows, frames.Rows, mappings.Rows
	return t, nil
}

// parentOf returns the row of a callsite's parent, or -1.
func (t *callsiteTable) parentOf(row int) int {
	if t.parent.IsNull(row) {
		return -1
	}
	return t.byID.Find(t.parent.Int(row))
}

// runtimeState is what the callsites above say about frames of Android's runtime.
type runtimeState uint8

const (
	outsideRuntime runtimeState = iota // no managed code above
	insideRuntime                      // frames of the runtime are only its machinery
	calledNatively                     // the next frame is a method's native implementation, even in the runtime
)

// annotation is what is known of a callsite's frame, or "", and the state for the callsites below.
type annotation struct {
	text  string
	below runtimeState
}

// annotation returns that of a callsite.
func (t *callsiteTable) annotation(row int) (annotation, error) {
	if a, ok := t.annotations[row]; ok {
		return a, nil
	}
	above, err := define.Ancestors(row, t.parentOf)
	if err != nil {
		return annotation{}, err
	}
	var a annotation
	for _, at := range append(above, uint32(row)) {
		known, ok := t.annotations[int(at)]
		if !ok {
			var function, file string
			if f := t.frames.Find(t.of.Int(int(at))); f >= 0 {
				function = t.function.Text(f)
				if m := t.mappings.Find(t.mapping.Int(f)); m >= 0 {
					file = t.file.Text(m)
				}
			}
			known = annotate(function, file, a.below)
			t.annotations[int(at)] = known
		}
		a = known
	}
	return a, nil
}

// annotate says how Android's runtime executes a function of a file.
func annotate(function, file string, state runtimeState) annotation {
	switch {
	case state == calledNatively:
		return annotation{"", insideRuntime}
	case function == "art_jni_trampoline":
		return annotation{"common-frame", calledNatively}
	}
	kind := mappingKind(file)
	switch {
	case kind == "":
		return annotation{"", state}
	case kind != runtimeLibrary:
		return annotation{kind, insideRuntime}
	case state == outsideRuntime:
		return annotation{"", state}
	case hasAnyPrefix(function, "nterp_", "Nterp", "ExecuteNterp", "ExecuteSwitchImpl", "_ZN3art11interpreter"):
		return annotation{"common-frame-interp", state}
	}
	return annotation{"common-frame", state}
}

const runtimeLibrary = "libart"

// mappingKind returns how a mapping's managed code is executed, runtimeLibrary, or "".
func mappingKind(name string) string {
	if hasAnyPrefix(name, "/memfd:jit-cache", "/memfd:jit-zygote-cache") {
		return "jit"
	}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 && hasAnyPrefix(name[slash:], "/libart.so", "/libartd.so") {
		return runtimeLibrary
	}
	dot := strings.LastIndexByte(name, '.')
	switch {
	case dot < 0:
		return ""
	case hasAnyPrefix(name[dot:], ".dex", ".vdex", ".jar", ".apk"):
		return "interp"
	case hasAnyPrefix(name[dot:], ".oat", ".odex"):
		return "aot"
	}
	return ""
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

func defineCallsites(d *define.Definer, load func() (*callsiteTable, error)) {
	const above = "experimental_ancestor_stack_profile_callsite"
	d.Rows(&dataframe.Function{Name: above, Columns: callsiteColumns, Args: []string{"_fn_arg0"},
		Pick: func(args []sqlite.Value) (*dataframe.Frame, []uint32, error) {
			t, err := load()
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", above, err)
			}
			row, err := define.StartRow(above, "callsite", t.byID, args[0])
			if row < 0 || err != nil {
				return t.frame, nil, err
			}
			rows, err := define.Ancestors(row, t.parentOf)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", above, err)
			}
			return t.frame, rows, nil
		}})
	const annotated = "experimental_annotated_callstack"
	shape := define.Specs("id, depth, parent_id, frame_id, annotation text")
	d.Rows(&dataframe.Function{Name: annotated, Columns: shape, Args: []string{"_fn_arg0"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			t, err := load()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", annotated, err)
			}
			b := dataframe.NewBuilder(d.Tables.Pool(), shape...)
			row, err := define.StartRow(annotated, "callsite", t.byID, args[0])
			if row < 0 || err != nil {
				return b.Frame(), err
			}
			rows, err := define.Ancestors(row, t.parentOf)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", annotated, err)
			}
			for _, at := range slices.Backward(append(rows, uint32(row))) { // the leaf first
				for i, r := range []dataframe.Reader{t.byID.ID, t.depth, t.parent, t.of} {
					if err := b.Any(i, r.Any(int(at))); err != nil {
						return nil, err
					}
				}
				a, err := t.annotation(int(at))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", annotated, err)
				}
				if a.text == "" {
					b.Null(len(callsiteColumns))
				} else {
					b.Text(len(callsiteColumns), a.text)
				}
			}
			return b.Frame(), nil
		}})
}
