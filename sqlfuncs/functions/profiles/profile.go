package profiles

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// profileFunction is the name of the aggregate that returns a profile in pprof's format.
const profileFunction = "experimental_profile"

func defineProfile(d *define.Definer, loadCallsites func() (*callsiteTable, error), loadLines func() (*lineTable, error)) {
	d.Aggregate(profileFunction, -1, func() sqlite.Aggregate {
		return &profileAggregate{begin: func() (*profileBuilder, error) {
			callsites, err := loadCallsites()
			if err != nil {
				return nil, err
			}
			lines, err := loadLines()
			if err != nil {
				return nil, err
			}
			return newProfileBuilder(callsites, lines), nil
		}}
	})
}

// profileAggregate adds up samples. Its arguments are a stack and, for each value of a sample, its type, unit and number; a
// stack alone counts 1.
type profileAggregate struct {
	begin   func() (*profileBuilder, error)
	builder *profileBuilder // nil before the first row
	values  []int64
}

func (p *profileAggregate) Step(args []sqlite.Value) error {
	if err := p.add(args); err != nil {
		return fmt.Errorf("%s: %w", profileFunction, err)
	}
	return nil
}

func (p *profileAggregate) add(args []sqlite.Value) error {
	if len(args)%3 != 1 {
		return errors.New("the arguments are a stack and then types, units and values of samples")
	}
	if p.builder == nil {
		b, err := p.begin()
		if err != nil {
			return err
		}
		for i := 1; i < len(args); i += 3 {
			if args[i].Type() != sqlite.TextOf || args[i+1].Type() != sqlite.TextOf {
				return errors.New("types and units of samples must be texts")
			}
			b.SampleType = append(b.SampleType, &profile.ValueType{Type: args[i].Text(), Unit: args[i+1].Text()})
		}
		if len(args) == 1 {
			b.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}}
			p.values = []int64{1}
		}
		p.builder = b
	}
	if len(args) > 1 {
		p.values = p.values[:0]
		for i := 3; i < len(args); i += 3 {
			if args[i].Type() != sqlite.Integer {
				return errors.New("values of samples must be integers")
			}
			p.values = append(p.values, args[i].Int())
		}
	}
	if args[0].Type() != sqlite.Blob {
		return errors.New("the stack must be a BLOB")
	}
	entries, err := readStack(args[0].Blob())
	if err != nil || len(entries) == 0 {
		return err
	}
	return p.builder.add(entries, p.values)
}

func (p *profileAggregate) Result(c sqlite.Context) error {
	if p.builder == nil {
		return nil
	}
	p.builder.putProgramFirst()
	var out bytes.Buffer
	if err := p.builder.WriteUncompressed(&out); err != nil {
		return fmt.Errorf("%s: %w", profileFunction, err)
	}
	c.Blob(out.Bytes())
	return nil
}

// lineTable has the lines of functions.
type lineTable struct {
	symbols  map[int64][]sourceLine // by symbol_set_id, the innermost function first
	compiled map[int64]sourceLine   // functions that V8 compiled, by frame
}

// sourceLine is a line of a function.
type sourceLine struct {
	function, file string
	line           int64
	known          bool // the line is
}

func readLines(tables dataframe.Source) (*lineTable, error) {
	t := &lineTable{symbols: map[int64][]sourceLine{}, compiled: map[int64]sourceLine{}}
	var set, name, file, line dataframe.Reader
	f, err := define.Columns(tables, "stack_profile_symbol", define.Readers{
		"symbol_set_id": &set, "name": &name, "source_file": &file, "line_number": &line,
	})
	if err != nil {
		return nil, err
	}
	for row := range f.Rows {
		t.symbols[set.Int(row)] = append(t.symbols[set.Int(row)], sourceLine{name.Text(row), file.Text(row), line.Int(row), !line.IsNull(row)})
	}
	code, err := readCompiled(tables)
	if err != nil {
		return nil, err
	}
	var jit, frame dataframe.Reader
	f, err = define.Columns(tables, "jit_frame", define.Readers{"jit_code_id": &jit, "frame_id": &frame})
	if err != nil {
		return nil, err
	}
	for row := range f.Rows {
		if _, known := t.compiled[frame.Int(row)]; !known {
			if l, ok := code[jit.Int(row)]; ok {
				t.compiled[frame.Int(row)] = l
			}
		}
	}
	return t, nil
}

// readCompiled returns the lines of the functions that V8 compiled, by jit_code_id.
func readCompiled(tables dataframe.Source) (map[int64]sourceLine, error) {
	code := map[int64]sourceLine{}
	var id, function, tier, name, line, column, script, file dataframe.Reader
	scripts := define.RowsByID{}
	f, err := define.Columns(tables, "v8_js_script", define.Readers{"id": &scripts.ID, "name": &file})
	if err != nil {
		return nil, err
	}
	scripts.Rows = f.Rows
	functions := define.RowsByID{}
	f, err = define.Columns(tables, "v8_js_function", define.Readers{
		"id": &functions.ID, "name": &name, "line": &line, "col": &column, "v8_js_script_id": &script,
	})
	if err != nil {
		return nil, err
	}
	functions.Rows = f.Rows
	f, err = define.Columns(tables, "v8_js_code", define.Readers{"jit_code_id": &id, "v8_js_function_id": &function, "tier": &tier})
	if err != nil {
		return nil, err
	}
	for row := range f.Rows {
		at := functions.Find(function.Int(row))
		if at < 0 {
			continue
		}
		l := sourceLine{line: line.Int(at)}
		if s := scripts.Find(script.Int(at)); s >= 0 {
			l.file = file.Text(s)
		}
		called := name.Text(at)
		if called == "" {
			called = "(anonymous)"
		}
		l.function = fmt.Sprintf("JS: %s:%d:%d [%s]", called, line.Int(at), column.Int(at), tier.Text(row))
		code[id.Int(row)] = l
	}
	for _, other := range []struct{ table, column, prefix string }{
		{"v8_wasm_code", "function_name", "WASM: "}, {"v8_regexp_code", "pattern", "REGEXP: "}, {"v8_internal_code", "function_name", "V8: "},
	} {
		f, err := define.Columns(tables, other.table, define.Readers{"jit_code_id": &id, other.column: &name})
		if err != nil {
			return nil, err
		}
		for row := range f.Rows {
			if _, known := code[id.Int(row)]; !known {
				code[id.Int(row)] = sourceLine{function: other.prefix + name.Text(row)}
			}
		}
	}
	return code, nil
}
