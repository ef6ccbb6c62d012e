package perfettosql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// object is a table, view or function of a module. It is created when a statement first names it, because most statements
// need few objects of the modules that they include.
type object struct {
	statement Statement
	module    *module
	done      bool // it was created, or cannot be
	err       error
}

// module is the source of a module.
type module struct{ name, source string }

// include reads a module if it has not been read yet, or all modules below a.b for a.b.*.
func (s *Session) include(ctx context.Context, name string, at token) error {
	if strings.HasPrefix(name, "prelude.") || builtin[name] {
		return nil
	}
	failed, again := s.included[name]
	if !again {
		s.included[name] = nil
		failed = s.read(ctx, name, at)
		s.included[name] = failed
	}
	return failed
}

// read runs the statements of a module, except those that define an object.
func (s *Session) read(ctx context.Context, name string, at token) error {
	if s.Modules == nil {
		return failAt(at.pos, "module %s: --stdlib must name a folder of Perfetto's modules, or \"tpconvert stdlib fetch\" download them", name)
	}
	path := strings.ReplaceAll(name, ".", "/")
	if folder, all := strings.CutSuffix(path, "/*"); all || name == "*" {
		return s.includeAll(ctx, strings.TrimSuffix(folder, "*"), at)
	}
	source, err := fs.ReadFile(s.Modules, path+".sql")
	if err != nil {
		return failAt(at.pos, "there is no module %s in the folder of --stdlib", name)
	}
	m := &module{name, string(source)}
	statements, err := Split(m.source)
	if err != nil {
		return failAt(at.pos, "module %s: %v", name, err)
	}
	for _, statement := range statements {
		tokens, err := tokenize(statement.Text)
		if err != nil {
			return failAt(at.pos, "%s", m.failure(statement, err))
		}
		if name := definedName(tokens); name != "" {
			name = strings.ToLower(name)
			s.defined[name] = append(s.defined[name], &object{statement: statement, module: m})
			continue
		}
		query, err := s.Run(ctx, statement.Text)
		if err == nil && query != nil { // nobody sees the rows
			if _, err = s.Describe(ctx, query.SQL); err != nil {
				err = query.Place(err)
			}
		}
		if err != nil {
			return failAt(at.pos, "%s", m.failure(statement, err))
		}
	}
	return nil
}

func (s *Session) includeAll(ctx context.Context, folder string, at token) error {
	root := strings.Trim(folder, "/")
	if root == "" {
		root = "."
	}
	return fs.WalkDir(s.Modules, root, func(path string, e fs.DirEntry, err error) error {
		name, module := strings.CutSuffix(path, ".sql")
		if err != nil || e.IsDir() || !module {
			return err
		}
		return s.include(ctx, strings.ReplaceAll(name, "/", "."), at)
	})
}

// failure says where in the module a statement fails.
func (m *module) failure(statement Statement, err error) string {
	pos := statement.Pos
	var bad *Error
	if errors.As(err, &bad) {
		pos += bad.Pos
	}
	line := 1 + strings.Count(m.source[:min(pos, len(m.source))], "\n")
	return fmt.Sprintf("module %s, line %d: %v", m.name, line, err)
}

// definedName returns the name of the table, view or function that a statement only defines, or "".
func definedName(tokens []token) string {
	if !tokens[0].is("CREATE") {
		return ""
	}
	for i, t := range tokens[:min(len(tokens), 6)] {
		switch {
		case t.is("MACRO"), t.is("INDEX"):
			return ""
		case t.is("TABLE"), t.is("VIEW"), t.is("FUNCTION"):
			if tokens[i+1].is("IF") {
				i += 3
			}
			delegates := slices.ContainsFunc(tokens, func(t token) bool { return t.is("DELEGATES") })
			if i+1 < len(tokens) && !delegates {
				return tokens[i+1].text
			}
		}
	}
	return ""
}

// define creates the objects of modules that a statement names, also in text. Objects that it only seems to name do no
// harm. The error is that of the first that cannot be created, and matters if the statement fails.
func (s *Session) define(ctx context.Context, tokens []token) (broken error) {
	if len(s.defined) == 0 {
		return nil
	}
	for _, t := range tokens {
		if t.kind != word && t.kind != quoted && t.kind != text {
			continue
		}
		for name := range sqlfuncs.Words(t.text) {
			if name == "sqlite_master" || name == "sqlite_schema" {
				s.defineAll(ctx)
			}
			if to, ok := s.delegates[name]; ok {
				name = to
			}
			for _, o := range s.defined[name] {
				if err := o.create(ctx, s); err != nil && broken == nil {
					broken = &Error{t.pos, o.module.failure(o.statement, err)}
				}
			}
		}
	}
	return broken
}

// defineAll creates all objects of modules, as far as they can be created.
func (s *Session) defineAll(ctx context.Context) {
	for _, objects := range s.defined {
		for _, o := range objects {
			_ = o.create(ctx, s)
		}
	}
}

func (o *object) create(ctx context.Context, s *Session) error {
	if !o.done {
		o.done = true
		_, o.err = s.Run(ctx, o.statement.Text)
	}
	return o.err
}

// redefines reports whether a statement that is not the module's changes an object of a module.
func (s *Session) redefines(text, name string) bool {
	objects := s.defined[strings.ToLower(strings.Trim(name, `"`))]
	return objects != nil && !slices.ContainsFunc(objects, func(o *object) bool { return o.statement.Text == text })
}
