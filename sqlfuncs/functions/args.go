package functions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// argSets finds the arguments of sets.
type argSets struct {
	define.Sets
	key, kind, ints, texts, reals dataframe.Reader
	pool                          *dataframe.Pool
}

func readArgs(tables dataframe.Source) (*argSets, error) {
	a := &argSets{}
	var set dataframe.Reader
	f, err := define.Columns(tables, "args", define.Readers{
		"arg_set_id": &set, "key": &a.key, "value_type": &a.kind, "int_value": &a.ints, "string_value": &a.texts, "real_value": &a.reals,
	})
	if err != nil {
		return nil, err
	}
	a.pool, a.Sets = f.Pool, define.NewSets(set, f.Rows)
	return a, nil
}

// value returns the column that holds the value of a row.
func (a *argSets) value(row int) dataframe.Reader {
	switch a.kind.Text(row) {
	case "string", "json":
		return a.texts
	case "real":
		return a.reals
	}
	return a.ints
}

// under returns the arguments of a key by set.
func (a *argSets) under(key string) *sqlite.Found {
	f := &sqlite.Found{Vectors: [3]*sqlite.Vector{a.ints.Vector(), a.texts.Vector(), a.reals.Vector()}}
	id, ok := a.pool.Find(key)
	if !ok {
		return f
	}
	a.Each(func(set int64, row int) {
		if a.key.TextID(row) != id || len(f.Integers) > 0 && f.Integers[len(f.Integers)-1] == uint32(set) { // the first one counts
			return
		}
		which := uint8(0)
		switch a.kind.Text(row) {
		case "string", "json":
			which = 1
		case "real":
			which = 2
		}
		f.Integers, f.Rows, f.Which = append(f.Integers, uint32(set)), append(f.Rows, uint32(row)), append(f.Which, which)
	})
	return f
}

func defineArgs(d *define.Definer) {
	load := define.Once(func() (*argSets, error) { return readArgs(d.Tables) })
	find := func(key string) (*sqlite.Found, error) {
		a, err := load()
		if err != nil {
			return nil, err
		}
		return a.under(key), nil
	}
	d.Do(d.DB.Lookup("extract_arg", find, func(c sqlite.Context, args []sqlite.Value) error {
		switch args[0].Type() {
		case sqlite.Null:
			return nil
		case sqlite.Integer:
		default:
			return errors.New("extract_arg: the first argument is not the id of a set of arguments")
		}
		if args[1].Type() != sqlite.TextOf {
			return errors.New("extract_arg: the second argument is not a key")
		}
		a, err := load()
		if err != nil {
			return fmt.Errorf("extract_arg: %w", err)
		}
		key, ok := a.pool.Find(args[1].View())
		if !ok {
			return nil
		}
		a.Find(int64(uint32(args[0].Int())))
		for i := a.From; i < a.To; i++ {
			if row := a.Row(i); a.key.TextID(row) == key {
				a.value(row).Put(c, row)
				return nil
			}
		}
		return nil
	}))
	d.Scalar("__intrinsic_arg_set_to_json", 1, func(c sqlite.Context, args []sqlite.Value) error {
		const name = "__intrinsic_arg_set_to_json"
		switch args[0].Type() {
		case sqlite.Null:
			return nil
		case sqlite.Integer:
		default:
			return errors.New(name + ": the argument is not the id of a set of arguments")
		}
		a, err := load()
		if err != nil {
			return fmt.Errorf(name+": %w", err)
		}
		text, err := a.json(int64(uint32(args[0].Int())))
		if err != nil {
			return fmt.Errorf(name+": %w", err)
		}
		c.Text(text)
		return nil
	})
}

// json returns a set as a JSON object.
func (a *argSets) json(set int64) (string, error) {
	a.Find(set)
	root := &argNode{kind: argObject}
	for i := a.From; i < a.To; i++ {
		row := a.Row(i)
		node, err := root.at(a.key.Text(row))
		if err != nil {
			return "", err
		}
		*node = argNode{kind: argValue, row: row}
	}
	text := a.appendJSON(nil, root)
	return string(text), nil
}

// argNode is a value in the tree that the keys of arguments describe, such as a.b[2].c.
type argNode struct {
	kind  argKind
	row   int // of a value
	names []string
	parts []*argNode // of an object, by name, or of an array
	named map[string]*argNode
}

type argKind uint8

const (
	argNothing argKind = iota
	argValue
	argObject
	argArray
)

// maxIndex bounds the arrays that keys describe.
const maxIndex = 1 << 20

// at returns the node of a key below an object, which it makes if needed.
func (n *argNode) at(key string) (*argNode, error) {
	found := false
	for part := range strings.SplitSeq(key, ".") {
		if part == "" {
			continue
		}
		found = true
		if n.kind == argNothing {
			n.kind = argObject
		}
		if n.kind != argObject {
			return nil, fmt.Errorf("the key %s has a part %s in what is no object", key, part)
		}
		name, indexes, indexed := strings.Cut(part, "[")
		n = n.member(name)
		for indexed {
			var index string
			index, indexes, _ = strings.Cut(indexes, "]")
			i, err := strconv.ParseUint(index, 10, 32)
			if err != nil || i >= maxIndex {
				return nil, fmt.Errorf("the key %s has the index %q", key, index)
			}
			if n.kind == argNothing {
				n.kind = argArray
			}
			if n.kind != argArray {
				return nil, fmt.Errorf("the key %s has a part %s in what is no array", key, part)
			}
			for uint64(len(n.parts)) <= i {
				n.parts = append(n.parts, &argNode{})
			}
			n = n.parts[i]
			_, indexes, indexed = strings.Cut(indexes, "[")
		}
	}
	if !found {
		return nil, errors.New("an argument has no key")
	}
	return n, nil
}

// member returns the part of an object, which it makes if needed.
func (n *argNode) member(name string) *argNode {
	if p := n.named[name]; p != nil {
		return p
	}
	if n.named == nil {
		n.named = map[string]*argNode{}
	}
	p := &argNode{}
	n.names, n.parts, n.named[name] = append(n.names, name), append(n.parts, p), p
	return p
}

func (a *argSets) appendJSON(to []byte, n *argNode) []byte {
	switch n.kind {
	case argValue:
		return a.appendValue(to, n.row)
	case argObject:
		to = append(to, '{')
		for i, p := range n.parts {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(AppendJSONText(to, n.names[i]), ':')
			to = a.appendJSON(to, p)
		}
		return append(to, '}')
	case argArray:
		to = append(to, '[')
		for i, p := range n.parts {
			if i > 0 {
				to = append(to, ',')
			}
			to = a.appendJSON(to, p)
		}
		return append(to, ']')
	}
	return append(to, "null"...)
}

func (a *argSets) appendValue(to []byte, row int) []byte {
	kind := a.kind.Text(row)
	if kind == "null" || a.value(row).IsNull(row) {
		return append(to, "null"...)
	}
	switch kind {
	case "bool":
		return strconv.AppendBool(to, a.ints.Int(row) != 0)
	case "uint":
		return strconv.AppendUint(to, uint64(a.ints.Int(row)), 10)
	case "pointer":
		to = append(to, `"0x`...)
		return append(strconv.AppendUint(to, uint64(a.ints.Int(row)), 16), '"')
	case "string", "json":
		return AppendJSONText(to, a.texts.Text(row))
	case "real":
		return appendJSONReal(to, a.reals.Float(row))
	}
	return strconv.AppendInt(to, a.ints.Int(row), 10)
}
