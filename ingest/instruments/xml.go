package instruments

import (
	"bytes"
	"errors"
	"html"
	"io"
)

const (
	readBytes = 256 << 10
	// maxTag is the maximum size in bytes of a tag, or of the text between two tags.
	maxTag = 1 << 20
)

var (
	errTooLong = errors.New("a tag or text of more than 1 MiB")
	errTag     = errors.New("malformed tag")
)

// scanner splits XML into tags and the texts before them. It does not check what does
// not matter here, such as attribute names.
type scanner struct {
	in  io.Reader
	buf []byte
	pos int
	// base is how many bytes of the input are before buf.
	base int64

	// The tag that next found; valid until the next call.
	text   []byte // before the tag
	name   []byte
	attrs  []byte
	closes bool // it is a closing tag
	empty  bool // it is an empty-element tag
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// more reads more input, and keeps the buffer from the position on. It returns io.EOF
// at the end of the input.
func (s *scanner) more() error {
	kept := copy(s.buf, s.buf[s.pos:])
	s.base += int64(s.pos)
	s.buf, s.pos = s.buf[:kept], 0
	if kept > 2*maxTag {
		return errTooLong
	}
	if cap(s.buf)-kept < readBytes {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)+readBytes), s.buf...)
	}
	n, err := s.in.Read(s.buf[kept : kept+readBytes])
	s.buf = s.buf[:kept+n]
	if n > 0 || err == nil {
		return nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// find returns the offset of the text, relative to the position. It searches from the
// offset from.
func (s *scanner) find(text string, from int) (int, error) {
	for {
		if at := bytes.Index(s.buf[s.pos+from:], []byte(text)); at >= 0 {
			return from + at, nil
		}
		from = max(from, len(s.buf)-s.pos-len(text)+1)
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

// next finds the next tag. It returns io.EOF at the end of the input.
func (s *scanner) next() error {
	for {
		start, err := s.find("<", 0)
		if err != nil {
			return err
		}
		end, err := s.end(start + 1)
		if err != nil {
			return err
		}
		s.text, s.name = s.buf[s.pos:s.pos+start], s.buf[s.pos+start+1:s.pos+end]
		s.pos += end + 1
		if c := s.name[:min(1, len(s.name))]; string(c) != "?" && string(c) != "!" {
			break
		}
	}
	s.closes = len(s.name) > 0 && s.name[0] == '/'
	if s.closes {
		s.name = s.name[1:]
	}
	s.empty = len(s.name) > 0 && s.name[len(s.name)-1] == '/'
	if s.empty {
		s.name = s.name[:len(s.name)-1]
	}
	s.attrs = nil
	if i := bytes.IndexAny(s.name, " \t\r\n"); i >= 0 {
		s.name, s.attrs = s.name[:i], s.name[i+1:]
	}
	if len(s.name) == 0 {
		return errTag
	}
	return nil
}

// end returns the offset of the end of the tag or comment whose contents begin at
// from.
func (s *scanner) end(from int) (int, error) {
	for len(s.buf)-s.pos < from+len("![CDATA[") {
		if err := s.more(); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
	}
	inside := s.buf[s.pos+min(from, len(s.buf)-s.pos):]
	for begin, end := range map[string]string{"!--": "-->", "![CDATA[": "]]>", "?": "?>"} {
		if bytes.HasPrefix(inside, []byte(begin)) {
			at, err := s.find(end, from+len(begin))
			return at + len(end) - 1, err
		}
	}
	var quote byte
	for at := from; ; at++ {
		if s.pos+at == len(s.buf) {
			if err := s.more(); err != nil {
				return 0, err
			}
			at--
			continue
		}
		switch c := s.buf[s.pos+at]; {
		case c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return at, nil
		}
	}
}

// each calls f for each attribute of the tag.
func (s *scanner) each(f func(name, value []byte)) error {
	for rest := s.attrs; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) == 0 {
			return nil
		}
		name, value, ok := bytes.Cut(rest, []byte("="))
		value = bytes.TrimLeft(value, " \t\r\n")
		if !ok || len(value) == 0 || value[0] != '"' && value[0] != '\'' {
			return errTag
		}
		end := bytes.IndexByte(value[1:], value[0])
		if end < 0 {
			return errTag
		}
		rest = value[end+2:]
		f(bytes.TrimSpace(name), unescape(value[1:end+1]))
	}
}

// unescape resolves the entities of a text.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}
