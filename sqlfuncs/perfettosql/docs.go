package perfettosql

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// objectColumns are the columns of __intrinsic_stdlib_objects.
var objectColumns = func() (all []dataframe.Spec) {
	for _, name := range strings.Fields(`id package module name qualified_name object_type exposed short_description summary
		description return_type return_description args cols`) {
		kind := dataframe.Text
		if name == "id" || name == "exposed" {
			kind = dataframe.Integer
		}
		all = append(all, dataframe.Spec{Name: name, Kind: kind})
	}
	return all
}()

// Objects are the modules and what they define, in memory that sessions share until the process ends. They are read when they are
// first needed. Any goroutine may use them.
type Objects struct {
	mu  sync.Mutex
	all *dataframe.Frame
}

// Documented are modules whose objects sessions share.
type Documented interface {
	fs.FS
	// Objects returns the objects of the modules, or nil if the modules change while a session runs.
	Objects() *Objects
	// Package returns the name of the package that a file belongs to.
	Package(file string) string
}

// read reads the objects unless it was done before. An error is not kept.
func (o *Objects) read(modules fs.FS) (*dataframe.Frame, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all != nil {
		return o.all, nil
	}
	all, err := readObjects(dataframe.NewPool(), modules)
	if err == nil {
		o.all = all
	}
	return all, err
}

// defineDocs defines the function of the objects that modules define.
func (e *Engine) defineDocs() error {
	const name = "__intrinsic_stdlib_objects"
	f := &dataframe.Function{Name: name, Columns: objectColumns, Rows: func([]sqlite.Value) (*dataframe.Frame, error) {
		all, err := e.objects()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return all, nil
	}}
	return f.Define(e.db)
}

func (e *Engine) objects() (*dataframe.Frame, error) {
	if d, ok := e.options.Modules.(Documented); ok {
		if shared := d.Objects(); shared != nil {
			return shared.read(d)
		}
	}
	return readObjects(e.pool, e.options.Modules)
}

// readObjects returns the modules, each followed by its objects. There are none without modules.
func readObjects(pool *dataframe.Pool, modules fs.FS) (*dataframe.Frame, error) {
	b := dataframe.NewBuilder(pool, objectColumns...)
	if modules == nil {
		return b.Frame(), nil
	}
	var files []string
	err := fs.WalkDir(modules, ".", func(file string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(file, ".sql") && strings.Contains(file, "/") {
			files = append(files, file)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	n := int64(0)
	for _, read := range eachModule(modules, files) {
		if read.err != nil {
			return nil, read.err
		}
		for _, row := range read.rows {
			b.Int(0, n)
			n++
			for i, v := range row {
				if err := b.Any(i+1, v); err != nil {
					return nil, err
				}
			}
		}
	}
	return b.Frame(), nil
}

// moduleRows are the rows of a module.
type moduleRows struct {
	rows [][]any
	err  error
}

// eachModule reads modules on all processors but one, which is left to others, and returns their rows in order.
func eachModule(modules fs.FS, files []string) []moduleRows {
	all := make([]moduleRows, len(files))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
				all[i].rows, all[i].err = readModule(modules, files[i])
			}
		})
	}
	readers.Wait()
	return all
}

func readModule(modules fs.FS, file string) (rows [][]any, err error) {
	source, err := fs.ReadFile(modules, file)
	if err != nil {
		return nil, err
	}
	pack, _, _ := strings.Cut(file, "/")
	if d, ok := modules.(Documented); ok {
		pack = d.Package(file)
	}
	name := strings.ReplaceAll(strings.TrimSuffix(file, ".sql"), "/", ".")
	for _, d := range append([]*documented{{name: name, kind: "MODULE"}}, documentedIn(string(source))...) {
		d.pack, d.module = pack, name
		rows = append(rows, d.row())
	}
	return rows, nil
}

// documented is a module, or an object of one with the comments about it.
type documented struct {
	pack, module, name string
	kind               string
	about              string
	returns            string
	aboutReturn        string
	args, columns      []documentedField
}

// documentedField is an argument or a column.
type documentedField struct {
	Name, Type, About string
}

// row returns the values of objectColumns after id.
func (d *documented) row() []any {
	exposed, qualified := int64(1), d.module
	if d.kind != "MODULE" {
		qualified += "." + d.name
		if strings.HasPrefix(d.name, "_") {
			exposed = 0
		}
	}
	short := d.about
	if n := 160; len(short) > n {
		for n > 0 && !utf8.RuneStart(short[n]) {
			n--
		}
		short = short[:n]
	}
	return []any{d.pack, d.module, d.name, qualified, d.kind, exposed, short, d.summary(qualified, exposed == 1),
		d.about, d.returns, d.aboutReturn, fieldsJSON(d.args), fieldsJSON(d.columns)}
}

var wordsOf = strings.NewReplacer(".", " ", "_", " ")

// summary returns a text to search in.
func (d *documented) summary(qualified string, exposed bool) string {
	var b strings.Builder
	b.Grow(2*len(d.about) + 512)
	b.WriteString("Package: " + d.pack + "\nModule: " + d.module)
	if d.kind != "MODULE" {
		b.WriteString("\nName: " + d.name)
	}
	aliases := d.pack + " " + d.module
	if d.name != d.module {
		aliases += " " + d.name
	}
	access := "internal"
	if exposed {
		access = "public"
	}
	b.WriteString("\nQualified name: " + qualified + "\nSearch aliases: " + wordsOf.Replace(aliases) + "\nKind: " + access + " " + d.kind)
	after := func(head, text string) {
		if text != "" {
			b.WriteString(head + text)
		}
	}
	list := func(head string, all []documentedField) {
		if len(all) > 0 {
			b.WriteString("\n" + head + ":")
		}
		for _, f := range all {
			b.WriteString("\n- " + f.Name + " (" + f.Type + ")")
			after(": ", f.About)
		}
	}
	after("\nDescription: ", d.about)
	list("Arguments", d.args)
	if d.returns != "" {
		b.WriteString("\nReturns: " + d.returns)
		after(": ", d.aboutReturn)
	}
	list("Columns", d.columns)
	return b.String()
}

// fieldsJSON returns fields as a JSON array.
func fieldsJSON(all []documentedField) string {
	to := []byte{'['}
	for i, f := range all {
		if i > 0 {
			to = append(to, ',')
		}
		to = functions.AppendJSONText(append(to, `{"name":`...), f.Name)
		to = functions.AppendJSONText(append(to, `,"type":`...), f.Type)
		to = append(functions.AppendJSONText(append(to, `,"description":`...), f.About), '}')
	}
	return string(append(to, ']'))
}

// documentedIn returns the objects that a module's source defines: tables and views, then functions, then macros. There
// are none if it is invalid.
func documentedIn(source string) []*documented {
	tokens, err := sqltext.Tokenize(source)
	if err != nil {
		return nil
	}
	var byKind [3][]*documented
	for i := 0; i < len(tokens); i++ {
		r := docReader{reader{source: source, tokens: tokens, at: i}}
		if d, group := r.statement(); d != nil {
			byKind[group] = append(byKind[group], d)
		}
		for i = max(i, r.at); i < len(tokens) && !tokens[i].Is(";"); i++ {
		}
	}
	return append(append(byKind[0], byKind[1]...), byKind[2]...)
}

// docReader reads the head of a statement.
type docReader struct{ reader }

// statement reads a CREATE PERFETTO statement. The group is 0 for tables and views, 1 for functions and 2 for macros.
func (r *docReader) statement() (d *documented, group int) {
	d = &documented{about: r.comments(true)}
	if !r.accept("CREATE") {
		return nil, 0
	}
	r.accept("OR", "REPLACE")
	if !r.accept("PERFETTO") {
		return nil, 0
	}
	switch {
	case r.accept("TABLE"):
		d.kind = "TABLE"
	case r.accept("VIEW"):
		d.kind = "VIEW"
	case r.accept("FUNCTION"):
		d.kind, group = "FUNCTION", 1
	case r.accept("MACRO"):
		d.kind, group = "MACRO", 2
	default:
		return nil, 0
	}
	name, err := r.name()
	if err != nil {
		return nil, 0
	}
	d.name = name.Text
	if group == 0 {
		d.columns = r.fields()
		return d, group
	}
	d.args = r.fields()
	d.aboutReturn = r.comments(false)
	if !r.accept("RETURNS") {
		return d, group
	}
	if about := r.comments(false); about != "" && d.kind == "FUNCTION" {
		d.aboutReturn = about
	}
	if d.kind == "FUNCTION" && r.accept("TABLE") {
		d.kind, d.returns = "TABLE_FUNCTION", "TABLE"
		d.columns = r.fields()
		return d, group
	}
	d.returns = r.until("AS", "DELEGATES", ";")
	return d, group
}

// fields reads a list of arguments or columns, if there is one.
func (r *docReader) fields() (all []documentedField) {
	if !r.accept("(") {
		return nil
	}
	for r.peek().Kind != sqltext.End && !r.accept(")") {
		f := documentedField{About: r.comments(false)}
		f.Name = r.next().Text
		f.Type = r.until(",", ")")
		all = append(all, f)
		r.accept(",")
	}
	return all
}

// until moves to one of the words outside parentheses, and returns the source on the way.
func (r *docReader) until(words ...string) string {
	from, depth := r.at, 0
	for ; r.peek().Kind != sqltext.End; r.at++ {
		t := r.peek()
		if depth == 0 && slices.ContainsFunc(words, t.Is) {
			break
		}
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
	}
	if r.at == from {
		return ""
	}
	return r.source[r.tokens[from].Pos:r.tokens[r.at-1].End]
}

// comments returns the line comments before the next token or, if block is set, only those after the last blank line
// between them.
func (r *docReader) comments(block bool) string {
	from := 0
	if r.at > 0 {
		from = r.tokens[r.at-1].End
	}
	var found []string
	blank := false
	for line := range strings.Lines(r.source[from:r.peek().Pos]) {
		line = strings.TrimSpace(line)
		comment, ok := strings.CutPrefix(line, "--")
		switch {
		case ok:
			if block && blank {
				found = nil
			}
			blank = false
			if comment = strings.TrimSpace(comment); comment != "" {
				found = append(found, comment)
			}
		case line == "":
			blank = true
		}
	}
	return strings.Join(found, " ")
}
