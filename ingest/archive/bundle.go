package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"sort"
)

// tarBlock is the size to which tar pads headers and members, in bytes.
const tarBlock = 512

// Bundle is a tar archive of files that stay where they are. It generates the
// headers, and reads the files only when their bytes are asked for.
type Bundle struct {
	parts []part
	size  int64 // bytes, without the end-of-archive blocks
}

// part is a run of bytes of a bundle.
type part struct {
	from int64
	io.ReaderAt
	size int64
}

// Add appends a file with this name and size in bytes.
func (b *Bundle) Add(name string, size int64, file io.ReaderAt) error {
	var header bytes.Buffer
	if err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	b.add(bytes.NewReader(header.Bytes()), int64(header.Len()))
	b.add(file, size)
	b.add(zeros{}, -size&(tarBlock-1))
	return nil
}

func (b *Bundle) add(r io.ReaderAt, size int64) {
	b.parts = append(b.parts, part{b.size, r, size})
	b.size += size
}

// Size returns the size of the archive in bytes.
func (b *Bundle) Size() int64 { return b.size + 2*tarBlock }

// ReadAt implements io.ReaderAt.
func (b *Bundle) ReadAt(p []byte, offset int64) (n int, err error) {
	end := part{b.size, zeros{}, 2 * tarBlock}
	i := sort.Search(len(b.parts), func(i int) bool { return b.parts[i].from > offset }) - 1
	for ; n < len(p); i++ {
		at := end
		if i < len(b.parts) {
			at = b.parts[i]
		}
		from := offset + int64(n) - at.from
		most := min(int64(len(p)-n), at.size-from)
		if most <= 0 && i >= len(b.parts) {
			return n, io.EOF
		}
		if most <= 0 {
			continue
		}
		read, err := at.ReadAt(p[n:n+int(most)], from)
		n += read
		if int64(read) < most {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // the file has become shorter
			}
			return n, err
		}
	}
	return n, nil
}

// zeros is an endless run of zero bytes.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
