package ingest_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
)

// words are those of logs, tables and programs.
var words = strings.Fields(`error warning info main thread open close 0 1 2 17 4096 0x7f 12:30:01 2024-05-06 [main] (pid=7) key=value a;b;c x,y "text" {} [] -> => :: ... # // /usr/lib/libc.so
	* ** - + 2. *) if (x) { return; } func class def import SELECT FROM caf\u00e9 \u4e16\u754c 100% 3.14 -1 NULL true <b> </b> &amp; @ $HOME \t |`)

// texts are generators of texts that are no trace.
var texts = map[string]func(r *rand.Rand) string{
	"log": func(r *rand.Rand) string {
		return fmt.Sprintf("2024-%02d-%02d %02d:%02d:%02d.%03d %s", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), some(r, 8))
	},
	"numbered": func(r *rand.Rand) string {
		return fmt.Sprintf("%d%s %s", r.IntN(30), pick(r, ".", ":", ")", "", " |"), some(r, 6))
	},
	"list": func(r *rand.Rand) string { return pick(r, "* ", "- ", "  * ", "2 ", "*") + some(r, 5) },
	"csv":  func(r *rand.Rand) string { return strings.ReplaceAll(some(r, 6), " ", pick(r, ",", "\t", ";")) },
	"source": func(r *rand.Rand) string {
		return strings.Repeat("\t", r.IntN(4)) + some(r, 5) + pick(r, ";", " {", "}", "")
	},
	"words": func(r *rand.Rand) string { return some(r, 12) },
	"json": func(r *rand.Rand) string {
		return fmt.Sprintf(`{"%s": %d, "b": ["%s"]}`, some(r, 1), r.IntN(99), pick(r, "x", "y"))
	},
	"blank": func(r *rand.Rand) string { return pick(r, "", " ", "", some(r, 1)) },
}

// binaries are generators of files that are no trace.
var binaries = map[string]func(r *rand.Rand) []byte{
	"random":  func(r *rand.Rand) []byte { return noise(r, nil) },
	"PNG":     func(r *rand.Rand) []byte { return noise(r, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")) },
	"JPEG":    func(r *rand.Rand) []byte { return noise(r, []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00")) },
	"ELF":     func(r *rand.Rand) []byte { return noise(r, []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00")) },
	"class":   func(r *rand.Rand) []byte { return noise(r, []byte("\xca\xfe\xba\xbe\x00\x00\x00\x41")) },
	"WASM":    func(r *rand.Rand) []byte { return noise(r, []byte("\x00asm\x01\x00\x00\x00")) },
	"zeros":   func(r *rand.Rand) []byte { return noise(r, make([]byte, 1+r.IntN(4))) },
	"UTF-16":  func(r *rand.Rand) []byte { return utf16LE(some(r, 40)) },
	"message": func(r *rand.Rand) []byte { return message(r, 3) },
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func some(r *rand.Rand, most int) string {
	all := make([]string, 1+r.IntN(most))
	for i := range all {
		all[i] = pick(r, words...)
	}
	return strings.Join(all, " ")
}

func noise(r *rand.Rand, start []byte) []byte {
	for range 16 + r.IntN(2000) {
		start = append(start, byte(r.Uint32()))
	}
	return start
}

func utf16LE(text string) (b []byte) {
	for _, c := range text {
		b = binary.LittleEndian.AppendUint16(b, uint16(c))
	}
	return b
}

// message returns a message of protobuf's wire format with any fields.
func message(r *rand.Rand, depth int) (b []byte) {
	for range 1 + r.IntN(6) {
		field := uint64(1 + r.IntN(20))
		switch r.IntN(4) {
		case 0:
			b = binary.AppendUvarint(binary.AppendUvarint(b, field<<3), r.Uint64()>>r.IntN(64))
		case 1:
			b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, field<<3|1), r.Uint64())
		default:
			inner := []byte(some(r, 3))
			if depth > 0 && r.IntN(2) == 0 {
				inner = message(r, depth-1)
			}
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(inner))), inner...)
		}
	}
	return b
}

// ofMessages are the formats of protobuf's messages, which no text is in.
var ofMessages = []string{"pprof", "otlp", "proto", "xplane", "primes", "symbols"}

// A text or a file of another kind is not taken for a trace, unless what is read says what was lost.
func TestOtherFiles(t *testing.T) {
	check := func(kind string, n int, data []byte) {
		if o := outcomeOf("x", data); o.err == nil && len(o.rows) <= 3 && len(o.losses) == 0 { // machine, process and thread
			t.Errorf("%s %d: read as %v, rows %v: %.60q", kind, n, o.formats, o.rows, data)
		}
	}
	const each = 1000
	n := 0
	for n < each {
		for _, kind := range slices.Sorted(maps.Keys(texts)) {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			var text strings.Builder
			for range 1 + r.IntN(40) {
				text.WriteString(texts[kind](r) + "\n")
			}
			check(kind, n, []byte(text.String()))
			if f := ingest.Detect([]byte(text.String())); f != nil && slices.Contains(ofMessages, f.Name) {
				t.Errorf("%s %d is %s: %.60q", kind, n, f, text.String())
			}
			n++
		}
	}
	for n = 0; n < each; {
		for _, kind := range slices.Sorted(maps.Keys(binaries)) {
			check(kind, n, binaries[kind](rand.New(rand.NewPCG(uint64(n), 2))))
			n++
		}
	}
}
