package many

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"strconv"
)

// Files in other files.
var members = []Format{
	{Name: "tar-members", whole: func(_ []byte, n int) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := range n {
			w.WriteHeader(&tar.Header{Name: "a" + strconv.Itoa(i), Size: int64(len(tinyTrace)), Mode: 0o644})
			w.Write([]byte(tinyTrace))
		}
		w.Close()
		return b.Bytes()
	}},
	{Name: "zip-members", whole: func(_ []byte, n int) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := range n {
			member, _ := w.Create("a" + strconv.Itoa(i))
			member.Write([]byte(tinyTrace))
		}
		w.Close()
		return b.Bytes()
	}},
	// A line in each member.
	{Name: "gzip-members", whole: func(_ []byte, n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte("# ninja log v5\n"))
		for i := range n {
			w.Close()
			w.Reset(&b)
			w.Write(strconv.AppendInt(nil, int64(i), 10))
			w.Write([]byte("\t"))
			w.Write(strconv.AppendInt(nil, int64(i)+1, 10))
			w.Write([]byte("\t0\tj\t1\n"))
		}
		w.Close()
		return b.Bytes()
	}},
}

// tinyTrace is a log of ninja's.
const tinyTrace = "# ninja log v5\n0\t5\t0\tj\t1\n"
