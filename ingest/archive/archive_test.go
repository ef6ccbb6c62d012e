package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/model"
)

// member is a file to put into an archive.
type member struct{ name, data string }

// build returns a build log of one job.
func build(job string) string { return "# ninja log v5\n0\t5\t0\t" + job + "\t1\n" }

const (
	systrace = "# tracer: nop\n#\n  app-100 (  100) [001] ...1  1.000000: tracing_mark_write: B|100|draw\n" +
		"  app-100 (  100) [001] ...1  1.500000: tracing_mark_write: E|100\n"
	// perfetto is a trace in which the boot clock is 500 ms ahead of the monotonic one.
	perfetto = "\x0a\x16\x32\x14\x0a\x08\x08\x06\x10\x80\x94\xeb\xdc\x03\x0a\x08\x08\x03\x10\x80\xca\xb5\xee\x01"
)

func zipped(t *testing.T, method uint16, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	for _, m := range members {
		f, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, form tar.Format, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, Format: form}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gz(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func TestMembers(t *testing.T) {
	members := []member{
		{"dir/", ""},
		{"b.log", build("b")},
		{"__MACOSX/._b.log", "no trace"},
		{".hidden/c.log", "no trace"},
		{strings.Repeat("deep/", 40) + "a.log", build("a")},
	}
	const long = "deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/" +
		"deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/deep/a.log"
	archives := map[string][]byte{
		"zip|stored":    zipped(t, zip.Store, members...),
		"zip|deflated":  zipped(t, zip.Deflate, members...),
		"zip|zstd":      zipped(t, zstd.ZipMethodWinZip, members...),
		"tar|pax":       tarred(t, tar.FormatPAX, members...),
		"tar|gnu":       tarred(t, tar.FormatGNU, members...),
		"tar|in a gzip": gz(tarred(t, tar.FormatPAX, members...)),
	}
	for name, data := range archives {
		tables := ingesttest.MustRead(t, "x", data)
		container, how, _ := strings.Cut(name, "|")
		var want []string
		parent := "NULL"
		order := 0
		if how == "in a gzip" {
			want, parent, order = []string{"x|gzip|NULL|0"}, "0", 1
		}
		own := len(want)
		want = append(want, fmt.Sprintf("x|%s|%s|%d", container, parent, order),
			fmt.Sprintf("b.log|ninja_log|%d|%d", own, order+1), fmt.Sprintf("%s|ninja_log|%d|%d", long, own, order+2))
		tables.Want(t, "trace_file", "name|trace_type|parent_id|processing_order", want...)
		if got := tables.Rows("slice", "name"); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("%s: slices %q", name, got)
		}
		tables.Want(t, "stats", "name|value|description", "unread_fact|2|hidden files are not read")
	}
}

func TestOrder(t *testing.T) {
	symbols := "\x0a\x04\xea\x03\x01\x00"
	tables := ingesttest.MustRead(t, "x", zipped(t, zip.Deflate,
		member{"1.sym", symbols}, member{"2.log", build("2")}, member{"3.gz", string(gz([]byte(build("3"))))}, member{"4.pb", perfetto},
		member{"5.txt", systrace}))
	tables.Want(t, "trace_file", "name|trace_type|processing_order", "x|zip|0", "1.sym|"+kind(tables, "1.sym")+"|6", "2.log|ninja_log|4",
		"3.gz|gzip|2", "4.pb|proto|1", "5.txt|systrace|5", "3.gz|ninja_log|3")
	// The clocks of the Perfetto trace place the systrace.
	if got := tables.Rows("slice", "name", "ts"); !slices.Contains(got, "draw|1500000000") {
		t.Errorf("slices %q", got)
	}
}

// kind returns the format that was detected for a file.
func kind(tables *ingesttest.Tables, name string) string {
	for _, row := range tables.Rows("trace_file", "name", "trace_type") {
		if n, kind, _ := strings.Cut(row, "|"); n == name {
			return kind
		}
	}
	return ""
}

func TestArchivesInArchives(t *testing.T) {
	data := zipped(t, zip.Store, member{"a.log", build("a")})
	for range 3 {
		data = tarred(t, tar.FormatPAX, member{"inner.zip", string(zipped(t, zip.Deflate, member{"inner.tar", string(data)}))})
	}
	if got := ingesttest.MustRead(t, "x", data).Rows("slice", "name"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("slices %q", got)
	}
	for range 3 {
		data = zipped(t, zip.Deflate, member{"inner.zip", string(data)})
	}
	if _, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(data)}); !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("ten deep: %v", err)
	}
}

func TestMembersThatAreNotRead(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "../../device", Typeflag: tar.TypeChar},
		{Name: "notes.txt", Size: 5, Mode: 0o644},
		{Name: "/abs/a.log", Size: int64(len(build("a"))), Mode: 0o644},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size == 5 {
			io.WriteString(w, "hello")
		} else if h.Size > 0 {
			io.WriteString(w, build("a"))
		}
	}
	w.Close()
	tables := ingesttest.MustRead(t, "x", b.Bytes())
	tables.Want(t, "stats", "name|idx|value|severity", "unread_archive_member|1|1|data_loss", "unread_archive_member|2|1|data_loss", "unread_archive_member|3|1|data_loss")
	tables.Want(t, "trace_file", "name|trace_type", "x|tar", "link|unknown", "../../device|unknown", "notes.txt|unknown", "/abs/a.log|ninja_log")
	tables.Want(t, "slice", "name", "a")
	said := strings.Join(tables.Rows("args", "string_value"), "\n")
	for _, want := range []string{"link at byte 512: a link", "../../device at byte 1024: not a file", "notes.txt at byte 0: unknown format"} {
		if !strings.Contains(said, want) {
			t.Errorf("import_log does not say %q:\n%s", want, said)
		}
	}
}

// TestMembersWithoutEvents checks that a member in which nothing was recorded is not lost, unless it is cut off.
func TestMembersWithoutEvents(t *testing.T) {
	tables := ingesttest.MustRead(t, "x", zipped(t, zip.Store, member{"a.log", build("a")}, member{"kernel/channel_0", ""}, member{"none.json", `{"traceEvents":[]}`},
		member{"kernel/metadata", "/* CTF 1.8 */ trace { byte_order = le; }; stream { }; event { name = e; fields := struct { }; };"}))
	tables.Want(t, "slice", "name", "a")
	tables.Want(t, "stats", "name|value|effect|description", "unread_fact|1|not_read|archive member without events (kernel/metadata) is not read",
		"unread_fact|1|not_read|archive member without events (none.json) is not read")
	tables = ingesttest.MustRead(t, "x", zipped(t, zip.Store, member{"a.log", build("a")}, member{"cut.json", `{"traceEvents":[`}))
	tables.Want(t, "stats", "name|effect", "truncated_input|damaged", "unread_fact|not_read")
}

func TestBadArchives(t *testing.T) {
	whole := zipped(t, zip.Deflate, member{"a.log", build("a")}, member{"b.log", strings.Repeat(build("b"), 100)})
	encrypted := bytes.Clone(whole)
	for _, signature := range []string{"PK\x03\x04", "PK\x01\x02"} {
		for at := 0; ; at++ {
			n := bytes.Index(encrypted[at:], []byte(signature))
			if n < 0 {
				break
			}
			at += n
			encrypted[at+map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8}[signature]] |= 1
		}
	}
	damaged := zipped(t, zip.Deflate, member{"a.txt", systrace}, member{"b.log", build("b")})
	damaged[bytes.Index(damaged, []byte("PK\x01\x02"))+16] ^= 0xff // the checksum of the first
	tarball := tarred(t, tar.FormatPAX, member{"a.log", build("a")}, member{"b.log", strings.Repeat(build("b"), 100)})
	var endless bytes.Buffer
	if err := tar.NewWriter(&endless).WriteHeader(&tar.Header{Name: "a.log", Size: math.MaxInt64, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data  []byte
		kind  error
		error string
	}{
		"cut ZIP":         {whole[:len(whole)-30], format.ErrCorrupt, "central directory"},
		"cut tar":         {tarball[:3000], format.ErrCorrupt, "truncated"},
		"endless tar":     {endless.Bytes(), format.ErrCorrupt, "truncated"},
		"encrypted":       {encrypted, format.ErrUnsupported, "encrypted"},
		"nothing in it":   {zipped(t, zip.Store, member{".hidden", "x"}), format.ErrEmpty, "no files"},
		"unknown members": {zipped(t, zip.Store, member{"a.txt", "hello"}), format.ErrUnknown, "a.txt"},
		"overlaps":        {overlapping(), format.ErrCorrupt, "members overlap"},
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(test.data)})
		if !format.BadInput(err) || !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.error) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	tables := ingesttest.MustRead(t, "x", damaged)
	tables.Want(t, "stats", "name|value", "unread_archive_member|1")
	tables.Want(t, "slice", "name", "b")
}

// overlapping returns an archive with two members that share their bytes.
func overlapping() []byte {
	var b bytes.Buffer
	data := build("a")
	w := zip.NewWriter(&b)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "a.log", Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(data)),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))})
	io.WriteString(f, data)
	w.Close()
	whole := b.Bytes()
	directory := bytes.Index(whole, []byte("PK\x01\x02"))
	end := bytes.Index(whole, []byte("PK\x05\x06"))
	entry := whole[directory:end]
	tail := bytes.Clone(whole[end:])
	tail[8], tail[10] = 2, 2
	tail[12] = byte(2 * len(entry))
	return slices.Concat(whole[:directory], entry, entry, tail)
}

// TestNames checks that names are not used as paths: members with any name are read.
func TestNames(t *testing.T) {
	names := []string{"../../up.log", "/absolute.log", `C:\drive\..\a.log`, strings.Repeat("a/", 1<<15-10) + "deep.log", "\xff\xfe.log", "same", "same"}
	var members []member
	for _, name := range names {
		members = append(members, member{name, build("job")})
	}
	dir := t.TempDir()
	t.Chdir(dir)
	tables := ingesttest.MustRead(t, "x", zipped(t, zip.Deflate, members...))
	if n := len(tables.Rows("slice", "id")); n != len(names) {
		t.Errorf("%d slices of %d members", n, len(names))
	}
	tables.Want(t, "stats", "name", "invalid_utf8")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("in the folder are %v, %v", files, err)
	}
}

// TestInPlace checks that an archive with random access is read without a copy.
func TestInPlace(t *testing.T) {
	members := []member{{"b.log", build("b")}, {"a.zip", string(zipped(t, zip.Deflate, member{"a.log", build("a")}))}}
	nowhere := ingest.Options{TempDir: filepath.Join(t.TempDir(), "missing")}
	for name, data := range map[string][]byte{
		"zip": zipped(t, zip.Store, members[0]), "tar": tarred(t, tar.FormatPAX, members[0]),
		"an archive in it": zipped(t, zip.Store, members...), "in a gzip": gz(zipped(t, zip.Store, members[0])),
	} {
		inPlace := nowhere
		inPlace.At = io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
		store := model.NewStore(model.Options{})
		err := ingest.Read(store, "x", bytes.NewReader(data), inPlace)
		if copies := name != "zip" && name != "tar"; copies != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, in place: %v", name, err)
		}
		if err := ingest.Read(store, "x", bytes.NewReader(data), nowhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, in order: %v", name, err)
		}
	}
}

func TestManyMembers(t *testing.T) {
	var members []member
	for i := range 3000 {
		members = append(members, member{fmt.Sprintf("%d.txt", i), "no"})
	}
	members = append(members, member{"z.log", build("z")})
	tables, err := ingesttest.Read(t, ingesttest.File{Name: "x", Reader: bytes.NewReader(zipped(t, zip.Store, members...))})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tables.Rows("slice", "id")); n != 1 {
		t.Errorf("%d slices", n)
	}
	if n := len(tables.Rows("stats", "name")); n != 3000 {
		t.Errorf("%d members were counted", n)
	}
}

func FuzzArchives(f *testing.F) {
	t := new(testing.T)
	f.Add(zipped(t, zip.Deflate, member{"a.log", build("a")}, member{"b.pb", perfetto}))
	f.Add(tarred(t, tar.FormatGNU, member{"a.log", build("a")}, member{"b.pb", perfetto}))
	f.Add(overlapping())
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte("PK")) && !bytes.Contains(data[:min(len(data), 300)], []byte("ustar")) {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}

// A damaged file does not make the size of the compressed file around it depend on how far that was decompressed ahead.
func TestSizeOfDamagedMember(t *testing.T) {
	text := make([]byte, 2<<20) // random digits after an event that cannot be read
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(text)
	for i := range text {
		text[i] = '0' + text[i]%10
	}
	damaged := gz(append([]byte(`[{"ph":"i","name":"a","ts":1,"pid":1,"tid":1},!`), text...))
	tables := ingesttest.MustRead(t, "x", zipped(t, zip.Store, member{"a.log", build("a")}, member{"b.json.gz", string(damaged)}))
	want := fmt.Sprintf("b.json.gz|gzip|%d", len(damaged))
	if rows := tables.Rows("trace_file", "name", "trace_type", "size"); !slices.Contains(rows, want) {
		t.Errorf("%q, want %s", rows, want)
	}
}
