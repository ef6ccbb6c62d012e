package perfettosql

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// objectNames has a line for each module of Perfetto: its name, and those of what it makes for others, and of all its macros.
//
//go:embed objects.txt
var objectNames string

// makers are the modules by the lower-case names of what they make.
var makers = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(objectNames) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			all[name] = words[0]
		}
	}
	return all
})

// ModuleOf returns the module of Perfetto that makes a table, view, function or macro, or "".
func ModuleOf(name string) string { return makers()[strings.ToLower(name)] }

// hinted adds to an error about a missing table or function what makes it, or a similar name.
func (e *Engine) hinted(err error) error {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return err
	}
	what, name, ok := strings.Cut(failure.Message, ": ")
	if !ok {
		return err
	}
	name = strings.TrimPrefix(name, "main.")
	switch what {
	case "no such table":
		failure.Message += e.hint(name, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", true)
	case "no such function":
		failure.Message += e.hint(name, "SELECT name FROM pragma_function_list", false)
	}
	return err
}

// hint says which module makes a name, or which name of a query, and of the modules' if told so, is similar.
func (e *Engine) hint(name, known string, modules bool) string {
	if module := ModuleOf(name); module != "" {
		return madeBy(module)
	}
	best := nearest{name: strings.ToLower(name)}
	if modules {
		for other := range makers() {
			best.offer(other)
		}
	}
	if stmt, _, err := e.db.Prepare(known); err == nil {
		defer stmt.Close()
		for more, err := stmt.Step(); more && err == nil; more, err = stmt.Step() {
			best.offer(stmt.Text(0))
		}
	}
	for _, name := range e.waits {
		best.offer(name)
	}
	return best.hint()
}

func madeBy(module string) string {
	return fmt.Sprintf(": INCLUDE PERFETTO MODULE %s makes it", module)
}

// noMacro is the error for a macro that does not exist.
func (e *Engine) noMacro(call sqltext.Token) error {
	hint := ""
	if module := ModuleOf(call.Text); module != "" {
		hint = madeBy(module)
	} else {
		best := nearest{name: strings.ToLower(call.Text)}
		for name := range e.macros {
			best.offer(name)
		}
		for name := range makers() {
			best.offer(name)
		}
		hint = best.hint()
	}
	return sqltext.ErrorAt(call.Pos, "there is no macro %s%s", call.Text, hint)
}

// nearest is the known name with the fewest changes to a wrong one.
type nearest struct {
	name    string
	best    string
	changes int
}

// offer takes a name if few letters differ, and fewer than in others.
func (n *nearest) offer(name string) {
	name = strings.ToLower(name)
	limit := (len(n.name) + 2) / 4
	if n.best != "" {
		limit = n.changes
	}
	if len(name)-len(n.name) > limit || len(n.name)-len(name) > limit {
		return
	}
	if d := changes(n.name, name); d < limit || d == limit && (n.best == "" || name < n.best) {
		n.best, n.changes = name, d
	}
}

func (n *nearest) hint() string {
	if n.best == "" {
		return ""
	}
	if module := ModuleOf(n.best); module != "" {
		return fmt.Sprintf(": did you mean %s of module %s?", n.best, module)
	}
	return fmt.Sprintf(": did you mean %s?", n.best)
}

// changes is the number of letters to insert, remove or replace in a name to make it another.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
