package perfettosql

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// ownModules are the modules that exist without a folder of modules.
var ownModules = func() fs.FS {
	sub, err := fs.Sub(modules, "modules")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}()

//go:embed modules
var modules embed.FS

// isOwn reports whether a module exists without a folder of modules.
func isOwn(name string) bool {
	_, err := fs.Stat(ownModules, strings.ReplaceAll(name, ".", "/")+".sql")
	return err == nil
}

// include runs INCLUDE PERFETTO MODULE name.
func (e *Engine) include(sql string, tokens []sqltext.Token) error {
	r := &reader{source: sql, tokens: tokens}
	if !r.accept("INCLUDE", "PERFETTO", "MODULE") {
		r.at = 2
		return r.unexpected()
	}
	at := r.peek().Pos
	var name strings.Builder
	for r.peek().Kind != sqltext.End {
		name.WriteString(r.next().Text)
	}
	if err := e.includeModule(name.String()); err != nil {
		return &sqltext.Error{Pos: at, Message: err.Error(), Cause: err}
	}
	return nil
}

// includeModule runs a module, or all modules below a.b for a.b.*, unless they were included before.
func (e *Engine) includeModule(name string) error {
	if strings.HasPrefix(name, "prelude.") {
		return nil
	}
	if e.options.Modules == nil && !isOwn(name) {
		return fmt.Errorf("module %s: --stdlib must name a folder of Perfetto's modules, or \"tpconvert stdlib fetch\" download them", name)
	}
	path := strings.ReplaceAll(name, ".", "/")
	if folder, all := strings.CutSuffix(path, "*"); all {
		return e.includeAll(strings.Trim(folder, "/"))
	}
	if slices.Contains(e.including, name) {
		return fmt.Errorf("module %s includes itself, by %s", name, strings.Join(e.including, " and "))
	}
	if failed, known := e.included[name]; known {
		return failed
	}
	source, err := []byte(nil), fs.ErrNotExist
	if e.options.Modules != nil {
		source, err = fs.ReadFile(e.options.Modules, path+".sql")
	}
	if err != nil {
		source, err = fs.ReadFile(ownModules, path+".sql")
	}
	if err != nil {
		return fmt.Errorf("there is no module %s in the folder of --stdlib", name)
	}
	e.including = append(e.including, name)
	err = e.runModule(name, string(source))
	e.including = e.including[:len(e.including)-1]
	e.included[name] = err
	return err
}

func (e *Engine) includeAll(folder string) error {
	if folder == "" {
		folder = "."
	}
	return fs.WalkDir(e.options.Modules, folder, func(path string, entry fs.DirEntry, err error) error {
		name, module := strings.CutSuffix(path, ".sql")
		if err != nil || entry.IsDir() || !module {
			return err
		}
		if err = e.includeModule(strings.ReplaceAll(name, "/", ".")); errors.Is(err, functions.ErrNoCurves) {
			return nil // who includes all does not ask for this one; alone, it fails
		}
		return err
	})
}

// runModule runs the statements of a module.
func (e *Engine) runModule(name, source string) error {
	statements, err := sqltext.Split(source)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, one := range statements {
		err := e.run(one.Text, func(*Rows) error { return fmt.Errorf("a module cannot give rows") }, false)
		if err != nil {
			err = shifted(err, one.Pos)
			pos := one.Pos
			if bad, ok := err.(*sqltext.Error); ok {
				pos = bad.Pos
			}
			return fmt.Errorf("module %s, line %d: %w", name, 1+strings.Count(source[:min(pos, len(source))], "\n"), err)
		}
	}
	return nil
}
