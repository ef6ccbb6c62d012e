package perfettosql

import "strings"

// piece is a word of translated SQL. Each piece is on its own line, so that the line number in DuckDB's
// errors identifies it.
type piece struct {
	text string
	pos  int    // byte offset in the source, -1 if it has no source
	name string // name of the result column that it forms, unless named otherwise
}

// become replaces a column by an expression, keeping the column's name.
func (p *piece) become(text string) {
	p.text = text
	if p.name != "" {
		p.text += " AS " + identifier(p.name)
	}
}

// pieces is translated SQL.
type pieces []*piece

// cat concatenates strings, pieces and SQL.
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

// String returns the SQL with one piece per line.
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

// line returns the SQL on one line.
func (s pieces) line() string { return strings.ReplaceAll(s.String(), "\n", " ") }

// identifier quotes a name, because DuckDB reserves other words than SQLite.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes text. Line breaks are escaped, so that the literal stays on one line.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.ContainsAny(text, "\n\r") {
		quoted = "E" + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(quoted)
	}
	return quoted
}
