package v8profile

import (
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
)

// Chunk is a part of a profile. The first chunk has the start time of the profile.
// Later chunks have nodes of the call tree, samples, which are node ids, and the
// times between samples. A .cpuprofile file is a single chunk.
type Chunk struct {
	Start   int64 // ns
	Starts  bool  // it has a start time
	End     int64 // ns
	Ends    bool  // it has an end time
	Nodes   []Node
	Samples []uint32
	Deltas  []int64  // ns
	Unread  []string // names of members that are not read

	whole bool // its cpuProfile has times

	// Of files with a head, as Chrome wrote them before version 58. Their times are in seconds, those of samples in µs.
	old              bool
	startOld, endOld int64 // ns
	times            []int64
}

// size is how much memory a chunk takes, roughly: itself, its nodes and its samples.
func (c *Chunk) size() int { return 1 + len(c.Nodes) + len(c.Samples) }

// Node is a node of the call tree. Either it names its parent, or the parent lists
// it as a child, before or after it.
type Node struct {
	ID, Parent    uint32
	HasParent     bool
	Children      []uint32
	Function, URL string
	Line          int64 // where the function begins, from 1, 0 if unknown
}

// Decode decodes the JSON of a chunk. Values of the wrong type count as zero. Decode returns false if the text is not JSON.
func (c *Chunk) Decode(text []byte) bool { return decode(text, c.read) }

// DecodeArgs decodes the args of an event, whose member data is a chunk, as Decode does.
func (c *Chunk) DecodeArgs(text []byte) bool {
	return decode(text, func(d *decoder) error {
		return d.members(func(key []byte) error {
			if string(key) == "data" {
				return c.read(d)
			}
			return d.skip()
		})
	})
}

// DecodeWhole decodes the args of an event with a whole profile, which has its own times, as DecodeArgs does, and completes it.
func (c *Chunk) DecodeWhole(text []byte) bool {
	c.whole = true
	ok := c.DecodeArgs(text)
	c.Complete()
	return ok
}

// DecodeMember decodes a member of a .cpuprofile file, as Decode does.
func (c *Chunk) DecodeMember(key string, text []byte) bool {
	text = append(text[:len(text):len(text)], ' ') // a number needs an end
	read := c.timing
	switch key {
	case "nodes", "samples":
		read = c.tree
	case "head":
		read = func(d *decoder, _ string) error { return c.head(d, 0) }
	}
	return decode(text, func(d *decoder) error { return read(d, key) })
}

func decode(text []byte, read func(*decoder) error) bool {
	var d decoder
	d.Reset(text)
	_, err := d.Space()
	return err == nil && read(&d) == nil
}

func (c *Chunk) read(d *decoder) error {
	return d.members(func(key []byte) error {
		if string(key) == "cpuProfile" {
			return d.members(func(key []byte) error { return c.tree(d, string(key)) })
		}
		return c.timing(d, string(key))
	})
}

// Old reports whether a file has a head.
func (c *Chunk) Old() bool { return c.old }

// Complete gives samples of a file the times between them. Those that have no times are spread evenly, as in Chrome's DevTools.
func (c *Chunk) Complete() {
	if c.old {
		c.Start, c.End = c.startOld, c.endOld
	}
	n := len(c.Samples)
	switch {
	case len(c.Deltas) > 0 || n == 0:
	case len(c.times) >= n:
		c.Start = c.times[0]
		for i, ts := range c.times[:n] {
			c.Deltas = append(c.Deltas, ts-c.times[max(i-1, 0)])
		}
		if len(c.times) > n { // when the last sample ended
			c.End, c.Ends = c.times[n], true
		}
	case c.Ends && c.End > c.Start:
		step := (c.End - c.Start) / int64(n)
		c.Deltas = append(c.Deltas, 0)
		for range n - 1 {
			c.Deltas = append(c.Deltas, step)
		}
	}
}

// timing decodes a member of a chunk.
func (c *Chunk) timing(d *decoder, key string) error {
	switch key {
	case "startTime":
		return d.time(&c.Start, &c.startOld, &c.Starts)
	case "endTime":
		return d.time(&c.End, &c.endOld, &c.Ends)
	case "timeDeltas":
		return d.times(&c.Deltas)
	case "timestamps":
		return d.times(&c.times)
	}
	return c.unread(d, key)
}

// maxUnread is how many names of members that are not read a chunk notes.
const maxUnread = 16

// unread moves past a value that is not read, and notes its name unless it is empty.
func (c *Chunk) unread(d *decoder, key string) error {
	start := d.Pos
	v, err := d.Value()
	if (v.Kind == jsonlex.Text && len(v.Raw) > 0 || d.Pos-start > len("[]") && (v.Kind == jsonlex.Array || v.Kind == jsonlex.Object)) &&
		len(c.Unread) < maxUnread && !slices.Contains(c.Unread, key) {
		c.Unread = append(c.Unread, key)
	}
	return err
}

// tree decodes a member of a chunk's cpuProfile.
func (c *Chunk) tree(d *decoder, key string) error {
	switch key {
	case "samples":
		return d.ids(&c.Samples)
	case "nodes":
		c.Nodes = c.Nodes[:0]
		return d.elements(func() error {
			var n Node
			err := d.members(func(key []byte) error { return c.member(d, &n, string(key)) })
			c.Nodes = append(c.Nodes, n)
			return err
		})
	}
	if c.whole {
		return c.timing(d, key)
	}
	return c.unread(d, key)
}

// maxHead is how deep nodes are read in each other. V8 samples at most 255 frames.
const maxHead = 1 << 12

// head decodes a node whose children are in it, before which parents are in Nodes.
func (c *Chunk) head(d *decoder, depth int) error {
	if c.old = true; depth > maxHead {
		return d.skip()
	}
	at := len(c.Nodes)
	c.Nodes = append(c.Nodes, Node{})
	var children []int
	err := d.members(func(key []byte) error {
		if string(key) != "children" {
			n := c.Nodes[at]
			err := c.member(d, &n, string(key))
			c.Nodes[at] = n
			return err
		}
		return d.elements(func() error {
			children = append(children, len(c.Nodes))
			return c.head(d, depth+1)
		})
	})
	for _, child := range children {
		if child < len(c.Nodes) {
			c.Nodes[child].Parent, c.Nodes[child].HasParent = c.Nodes[at].ID, true
		}
	}
	return err
}

// member decodes a member of a node.
func (c *Chunk) member(d *decoder, n *Node, key string) error {
	switch key {
	case "functionName", "url", "lineNumber": // of a node in a head, where lines count from 1
		v, err := d.Value()
		n.function(key, v, 0)
		return err
	case "id":
		return d.id(&n.ID)
	case "parent":
		n.HasParent = d.Buf[d.Pos] != 'n'
		return d.id(&n.Parent)
	case "children":
		return d.ids(&n.Children)
	case "callFrame":
		return d.members(func(key []byte) error {
			v, err := d.Value()
			n.function(string(key), v, 1)
			return err
		})
	case "scriptId": // as text
		return d.skip()
	}
	return c.unread(d, key)
}

// function decodes what a node says of its function. first is added to lines so that they count from 1.
func (n *Node) function(key string, v jsonlex.Value, first int64) {
	switch {
	case key == "lineNumber" && v.Kind == jsonlex.Integer && v.Int >= 0 && v.Int < math.MaxInt32:
		n.Line = v.Int + first
	case v.Kind != jsonlex.Text:
	case key == "functionName":
		n.Function = string(v.Raw)
	case key == "url":
		n.URL = string(v.Raw)
	}
}

// decoder moves past values that have the wrong type.
type decoder struct{ jsonlex.Lexer }

func (d *decoder) skip() error {
	_, err := d.Value()
	return err
}

func (d *decoder) members(f func(key []byte) error) error {
	if d.Buf[d.Pos] != '{' {
		return d.skip()
	}
	return d.EachMember(f)
}

func (d *decoder) elements(f func() error) error {
	if d.Buf[d.Pos] != '[' {
		return d.skip()
	}
	return d.EachElement(f)
}

func (d *decoder) integer() (int64, error) {
	if n, ok := d.Digits(); ok {
		return n, nil
	}
	v, err := d.Value()
	if v.Kind != jsonlex.Integer {
		v.Int = 0
	}
	return v.Int, err
}

// time decodes a time in µs, which an old file has in seconds.
func (d *decoder) time(to, old *int64, found *bool) error {
	v, err := d.Value()
	if ns, ok := v.Scaled(3); ok {
		*to, *found = ns, true
	}
	if ns, ok := v.Scaled(9); ok {
		*old = ns
	}
	return err
}

// times decodes times in µs, which some writers give with decimals.
func (d *decoder) times(to *[]int64) error {
	*to = (*to)[:0]
	return d.elements(func() error {
		v, err := d.Value()
		ns, _ := v.Scaled(3)
		*to = append(*to, ns)
		return err
	})
}

func (d *decoder) id(to *uint32) error {
	n, err := d.integer()
	if n < 0 || n > math.MaxUint32 {
		n = 0
	}
	*to = uint32(n)
	return err
}

func (d *decoder) ids(to *[]uint32) error {
	*to = (*to)[:0]
	return d.elements(func() error {
		var id uint32
		err := d.id(&id)
		*to = append(*to, id)
		return err
	})
}
