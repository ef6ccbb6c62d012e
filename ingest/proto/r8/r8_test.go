package r8

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// show returns a message as text: the number and value of each field, with messages in braces.
func show(t *testing.T, message []byte, depth int) string {
	t.Helper()
	var fields []string
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		message = message[n:]
		text := string(rune('0' + number))
		if typ == protowire.VarintType {
			v, n := protowire.ConsumeVarint(message)
			text, message = text+":"+string(rune('0'+v)), message[n:]
		} else {
			v, n := protowire.ConsumeBytes(message)
			message = message[n:]
			if depth > 0 && number >= 3 {
				text += "{" + show(t, v, depth-1) + "}"
			} else {
				text += ":" + string(v)
			}
		}
		fields = append(fields, text)
	}
	return strings.Join(fields, " ")
}

const mapping = `# compiler: R8
com.example.Shape -> a.b:
# {"id":"sourceFile","fileName":"Shape.java"}
    int sides -> a
    3:5:void draw(int):7:9 -> b
    3:5:void Other.inlined():4 -> b
    void plain(int,java.lang.String) -> c
      # {"id":"com.android.tools.r8.synthesized"}

com.example.Empty -> c:
    nonsense
    void last() -> d`

func TestReader(t *testing.T) {
	r := NewReader(iotest.OneByteReader(strings.NewReader(mapping)), "com.example")
	trace, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1:com.example 3{1:a.b 2:com.example.Shape 3{1:a 2:sides} 4{1:b 2:draw 3:3 4:5 5:7 6:9} 4{1:b 2:Other.inlined 3:3 4:5 5:4 6:4} 4{1:c 2:plain}}",
		"1:com.example 3{1:c 2:com.example.Empty 4{1:d 2:last}}",
	}
	var got []string
	for len(trace) > 0 {
		_, _, n := protowire.ConsumeTag(trace)
		packet, m := protowire.ConsumeBytes(trace[n:])
		trace = trace[n+m:]
		number, _, n := protowire.ConsumeTag(packet)
		if number != 64 {
			t.Fatalf("packet of kind %d", number)
		}
		names, _ := protowire.ConsumeBytes(packet[n:])
		got = append(got, show(t, names, 2))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if at := int64(strings.Index(mapping, "    nonsense")); !slices.Equal(r.Invalid, []int64{at}) {
		t.Errorf("invalid lines at %d, want %d", r.Invalid, at)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		mapping: true, "a -> b:\n": true, "\n# comment\r\na.B -> c:\r\n": true,
		"": false, "# comment": false, "a -> b\n": false, "    int a -> b\n": false, "a;b 1\n": false, "a -> :\n": false,
	} {
		if Sniff([]byte(text)) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestPackage(t *testing.T) {
	for file, want := range map[string]string{
		"com.example.app.txt": "com.example.app", "com.example.app.txt.gz": "com.example.app", "mapping.txt.zst": "",
		"maps/com.example/mapping.txt": "com.example", "com.example/2.0/mapping.txt": "com.example",
		"mapping.txt": "", "app-release.txt": "", "/": "", "": "", "com..example.txt": "",
	} {
		if got := Package(file); got != want {
			t.Errorf("%s: package %q, want %q", file, got, want)
		}
	}
}

// The reader returns whole packets for any text.
func FuzzReader(f *testing.F) {
	f.Add(mapping)
	fuzz.Run(f, func(t *testing.T, text string) {
		trace, err := io.ReadAll(NewReader(strings.NewReader(text), "com.example"))
		if err != nil && !errors.Is(err, format.ErrCorrupt) {
			t.Fatal(err)
		}
		packets := wire.Read(trace)
		for packets.Next() {
			packet := wire.Read(packets.Bytes())
			if !packet.Next() || packet.Next() || packet.Bad() {
				t.Errorf("packet %x", packets.Bytes())
			}
		}
		if packets.Bad() {
			t.Errorf("trace %x", trace)
		}
	})
}

func TestOtherText(t *testing.T) {
	if _, err := io.ReadAll(NewReader(strings.NewReader("a -> b:\n"+strings.Repeat("text\n", maxInvalid+1)), "")); !errors.Is(err, format.ErrCorrupt) {
		t.Error(err)
	}
}
