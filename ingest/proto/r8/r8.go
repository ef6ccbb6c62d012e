// Package r8 converts the text file in which the obfuscators R8 and ProGuard list the classes,
// fields and methods that they renamed
// (https://r8.googlesource.com/r8/+/refs/heads/main/doc/retrace.md) to packets of a trace:
//
//	com.example.Shape -> a.b:
//	    int sides -> a
//	    3:5:void draw(int):70:72 -> b
package r8

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

var arrow = []byte("->")

// Sniff reports whether the first line that is not a comment names a class.
func Sniff(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSuffix(line, []byte("\n")); !skipped(line) {
			_, _, ok := class(line)
			return ok
		}
	}
	return false
}

// packageName is the name of an Android package, which has at least two parts.
var packageName = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)+$`)

// Package returns the package in the name or path of a file, such as com.example in
// com.example.txt, com.example.txt.gz or com.example/mapping.txt, or "".
func Package(file string) string {
	switch path.Ext(file) {
	case ".gz", ".zst", ".xz", ".bz2":
		file = file[:len(file)-len(path.Ext(file))]
	}
	for file = file[:len(file)-len(path.Ext(file))]; file != "." && file != "/"; file = path.Dir(file) {
		if name := path.Base(file); packageName.MatchString(name) {
			return name
		}
	}
	return ""
}

// Reader reads a mapping as a trace, with one packet for each class.
type Reader struct {
	lines   *lines.Reader
	pkg     string
	packets []byte // not read yet
	class   []byte // an ObfuscatedClass, nil before the first
	ended   bool

	Invalid []int64 // offsets of lines that are no class, member or comment
	Cut     bool    // the last of them lacks its end
}

// maxInvalid limits the memory for invalid lines. A file with more of them probably has another format.
const maxInvalid = 10_000

// NewReader returns a reader of the mapping in text. pkg is the package that the names belong to,
// or "" if unknown.
func NewReader(text io.Reader, pkg string) *Reader {
	return &Reader{lines: lines.NewReader(text), pkg: pkg}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.packets) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		var line []byte
		if r.ended = !r.lines.Next(); !r.ended {
			line = r.lines.Bytes()
		} else if err := r.lines.Err(); err != nil {
			return 0, err
		} else {
			line = r.lines.Rest() // a last line without a newline
		}
		if !skipped(line) && !r.line(line) {
			if len(r.Invalid) == maxInvalid {
				return 0, format.Errorf(format.ErrCorrupt, r.lines.Offset(), "more than %d lines that do not name a class, a field or a method", maxInvalid)
			}
			r.Invalid, r.Cut = append(r.Invalid, r.lines.Offset()), r.ended
		}
		if r.ended {
			r.finish()
		}
	}
	n := copy(p, r.packets)
	r.packets = r.packets[n:]
	return n, nil
}

// skipped reports whether a line is empty or a comment.
func skipped(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// line reads a class or a member. It returns false if the line is neither.
func (r *Reader) line(line []byte) bool {
	if line[0] == ' ' || line[0] == '\t' {
		return r.class != nil && r.member(line)
	}
	from, to, ok := class(line)
	if ok {
		r.finish()
		r.class = text(nil, pb.ObfuscatedClass_ObfuscatedName, to)
		r.class = text(r.class, pb.ObfuscatedClass_DeobfuscatedName, from)
	}
	return ok
}

// class returns the names of a class: com.example.Shape -> a.b:
func class(line []byte) (from, to []byte, ok bool) {
	f := bytes.Fields(line)
	if len(f) != 3 || !bytes.Equal(f[1], arrow) || len(f[2]) < 2 {
		return nil, nil, false
	}
	to, ok = bytes.CutSuffix(f[2], []byte(":"))
	return f[0], to, ok
}

// finish makes a packet of the last class.
func (r *Reader) finish() {
	if r.class == nil {
		return
	}
	var mapping []byte
	if r.pkg != "" {
		mapping = text(mapping, pb.DeobfuscationMapping_PackageName, []byte(r.pkg))
	}
	mapping = text(mapping, pb.DeobfuscationMapping_ObfuscatedClasses, r.class)
	const packets = 1 // field number of Trace.packet
	r.packets = text(r.packets[:0], packets, text(nil, pb.TracePacket_DeobfuscationMapping, mapping))
	r.class = nil
}

// member reads a field or a method, which has parameters: TYPE NAME -> OBFUSCATED. A method may
// have line ranges in the obfuscated program (3:5:void) and in the source (draw():70:72).
func (r *Reader) member(line []byte) bool {
	f := bytes.Fields(line)
	if len(f) != 4 || !bytes.Equal(f[2], arrow) {
		return false
	}
	name, parameters, isMethod := bytes.Cut(f[1], []byte("("))
	m := text(nil, pb.ObfuscatedMember_ObfuscatedName, f[3])
	m = text(m, pb.ObfuscatedMember_DeobfuscatedName, name)
	if !isMethod {
		r.class = text(r.class, pb.ObfuscatedClass_ObfuscatedMembers, m)
		return true
	}
	_, source, _ := bytes.Cut(parameters, []byte(")"))
	if parts := bytes.SplitN(f[0], []byte(":"), 3); len(parts) == 3 {
		m = number(m, pb.ObfuscatedMember_ObfuscatedLineStart, parts[0])
		m = number(m, pb.ObfuscatedMember_ObfuscatedLineEnd, parts[1])
	}
	if parts := bytes.Split(source, []byte(":")); len(parts) > 1 {
		m = number(m, pb.ObfuscatedMember_SourceLineStart, parts[1])
		m = number(m, pb.ObfuscatedMember_SourceLineEnd, parts[len(parts)-1])
	}
	r.class = text(r.class, pb.ObfuscatedClass_ObfuscatedMethods, m)
	return true
}

func text(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// number appends a line number, unless value is not a number.
func number(to []byte, field protowire.Number, value []byte) []byte {
	n, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}
