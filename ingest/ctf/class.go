package ctf

import (
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

type kind uint8

const (
	integerClass kind = iota // also enumerations
	floatClass
	textClass
	structClass
	variantClass
	arrayClass // also sequences
)

type order uint8

const (
	nativeOrder order = iota
	littleEndian
	bigEndian
)

// class is the type of a field.
type class struct {
	kind        kind
	size, align int // in bits
	signed      bool
	order       order
	hex         bool
	encoded     bool     // the integers of an array are the characters of a text
	clock       string   // of an integer that is a time
	labels      []label  // of an enumeration, not nil
	fields      []field  // of a structure, options of a variant
	element     *class   // of an array
	count       uint64   // of the elements of an array
	path        []string // field with the length of a sequence or the tag of a variant
	variable    bool     // an integer takes as many bytes as it needs
	picks       []choice // of a variant's options by the values of its tag, nil if those are by the tag's labels
	optional    bool     // a variant has its first option if the tag chooses none

	// Set when the types are laid out:
	role    role // what the reader needs the value for
	slot    int  // where the value is kept for others that refer to it, or none
	of      int  // the slot of the length or tag
	ticks   *clock
	choices ranges // labels of an enumeration by their values, options of a variant by those of its tag
	tag     *class // of a variant
	chars   bool   // the elements of an array are characters
	hidden  bool   // not an arg
	key     model.StringID
	text    string // of the key
	to      *ftrace.Field
	as      func(uint64) uint64 // converts a number for to, or nil
}

type field struct {
	name string
	*class
	plain int // fields of a structure from this one on that are plain
}

const none = -1

// label is a name for the values of an enumeration from first to last.
type label struct {
	name        string
	first, last int64
	id          model.StringID
}

// aligned sets the alignment of a number that states none.
func (c *class) aligned() *class {
	if c.align == 0 {
		c.align = 1
		if c.size%8 == 0 {
			c.align = 8
		}
	}
	return c
}

// isPlain reports whether values are integers of whole little-endian bytes that only the parser needs.
func (c *class) isPlain() bool {
	return c.kind == integerClass && !c.variable && c.order == littleEndian && c.size%8 == 0 && c.align == 8 && c.slot == none && c.role == noRole
}

// findPlain finds the plain fields in a structure, which the trace may not have, once roles are assigned.
func (c *class) findPlain() {
	if c == nil {
		return
	}
	after := 0
	for i := range slices.Backward(c.fields) {
		f := &c.fields[i]
		f.findPlain()
		if !f.isPlain() {
			after = 0
			continue
		}
		after++
		f.plain = after
	}
	c.element.findPlain()
}

// isText reports whether values are texts.
func (c *class) isText() bool { return c.kind == textClass || c.chars }

// label returns the label for a value, or nil.
func (c *class) label(n int64) *label {
	if i, ok := c.choices.find(n); ok {
		return &c.labels[i]
	}
	return nil
}

// maxClasses limits how many types and labels a trace has once each use of one is laid out.
const maxClasses = 1 << 20

// layout lays out the types of a trace. Each use of a type becomes a copy, because what it refers to depends on where it is.
type layout struct {
	bigEndian bool
	clocks    map[string]*clock
	roots     []root
	open      []*class // structures around the current field, outermost first
	scope     string   // of the outermost one
	classes   int
	depth     int
	slots     int
	err       string
}

// root is an outermost structure, by the name of its scope.
type root struct {
	scope string
	*class
}

// root lays out an outermost structure, and adds it to those that later ones refer to.
func (l *layout) root(scope string, c *class) *class {
	if c == nil {
		return nil
	}
	if c.kind != structClass {
		l.fail(scope + " is no structure")
		return nil
	}
	l.scope, l.open = scope, l.open[:0]
	c = l.copy(c, "")
	l.roots = append(l.roots, root{scope, c})
	return c
}

func (l *layout) fail(err string) {
	if l.err == "" {
		l.err = err
	}
}

// copy lays out a type. name is that of the field.
func (l *layout) copy(from *class, name string) *class {
	c := new(class)
	*c = *from
	c.slot = none
	if l.classes += 1 + len(c.labels); l.classes > maxClasses || l.depth > maxDepth {
		l.fail("too many types, or nested too deep")
	}
	if l.err != "" {
		return c
	}
	if c.order == nativeOrder {
		c.order = littleEndian
		if l.bigEndian {
			c.order = bigEndian
		}
	}
	l.depth++
	defer func() { l.depth-- }()
	switch c.kind {
	case integerClass:
		c.labels, c.ticks = slices.Clone(c.labels), l.clocks[c.clock]
		var values []choice
		for i, label := range c.labels {
			values = append(values, choice{label.first, label.last, i})
		}
		c.choices = newRanges(c.signed, values)
	case structClass:
		fields := c.fields
		c.fields = make([]field, 0, len(fields))
		l.open = append(l.open, c)
		for _, f := range fields {
			f.class = l.copy(f.class, f.name)
			c.fields = append(c.fields, f)
			c.align = max(c.align, f.align)
		}
		l.open = l.open[:len(l.open)-1]
	case variantClass:
		c.tag = l.refer(c, name)
		c.fields = slices.Clone(c.fields)
		options := map[string]int{}
		for i := range c.fields {
			f := &c.fields[i]
			f.class = l.copy(f.class, f.name)
			if _, known := options[f.name]; !known {
				options[f.name] = i
			}
		}
		if c.tag == nil {
			break
		}
		if c.picks != nil {
			l.classes += len(c.picks)
			c.choices = newRanges(c.tag.signed, c.picks)
			break
		}
		l.classes += len(c.tag.labels)
		var values []choice
		for _, label := range c.tag.labels {
			if i, ok := options[label.name]; ok {
				values = append(values, choice{label.first, label.last, i})
			}
		}
		c.choices = newRanges(c.tag.signed, values)
	case arrayClass:
		if c.path != nil {
			if length := l.refer(c, name); length != nil && length.signed {
				l.fail("the length of " + name + " is signed")
			}
		}
		c.element = l.copy(c.element, name)
		c.align = max(c.align, c.element.align)
		c.chars = c.element.encoded && c.element.kind == integerClass && c.element.size == 8 && c.align <= 8
	}
	return c
}

// refer finds the field that a sequence or variant refers to.
func (l *layout) refer(c *class, name string) *class {
	to := l.find(c.path)
	if to == nil || to.kind != integerClass || c.kind == variantClass && to.labels == nil && c.picks == nil {
		what := "nothing"
		if c.path != nil {
			what = strings.Join(c.path, ".") + ", which is not there"
		}
		l.fail(name + " refers to " + what)
		return nil
	}
	if to.slot == none {
		to.slot = l.slots
		l.slots++
	}
	c.of = to.slot
	// LTTng's recorders add the lengths of sequences as fields.
	if c.kind == arrayClass && c.path[len(c.path)-1] == "_"+name+"_length" {
		to.hidden = true
	}
	return to
}

// find returns the field at a path, which may begin with the name of a scope, or nil.
func (l *layout) find(path []string) *class {
	if len(path) == 0 { // a variant without a tag
		return nil
	}
	whole := strings.Join(path, ".")
	if rest, ok := strings.CutPrefix(whole, l.scope+"."); ok && len(l.open) > 0 {
		return l.open[0].field(strings.Split(rest, "."))
	}
	for _, r := range l.roots {
		if rest, ok := strings.CutPrefix(whole, r.scope+"."); ok {
			return r.field(strings.Split(rest, "."))
		}
	}
	for i := len(l.open) - 1; i >= 0; i-- {
		if c := l.open[i].field(path); c != nil {
			return c
		}
	}
	for i := len(l.roots) - 1; i >= 0; i-- {
		if c := l.roots[i].field(path); c != nil {
			return c
		}
	}
	return nil
}

// field returns the field at a path below a structure, or nil.
func (c *class) field(path []string) *class {
	for _, f := range c.fields {
		switch {
		case f.name != path[0]:
		case len(path) == 1:
			return f.class
		case f.kind == structClass:
			return f.class.field(path[1:])
		}
	}
	return nil
}

// assign gives a role to the field of this name, and reports whether there is one.
func (c *class) assign(name string, r role) bool {
	if c == nil {
		return false
	}
	for _, f := range c.fields {
		if plain(f.name) == name && f.role == noRole && (f.kind == integerClass || f.isText()) {
			f.role, f.hidden = r, true
			return true
		}
	}
	return false
}

// has reports whether a field of a structure, which the trace may not have, has a role.
func (c *class) has(r role) bool {
	return c != nil && slices.ContainsFunc(c.fields, func(f field) bool { return f.role == r })
}

// plain returns the name of a field without the underscore that recorders add so that it is no keyword.
func plain(name string) string { return strings.TrimPrefix(name, "_") }

// names sets the keys of args.
func (c *class) names(store *model.Store, key string) {
	if c == nil || c.text == key && key != "" {
		return
	}
	c.text, c.key = key, store.Strings.Intern(key)
	for i := range c.labels {
		c.labels[i].id = store.Strings.Intern(c.labels[i].name)
	}
	for _, f := range c.fields {
		name := plain(f.name)
		switch {
		case c.kind == variantClass:
			name = key
		case key != "":
			name = key + "." + name
		}
		f.class.names(store, name)
	}
	if c.element != nil {
		c.element.names(store, key)
	}
}
