package perfettosql

import "strings"

// piece is a word of translated SQL. Each stands on a line of its own, so that DuckDB's errors name it.
type piece struct {
	text string
	pos  int    // byte offset in the source, -1 if nothing there corresponds to it
	name string // of the column of the result that it is, if nothing else names that
}

// become puts an expression in the place of a column.
func (p *piece) become(text string) {
	p.text = text
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
func (s pieces) String() string {
	var b strings.Builder
	for i, p := range s {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.ReplaceAll(p.text, "\n", `\n`))
	}
	return b.String()
}

// line is the SQL on one line.
func (s pieces) line() string { return strings.ReplaceAll(s.String(), "\n", " ") }

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
