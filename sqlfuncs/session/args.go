package session

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// argsFunction is the name of argsJSON in SQL.
const argsFunction = "_args_json"

// argNode is an object, an array or a value of arguments. Objects keep the order of their keys.
type argNode struct {
	value    json.RawMessage // nil for objects and arrays
	keys     []string        // of an object
	children map[string]*argNode
	array    []*argNode
}

// argsJSON returns arguments as a JSON object. A key such as a.b[2] names the third element of the array b in the object a.
func argsJSON(keys, types, values []string) (string, error) {
	root := &argNode{}
	for i, key := range keys {
		node := root
		for _, part := range strings.Split(key, ".") {
			name, indexes, _ := strings.Cut(part, "[")
			var err error
			if node, err = node.member(name); err != nil {
				return "", fmt.Errorf("argument %s: %w", key, err)
			}
			for indexes != "" {
				var index string
				index, indexes, _ = strings.Cut(indexes, "]")
				if node, err = node.element(index); err != nil {
					return "", fmt.Errorf("argument %s: %w", key, err)
				}
				indexes = strings.TrimPrefix(indexes, "[")
			}
		}
		*node = argNode{value: argValue(types[i], values[i])}
	}
	var b strings.Builder
	root.write(&b)
	return b.String(), nil
}

// argValue returns an argument's value in JSON.
func argValue(kind, value string) json.RawMessage {
	switch kind {
	case "null":
		return json.RawMessage("null")
	case "int", "uint", "real", "bool":
		if json.Valid([]byte(value)) {
			return json.RawMessage(value)
		}
	}
	text, _ := json.Marshal(value) // a string has no errors
	return text
}

func (n *argNode) member(name string) (*argNode, error) {
	if n.value != nil || n.array != nil {
		return nil, fmt.Errorf("%s is in no object", name)
	}
	if n.children == nil {
		n.children = map[string]*argNode{}
	}
	if n.children[name] == nil {
		n.keys = append(n.keys, name)
		n.children[name] = &argNode{}
	}
	return n.children[name], nil
}

// maxElements is the maximum number of elements of an array of arguments.
const maxElements = 1 << 20

func (n *argNode) element(index string) (*argNode, error) {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= maxElements || n.value != nil || n.children != nil {
		return nil, fmt.Errorf("%s is no index of an array", index)
	}
	for len(n.array) <= i {
		n.array = append(n.array, &argNode{})
	}
	return n.array[i], nil
}

func (n *argNode) write(b *strings.Builder) {
	switch {
	case n.value != nil:
		b.Write(n.value)
	case n.array != nil:
		b.WriteByte('[')
		for i, element := range n.array {
			if i > 0 {
				b.WriteByte(',')
			}
			element.write(b)
		}
		b.WriteByte(']')
	case n.children != nil:
		b.WriteByte('{')
		for i, key := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(argValue("string", key))
			b.WriteByte(':')
			n.children[key].write(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}
