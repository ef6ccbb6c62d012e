package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// decoded is a text as UTF-8 without its byte order mark, which editors and shells of Windows put before the text that they save.
// A text with a mark may be UTF-16.
type decoded struct {
	r       io.Reader
	where   string           // what the offsets of its bytes refer to
	order   binary.ByteOrder // of UTF-16, nil for UTF-8
	in, out []byte           // what is not decoded yet, and what is not returned yet
	err     error            // of r
	invalid int64            // code units that are no text
}

// decode returns the text after the byte order mark in head, the first bytes of a file, and in rest. It returns nil if there is no mark.
func decode(head []byte, rest io.Reader) *decoded {
	after := func(mark int) io.Reader { return io.MultiReader(bytes.NewReader(bytes.Clone(head[mark:])), rest) }
	const wide = "in the text decoded from UTF-16"
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return &decoded{r: after(3), where: "in the text after the byte order mark"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return &decoded{r: after(2), where: wide, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return &decoded{r: after(2), where: wide, order: binary.BigEndian}
	}
	return nil
}

// decodeHead returns the first bytes of a file as its format sees them.
func decodeHead(head []byte) []byte {
	if text := decode(head, bytes.NewReader(nil)); text != nil {
		head, _ = io.ReadAll(text) // readers of bytes do not fail
	}
	return head
}

func (d *decoded) Read(p []byte) (int, error) {
	if d.order == nil {
		return d.r.Read(p)
	}
	for len(d.out) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.fill()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// fill reads some more, and decodes all of it but what is incomplete.
func (d *decoded) fill() {
	if d.in == nil {
		d.in = make([]byte, 0, 32<<10)
	}
	n, err := d.r.Read(d.in[len(d.in):cap(d.in)])
	d.in, d.out, d.err = d.in[:len(d.in)+n], d.out[:0], err
	rest := d.in
	for len(rest) >= 4 || len(rest) > 0 && err != nil {
		r, size := d.first(rest)
		if r < 0 {
			d.invalid++
		}
		d.out = utf8.AppendRune(d.out, r) // -1 becomes U+FFFD
		rest = rest[size:]
	}
	d.in = d.in[:copy(d.in, rest)]
}

// first returns the first character of UTF-16 and its size in bytes, or -1 for half of one.
func (d *decoded) first(text []byte) (r rune, size int) {
	if len(text) < 2 {
		return -1, len(text)
	}
	r = rune(d.order.Uint16(text))
	if !utf16.IsSurrogate(r) {
		return r, 2
	}
	if len(text) >= 4 {
		if r = utf16.DecodeRune(r, rune(d.order.Uint16(text[2:]))); r != utf8.RuneError {
			return r, 4
		}
	}
	return -1, 2
}

// finish counts what is no text. If the file has an error, it says where its offset counts from.
func (d *decoded) finish(file *model.File, err error) error {
	if d.invalid > 0 {
		file.Add(model.StatInvalidUTF8, model.None, d.invalid)
	}
	var e *format.Error
	if errors.As(err, &e) && e.File == "" && e.Offset >= 0 {
		e.Err = fmt.Errorf("%s: %w", d.where, e.Err)
	}
	return err
}
