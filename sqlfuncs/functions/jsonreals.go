package functions

import (
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// defineJSON defines SQLite's functions that make JSON of values: in Trace Processor's SQLite real numbers have 15 digits there
// as in text, in later ones always 17.
func defineJSON(d *define.Definer) {
	add := func(args int, f jsonFunction) {
		d.Do(d.DB.Function(f.name, args, jsonFlags, func(c sqlite.Context, args []sqlite.Value) error {
			return f.call(d.DB, args, func(v sqlite.Value) {
				if v.Type() == sqlite.TextOf {
					c.JSON(v.View())
				} else {
					c.Value(v)
				}
			})
		}))
	}
	add(1, jsonQuote)
	for _, prefix := range []string{"json_", "jsonb_"} {
		add(-1, jsonFunction{prefix + "array", 0, 1})
		add(-1, jsonFunction{prefix + "object", 1, 2})
		for _, name := range []string{"set", "insert", "replace"} {
			add(-1, jsonFunction{prefix + name, 2, 2})
		}
	}
	d.Do(d.DB.Window("json_group_array", 1, jsonFlags, func() sqlite.Window { return &jsonGroup{db: d.DB, open: "[", end: "]"} }))
	d.Do(d.DB.Window("json_group_object", 2, jsonFlags, func() sqlite.Window { return &jsonGroup{db: d.DB, open: "{", end: "}"} }))
}

const jsonFlags = sqlite.Deterministic | sqlite.TakesJSON | sqlite.GivesJSON

// jsonFunction is a function of values from an argument on, each a step after the other.
type jsonFunction struct {
	name        string
	first, step int
}

var jsonQuote = jsonFunction{"json_quote", 0, 1}

// call calls SQLite's function, with a real number as a text that is JSON.
func (f jsonFunction) call(db *sqlite.DB, args []sqlite.Value, result func(sqlite.Value)) error {
	b := make([]byte, 0, 64)
	b = append(append(b, f.name...), '(')
	plain := make([]any, len(args))
	for i, v := range args {
		if i > 0 {
			b = append(b, ',')
		}
		plain[i] = v
		json := false
		if i >= f.first && (i-f.first)%f.step == 0 {
			switch v.Type() {
			case sqlite.TextOf:
				json = v.JSON()
			case sqlite.Real:
				if json = !math.IsInf(v.Float(), 0); json {
					plain[i] = v.Text()
				}
			}
		}
		if json {
			b = append(strconv.AppendInt(append(b, "json(?"...), int64(i+1), 10), ')')
		} else {
			b = strconv.AppendInt(append(b, '?'), int64(i+1), 10)
		}
	}
	return db.Original(string(append(b, ')')), plain, result)
}

// jsonGroup collects the values of json_group_array, or the names and values of json_group_object.
type jsonGroup struct {
	db        *sqlite.DB
	open, end string
	items     []string
}

func (g *jsonGroup) Step(args []sqlite.Value) error {
	item := ""
	if len(args) == 2 {
		if args[0].IsNull() {
			g.items = append(g.items, "")
			return nil
		}
		if err := g.db.Original("json_quote(?1)", []any{args[0].Text()}, func(v sqlite.Value) { item = v.Text() + ":" }); err != nil {
			return err
		}
		args = args[1:]
	}
	err := jsonQuote.call(g.db, args, func(v sqlite.Value) { item += v.Text() })
	g.items = append(g.items, item)
	return err
}

func (g *jsonGroup) Inverse([]sqlite.Value) error {
	g.items = g.items[1:]
	return nil
}

func (g *jsonGroup) Current(c sqlite.Context) error {
	var b strings.Builder
	b.WriteString(g.open)
	for _, item := range g.items {
		if item == "" { // its name is NULL
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(item)
	}
	b.WriteString(g.end)
	c.JSON(b.String())
	return nil
}

func (g *jsonGroup) Result(c sqlite.Context) error { return g.Current(c) }
