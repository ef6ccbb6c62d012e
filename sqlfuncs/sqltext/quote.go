package sqltext

import "strings"

// QuoteText writes a text as SQL does: 'it”s'.
func QuoteText(text string) string { return quote(text, "'") }

// QuoteName writes the name of a table or column so that it may have any characters: "my ""name""".
func QuoteName(name string) string { return quote(name, `"`) }

// QuoteColumn writes the name of a column for SQLite, which takes "name" for a text if
// there is no such column, but not `name`.
func QuoteColumn(name string) string { return quote(name, "`") }

func quote(text, mark string) string {
	return mark + strings.ReplaceAll(text, mark, mark+mark) + mark
}
