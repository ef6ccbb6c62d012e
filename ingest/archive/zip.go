package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
)

// Zip is the format of ZIP archives with stored, deflated or Zstandard members.
var Zip = &format.Format{
	Name: "zip", Container: true, Turn: format.TurnContainer,
	Sniff:       func(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) },
	Read:        readZip,
	Unsupported: []format.Signature{{Name: "an empty ZIP archive", Bytes: "PK\x05\x06"}},
}

func readZip(in *format.Input) error {
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	s := &store{file}
	archive, err := zip.NewReader(s, s.Size)
	if err != nil {
		return s.fault(fmt.Errorf("central directory: %w", err), s.Size)
	}
	archive.RegisterDecompressor(zip.Deflate, inflate)
	archive.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)))
	files := slices.DeleteFunc(archive.File, func(f *zip.File) bool { return f.FileInfo().IsDir() })
	if err := s.checkOverlaps(files); err != nil {
		return err
	}
	var members []format.Member
	for _, f := range files {
		members = append(members, format.Member{Name: f.Name, Size: int64(f.CompressedSize64), Modified: f.Modified,
			Open: func() (io.ReadCloser, error) { return s.openZipped(f) }})
	}
	return in.Members(members)
}

// inflaters are used again: an archive may have very many small members.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflater inflates until it is closed.
type inflater struct{ io.ReadCloser }

func inflate(r io.Reader) io.ReadCloser {
	f := inflaters.Get().(io.ReadCloser)
	_ = f.(flate.Resetter).Reset(r, nil) // fails only for a dictionary
	return &inflater{f}
}

func (i *inflater) Read(p []byte) (int, error) {
	if i.ReadCloser == nil {
		return 0, fs.ErrClosed
	}
	return i.ReadCloser.Read(p)
}

func (i *inflater) Close() error {
	f := i.ReadCloser
	if f == nil {
		return nil
	}
	i.ReadCloser = nil
	err := f.Close()
	inflaters.Put(f)
	return err
}

// encrypted is the flag bit of password-protected members.
const encrypted = 1

func (s *store) openZipped(f *zip.File) (io.ReadCloser, error) {
	if f.Flags&encrypted != 0 {
		return nil, format.Errorf(format.ErrUnsupported, -1, "encrypted")
	}
	r, err := f.Open()
	switch {
	case err == zip.ErrAlgorithm:
		return nil, format.Errorf(format.ErrUnsupported, -1, "compression method %d", f.Method)
	case err != nil:
		return nil, s.fault(err, -1)
	}
	return &contents{ReadCloser: r, store: s}, nil
}

// checkOverlaps refuses archives whose members share bytes: a few bytes could
// stand for any number of large members.
func (s *store) checkOverlaps(files []*zip.File) error {
	type extent struct{ from, to int64 }
	var all []extent
	for _, f := range files {
		from, err := f.DataOffset()
		if err != nil {
			return s.fault(fmt.Errorf("%q: %w", f.Name, err), -1)
		}
		if f.CompressedSize64 > uint64(s.Size) {
			return format.Errorf(format.ErrCorrupt, from, "%q is larger than the archive", f.Name)
		}
		all = append(all, extent{from, from + int64(f.CompressedSize64)})
	}
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(all); i++ {
		if all[i].from < all[i-1].to {
			return format.Errorf(format.ErrCorrupt, all[i].from, "members overlap")
		}
	}
	return nil
}
