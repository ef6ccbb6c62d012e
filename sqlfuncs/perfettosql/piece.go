package perfettosql

import "strings"

// piece is a word of translated SQL. Each stands on a line of its own, so that DuckDB's errors name it.
type piece struct {
	text  string
	check string     // in its place where types are checked more strictly than DuckDB does by itself
	pos   int        // byte offset in the source, -1 if nothing there corresponds to it
	kind  kind       // quoted if it may have to become text, word for other names of columns
	name  string     // of the column of the result that it is, if nothing else names that
	in    *selection // whose column it is, nil if it is none
	using *using     // that it is the column of
	args  []argument // of what needs them to have one type: a call, CASE or a comparison
}

// argument is the place of an argument or a branch, where it can be given another type.
type argument struct {
	before, after *piece
	wrap          [2]string // the words that give it one
}

// using is USING with one column.
type using struct {
	open  *piece
	table string // that is joined
}

// become puts an expression in the place of a column.
func (p *piece) become(text string) {
	p.text, p.kind, p.in = text, end, nil
	if p.name != "" {
		p.text += " AS " + identifier(p.name)
	}
}

// pieces is translated SQL.
type pieces []*piece

// cat joins strings, pieces and SQL.
func cat(parts ...any) pieces {
	var all pieces
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			all = append(all, &piece{text: part, pos: -1})
		case *piece:
			all = append(all, part)
		case pieces:
			all = append(all, part...)
		}
	}
	return all
}

// list joins SQL with commas.
func list(items []pieces) pieces { return join(items, ",") }

func join(items []pieces, between string) pieces {
	var all pieces
	for i, item := range items {
		if i > 0 {
			all = append(all, cat(between)...)
		}
		all = append(all, item...)
	}
	return all
}

// String is the SQL, a piece a line.
func (s pieces) String() string { return s.lines(false) }

// strict is SQL that DuckDB refuses if it compares text with numbers. It casts text beside = and IN to a number, and fails
// only when it runs; beside < it objects at once.
func (s pieces) strict() string { return s.lines(true) }

func (s pieces) lines(strict bool) string {
	var b strings.Builder
	for i, p := range s {
		if i > 0 {
			b.WriteByte('\n')
		}
		text := p.text
		if strict && p.check != "" {
			text = p.check
		}
		b.WriteString(strings.ReplaceAll(text, "\n", `\n`))
	}
	return b.String()
}

// identifier is a name in quotes: DuckDB reserves other words than SQLite.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal is text in quotes. An escape keeps it on one line.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.ContainsAny(text, "\n\r") {
		quoted = "E" + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(quoted)
	}
	return quoted
}

// What gives arguments of several types one.
var (
	asVariant = [2]string{"(", ")::VARIANT"}
	asVarchar = [2]string{"(", ")::VARCHAR"}
	asReal    = [2]string{"sqlite_to_real(", ")"}
	asKey     = [2]string{"sqlite_key(", ")"}
	asKeys    = [2]string{"SELECT sqlite_key(COLUMNS(*)) FROM (", ")"} // of a query
)

// placed makes room around arguments, which all can be given a type.
func placed(call *piece, wrap [2]string, items []pieces) {
	for i, item := range items {
		a := argument{&piece{pos: -1}, &piece{pos: -1}, wrap}
		items[i] = cat(a.before, item, a.after)
		call.args = append(call.args, a)
	}
}

// mix gives the arguments the type that all can have.
func (p *piece) mix() bool {
	for _, arg := range p.args {
		arg.before.text, arg.after.text = arg.wrap[0], arg.wrap[1]
	}
	mixed := p.args != nil
	p.args = nil
	return mixed
}

// takes reports whether the arguments can be given a type so.
func (p *piece) takes(wrap [2]string) bool { return p.args != nil && p.args[0].wrap == wrap }

// mixAll lets all arguments have any types.
func (s pieces) mixAll() (mixed bool) {
	for _, p := range s {
		if p.takes(asVariant) && p.mix() {
			mixed = true
		}
	}
	return mixed
}

// mixAround lets the innermost arguments around a text have any types.
func (s pieces) mixAround(text string) bool {
	var open []*piece
	owner := map[*piece]*piece{}
	for _, p := range s {
		for _, arg := range p.args {
			owner[arg.before], owner[arg.after] = p, p
		}
	}
	for _, p := range s {
		switch o := owner[p]; {
		case o == nil && p.text == text && len(open) > 0:
			return open[len(open)-1].mix()
		case o != nil && len(open) > 0 && open[len(open)-1] == o:
			open = open[:len(open)-1]
		case o != nil:
			open = append(open, o)
		}
	}
	return false
}
