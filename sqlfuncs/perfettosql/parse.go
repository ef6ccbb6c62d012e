package perfettosql

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// valueType is the type of an argument or column in a declaration.
type valueType int

const (
	anyType valueType = iota
	boolType
	longType
	doubleType
	stringType
	bytesType
)

var valueTypes = map[string]valueType{
	"any": anyType, "bool": boolType, "string": stringType, "double": doubleType, "float": doubleType, "bytes": bytesType, "proto": bytesType,
	"long": longType, "int": longType, "uint": longType, "timestamp": longType, "duration": longType, "id": longType, "joinid": longType, "argsetid": longType,
}

func (t valueType) String() string {
	return [...]string{"ANY", "BOOL", "LONG", "DOUBLE", "STRING", "BYTES"}[t]
}

// takes reports whether a value may be given for the type. NULL always may.
func (t valueType) takes(v sqlite.Type) bool {
	switch {
	case v == sqlite.Null || t == anyType:
		return true
	case t == boolType || t == longType:
		return v == sqlite.Integer
	case t == doubleType: // an integer would be divided as one
		return v == sqlite.Real
	case t == stringType:
		return v == sqlite.TextOf
	}
	return v == sqlite.Blob
}

// typeOf returns the type whose values SQLite has as another.
func typeOf(v sqlite.Type) valueType {
	switch v {
	case sqlite.Integer:
		return longType
	case sqlite.Real:
		return doubleType
	case sqlite.TextOf:
		return stringType
	case sqlite.Blob:
		return bytesType
	}
	return anyType
}

// kind is what a column of the type holds in a table.
func (t valueType) kind() (dataframe.Kind, bool) {
	switch t {
	case boolType, longType:
		return dataframe.Integer, true
	case doubleType:
		return dataframe.Real, true
	case stringType:
		return dataframe.Text, true
	}
	return 0, false
}

// argument is an argument of a function, or a column in a declaration.
type argument struct {
	name     string
	typ      valueType
	variadic bool
}

// reader reads the tokens of a statement.
type reader struct {
	source string
	tokens []sqltext.Token
	at     int
}

func (r *reader) peek() sqltext.Token { return r.tokens[r.at] }

func (r *reader) next() sqltext.Token {
	t := r.tokens[r.at]
	if t.Kind != sqltext.End {
		r.at++
	}
	return t
}

// accept consumes words if they are next.
func (r *reader) accept(words ...string) bool {
	for i, w := range words {
		if r.at+i >= len(r.tokens) || !r.tokens[r.at+i].Is(w) {
			return false
		}
	}
	r.at += len(words)
	return true
}

// expect consumes a word, or fails.
func (r *reader) expect(word string) error {
	if r.accept(word) {
		return nil
	}
	return r.unexpected()
}

func (r *reader) unexpected() error {
	if t := r.peek(); t.Kind != sqltext.End {
		return sqltext.ErrorAt(t.Pos, "near %q: syntax error", r.source[t.Pos:t.End])
	}
	return sqltext.ErrorAt(r.peek().Pos, "incomplete input")
}

// name reads a name.
func (r *reader) name() (sqltext.Token, error) {
	t := r.peek()
	if t.Kind != sqltext.Word && t.Kind != sqltext.Quoted {
		return t, r.unexpected()
	}
	return r.next(), nil
}

// rest returns the source from the next token to the last one, and its position.
func (r *reader) rest() (string, int) {
	from := r.peek().Pos
	if r.peek().Kind == sqltext.End {
		return "", from
	}
	return r.source[from:r.tokens[len(r.tokens)-2].End], from
}

// declarations reads name TYPE, name TYPE(table.column), ... up to the closing parenthesis.
func (r *reader) declarations() ([]argument, error) {
	var all []argument
	for !r.accept(")") {
		if len(all) > 0 {
			if err := r.expect(","); err != nil {
				return nil, err
			}
		}
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		t, err := r.name()
		if err != nil {
			return nil, err
		}
		typ, ok := valueTypes[strings.ToLower(t.Text)]
		if !ok {
			return nil, sqltext.ErrorAt(t.Pos, "unknown type %s", t.Text)
		}
		if r.accept("(") {
			for !r.accept(")") {
				if r.next().Kind == sqltext.End {
					return nil, r.unexpected()
				}
			}
		}
		a := argument{name: name.Text, typ: typ}
		if r.accept(".", ".", ".") {
			a.variadic = true
		}
		all = append(all, a)
	}
	return all, nil
}

// creation is CREATE [OR REPLACE] PERFETTO ...
type creation struct {
	what     string // TABLE, VIEW, FUNCTION, MACRO or INDEX
	replace  bool
	name     string
	at       int // position of the name
	columns  []argument
	declared bool       // columns were given
	args     []argument // of a function
	table    bool       // the function returns rows
	delegate string     // the function that it stands for
	body     string
	bodyAt   int
	macro    *macro
	on       string   // the table of an index
	indexed  []string // its columns
}

// parseCreate reads a statement that begins with CREATE if it is PerfettoSQL's, else it returns nil.
func parseCreate(source string, tokens []sqltext.Token) (*creation, error) {
	r := &reader{source: source, tokens: tokens}
	c := &creation{}
	r.accept("CREATE")
	c.replace = r.accept("OR", "REPLACE")
	if !r.accept("PERFETTO") {
		return nil, nil
	}
	c.what = strings.ToUpper(r.next().Text)
	if !slices.Contains([]string{"TABLE", "VIEW", "FUNCTION", "MACRO", "INDEX"}, c.what) {
		r.at--
		return nil, r.unexpected()
	}
	name, err := r.name()
	if err != nil {
		return nil, err
	}
	c.name, c.at = name.Text, name.Pos
	switch c.what {
	case "MACRO":
		return c, c.readMacro(r)
	case "INDEX":
		return c, c.readIndex(r)
	case "FUNCTION":
		return c, c.readFunction(r)
	}
	if r.accept("USING") {
		r.next()
	}
	if r.accept("(") {
		c.declared = true
		if c.columns, err = r.declarations(); err != nil {
			return nil, err
		}
	}
	if err := r.expect("AS"); err != nil {
		return nil, err
	}
	c.body, c.bodyAt = r.rest()
	return c, nil
}

func (c *creation) readFunction(r *reader) (err error) {
	if err := r.expect("("); err != nil {
		return err
	}
	if c.args, err = r.declarations(); err != nil {
		return err
	}
	if err := r.expect("RETURNS"); err != nil {
		return err
	}
	switch t := r.next(); {
	case t.Is("TABLE"):
		c.table = true
		if err := r.expect("("); err != nil {
			return err
		}
		if c.columns, err = r.declarations(); err != nil {
			return err
		}
	default:
		if _, ok := valueTypes[strings.ToLower(t.Text)]; !ok {
			return sqltext.ErrorAt(t.Pos, "unknown type %s", t.Text)
		}
		if r.accept("(") { // the column that a JOINID refers to
			for !r.accept(")") {
				if r.next().Kind == sqltext.End {
					return r.unexpected()
				}
			}
		}
	}
	if r.accept("DELEGATES", "TO") {
		name, err := r.name()
		c.delegate = name.Text
		return err
	}
	if err := r.expect("AS"); err != nil {
		return err
	}
	c.body, c.bodyAt = r.rest()
	return nil
}

// macroTypes are the types of a macro's parameters and result.
var macroTypes = []string{"ColumnNameList", "_ProjectionFragment", "_TableNameList", "ColumnName", "Expr", "TableOrSubquery", "UnparenExprList", "ExprList"}

func (c *creation) readMacro(r *reader) error {
	c.macro = &macro{}
	typed := func() error {
		t, err := r.name()
		if err == nil && !slices.ContainsFunc(macroTypes, func(known string) bool { return strings.EqualFold(known, t.Text) }) {
			return sqltext.ErrorAt(t.Pos, "unknown type %s: want one of %s", t.Text, strings.Join(macroTypes, ", "))
		}
		return err
	}
	if err := r.expect("("); err != nil {
		return err
	}
	for !r.accept(")") {
		if len(c.macro.parameters) > 0 {
			if err := r.expect(","); err != nil {
				return err
			}
		}
		name, err := r.name()
		if err != nil {
			return err
		}
		if err := typed(); err != nil {
			return err
		}
		c.macro.parameters = append(c.macro.parameters, name.Text)
	}
	if err := r.expect("RETURNS"); err != nil {
		return err
	}
	if err := typed(); err != nil {
		return err
	}
	if err := r.expect("AS"); err != nil {
		return err
	}
	c.macro.body, _ = r.rest()
	return nil
}

func (c *creation) readIndex(r *reader) error {
	if err := r.expect("ON"); err != nil {
		return err
	}
	on, err := r.name()
	if err != nil {
		return err
	}
	c.on = on.Text
	if err := r.expect("("); err != nil {
		return err
	}
	for {
		column, err := r.name()
		if err != nil {
			return err
		}
		c.indexed = append(c.indexed, column.Text)
		if r.accept(")") {
			return nil
		}
		if err := r.expect(","); err != nil {
			return err
		}
	}
}
