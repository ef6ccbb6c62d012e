package redact

import (
	"regexp"
	"slices"
	"sync"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/table"
)

// Sink returns a sink that applies the rules to the chunks of a conversion on their way to another, or that other for nil rules.
func (r *Rules) Sink(to table.Sink) table.Sink {
	if r == nil {
		return to
	}
	return &sink{Rules: r, to: to, strings: table.NewRawPool(), known: map[*table.Origin]*[3]replaced{}}
}

type sink struct {
	*Rules
	to table.Sink

	mu      sync.Mutex // chunks of args come from another goroutine
	strings *table.StringPool
	known   map[*table.Origin]*[3]replaced
}

// replaced has ids in the sink's strings by ids in those of chunks, for one treatment.
type replaced = paged.Sparse[table.StringID]

// The treatments of texts.
const (
	keep = iota
	match
	whole
)

// Chunk implements table.Sink.
func (s *sink) Chunk(c *table.Chunk) error {
	if err := s.redact(c); err != nil {
		c.Release()
		return err
	}
	return s.to.Chunk(c)
}

func (s *sink) redact(c *table.Chunk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := c.Strings
	known := s.known[texts.Origin()]
	if known == nil {
		known = new([3]replaced)
		s.known[texts.Origin()] = known
	}
	err := c.Edit(func(columns []*table.Vector) table.StringView {
		hidden := s.hidden(c, columns, &texts)
		for i, v := range columns {
			column := &c.Schema.Columns[i]
			switch {
			case column.Type == table.TypeBytes:
				*v = table.Vector{} // may hold any text, such as a string of a heap
			case column.Type == table.TypeString:
				ids, _ := v.Values.([]table.StringID)
				how := s.treatment(c.Schema, column)
				for row, id := range ids {
					if hidden != nil && hidden[row] && column.Name == stringValue {
						ids[row] = s.text(&texts, known, id, whole)
					} else {
						ids[row] = s.text(&texts, known, id, how)
					}
				}
			case hidden != nil && slices.Contains(numberValues, column.Name) && v.Values != nil:
				for row := range c.Rows {
					if hidden[row] {
						v.Valid[row>>3] &^= 1 << (row & 7)
					}
				}
			case column.Name == "stack_id" || column.Name == "parent_stack_id":
				hashes, _ := v.Values.([]int64)
				for row, hash := range hashes {
					hashes[row] = s.number(hash)
				}
			}
		}
		return s.strings.View()
	})
	if err == nil {
		err = texts.Err()
	}
	return err
}

// stringValue and numberValues are the columns with values of args.
const stringValue = "string_value"

var numberValues = []string{"int_value", "real_value"}

// hidden returns the rows whose value a rule for args hides, or nil if the chunk has no args.
func (s *sink) hidden(c *table.Chunk, columns []*table.Vector, texts *table.StringView) []bool {
	if len(s.Rules.args) == 0 || c.Schema.Column("key") < 0 || c.Schema.Column(stringValue) < 0 {
		return nil
	}
	rows, known := make([]bool, c.Rows), map[table.StringID]bool{}
	for _, name := range []string{"flat_key", "key"} {
		i := c.Schema.Column(name)
		if i < 0 {
			continue
		}
		ids, _ := columns[i].Values.([]table.StringID)
		for row, id := range ids {
			hides, there := known[id]
			if !there {
				key := texts.Get(id)
				hides = slices.ContainsFunc(s.Rules.args, func(rule *regexp.Regexp) bool { return rule.MatchString(key) })
				known[id] = hides
			}
			rows[row] = rows[row] || hides
		}
	}
	return rows
}

func (s *sink) treatment(t *table.Schema, c *table.Column) int {
	switch name := owner(t, c); {
	case s.columns[name]:
		return whole
	case own[name]:
		return keep
	}
	return match
}

// text returns the id of what a text becomes.
func (s *sink) text(texts *table.StringView, known *[3]replaced, id table.StringID, how int) table.StringID {
	if id == 0 {
		return 0
	}
	to := known[how].At(int(id))
	if *to == 0 {
		text := texts.Get(id)
		switch how {
		case match:
			text = s.Text(text)
		case whole:
			text = s.whole(text)
		}
		*to = s.strings.Intern(text)
	}
	return *to
}
