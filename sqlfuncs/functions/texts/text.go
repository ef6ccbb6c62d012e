package texts

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

func defineText(d *define.Definer) {
	d.Scalar("hash", -1, hash)
	d.Twins("reverse", 1, textOnly("reverse", func(c sqlite.Context, s string) error {
		b := []byte(s)
		slices.Reverse(b)
		c.Text(string(b))
		return nil
	}))
	d.Twins("demangle", 1, textOnly("demangle", func(c sqlite.Context, s string) error {
		if name, ok := sqlfuncs.Demangle(s); ok {
			c.Text(name)
		}
		return nil
	}))
	d.Twins("unhex", 1, textOnly("unhex", unhex))
	d.Twins("base64_encode", 1, base64Encode)
	d.Twins("base64_decode", 1, base64Decode)
	d.Scalar("str_split", 3, split)
	d.Scalar("__intrinsic_strip_hex", 2, stripHex)
	d.Scalar("null_if_empty", 1, nullIfEmpty)
	d.Scalar("__intrinsic_zstd_compress", 1, compress)
}

// textOnly returns a function of one text. The result of NULL is NULL.
func textOnly(name string, f func(sqlite.Context, string) error) sqlite.Scalar {
	return func(c sqlite.Context, args []sqlite.Value) error {
		switch args[0].Type() {
		case sqlite.Null:
			return nil
		case sqlite.TextOf:
			return f(c, args[0].View())
		}
		return errors.New(name + ": the argument is no text")
	}
}

// hash is the FNV-1a hash of texts and integers as a signed integer.
func hash(c sqlite.Context, args []sqlite.Value) error {
	const prime = 0x100000001b3
	h := uint64(0xcbf29ce484222325)
	for i, a := range args {
		switch a.Type() {
		case sqlite.TextOf:
			for _, b := range []byte(a.View()) {
				h = (h ^ uint64(b)) * prime
			}
		case sqlite.Integer:
			for n, byte := uint64(a.Int()), 0; byte < 8; n, byte = n>>8, byte+1 {
				h = (h ^ n&0xff) * prime
			}
		default:
			return fmt.Errorf("hash: argument %d is neither a text nor an integer", i+1)
		}
	}
	c.Int(int64(h))
	return nil
}

func unhex(c sqlite.Context, s string) error {
	digits := strings.Trim(s, " \t\n\r\f\v")
	if len(digits) >= 2 && digits[0] == '0' && digits[1]|32 == 'x' {
		digits = digits[2:]
	}
	n, err := strconv.ParseInt(digits, 16, 64)
	if err != nil {
		return fmt.Errorf("unhex: %q is no hexadecimal integer of 64 bits", s)
	}
	c.Int(n)
	return nil
}

func base64Encode(c sqlite.Context, args []sqlite.Value) error {
	switch args[0].Type() {
	case sqlite.Null:
		return nil
	case sqlite.Blob:
		c.Text(base64.StdEncoding.EncodeToString(args[0].Blob()))
		return nil
	}
	return errors.New("base64_encode: the argument is no BLOB")
}

// base64Decode takes both alphabets, with padding or without.
func base64Decode(c sqlite.Context, args []sqlite.Value) error {
	switch args[0].Type() {
	case sqlite.Null:
		return nil
	case sqlite.TextOf, sqlite.Blob:
		b, err := decodeBase64(args[0].Blob())
		if err != nil {
			return fmt.Errorf("base64_decode: %w", err)
		}
		c.Blob(b)
		return nil
	}
	return errors.New("base64_decode: the argument is neither a text nor a BLOB")
}

func decodeBase64(b []byte) ([]byte, error) {
	for i, x := range b {
		switch x {
		case '-':
			b[i] = '+'
		case '_':
			b[i] = '/'
		case '\n', '\r':
			return nil, base64.CorruptInputError(i)
		}
	}
	for i := 0; i < 2 && len(b)%4 != 1 && len(b) > 0 && b[len(b)-1] == '='; i++ {
		b = b[:len(b)-1]
	}
	return base64.RawStdEncoding.AppendDecode(nil, b)
}

// split returns a part of a text between delimiters.
func split(c sqlite.Context, args []sqlite.Value) error {
	if args[1].Type() != sqlite.TextOf || args[1].View() == "" {
		return errors.New("str_split: the delimiter is no text, or is empty")
	}
	if args[2].Type() != sqlite.Integer || int32(args[2].Int()) < 0 {
		return errors.New("str_split: the number of the part is no integer, or is negative")
	}
	if args[0].Type() != sqlite.TextOf {
		return nil
	}
	n := int32(args[2].Int())
	for part := range strings.SplitSeq(args[0].View(), args[1].View()) {
		if n == 0 {
			c.Text(part)
			return nil
		}
		n--
	}
	return nil
}

// stripHex replaces hexadecimal numbers of at least so many digits by <num>. They begin after 0x, after what is neither
// letter nor digit, at the beginning, or with a decimal digit.
func stripHex(c sqlite.Context, args []sqlite.Value) error {
	const name = "__intrinsic_strip_hex"
	if t := args[0].Type(); t == sqlite.Null {
		return nil
	} else if t != sqlite.TextOf {
		return errors.New(name + ": the first argument is no text")
	}
	if t := args[1].Type(); t == sqlite.Null {
		return nil
	} else if t != sqlite.Integer || args[1].Int() < 0 {
		return errors.New(name + ": the second argument is no integer, or is negative")
	}
	c.Text(withoutHex(args[0].View(), args[1].Int()))
	return nil
}

func withoutHex(s string, digits int64) string {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	isHex := func(c byte) bool { return isDigit(c) || c|32 >= 'a' && c|32 <= 'f' }
	isAlphanumeric := func(c byte) bool { return isDigit(c) || c|32 >= 'a' && c|32 <= 'z' }
	var b strings.Builder
	for i := 0; i < len(s); {
		replace := false
		switch x := s[i]; {
		case x|32 == 'x' && i > 0 && s[i-1] == '0':
			b.WriteByte(x)
			i++
			replace = true
		case !isAlphanumeric(x):
			b.WriteByte(x)
			i++
		case i == 0 && isHex(x), isDigit(x):
		default:
			b.WriteByte(x)
			i++
			continue
		}
		from := i
		for ; i < len(s) && isHex(s[i]); i++ {
			replace = replace || isDigit(s[i])
		}
		if replace && int64(i-from) >= digits {
			b.WriteString("<num>")
		} else {
			b.WriteString(s[from:i])
		}
	}
	return b.String()
}

func nullIfEmpty(c sqlite.Context, args []sqlite.Value) error {
	switch args[0].Type() {
	case sqlite.Null:
		return nil
	case sqlite.Blob:
		if b := args[0].Blob(); len(b) > 0 {
			c.Blob(b)
		}
		return nil
	}
	return errors.New("null_if_empty: the argument is no BLOB")
}

// encoder compresses with the effort that Trace Processor makes.
var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))

func compress(c sqlite.Context, args []sqlite.Value) error {
	switch args[0].Type() {
	case sqlite.Null:
		return nil
	case sqlite.TextOf, sqlite.Blob:
		c.Blob(encoder.EncodeAll(args[0].Blob(), nil))
		return nil
	}
	return errors.New("__intrinsic_zstd_compress: the argument is neither a text nor a BLOB")
}
