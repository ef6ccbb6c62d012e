package archive

import (
	"archive/tar"
	"errors"
	"io"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
)

// magicAt is the offset of the magic string in a tar header.
const magicAt = 257

// Tar is the format of tar archives.
var Tar = &format.Format{
	Name: "tar", Container: true, Turn: format.TurnContainer,
	Sniff: func(head []byte) bool {
		return len(head) > magicAt && (strings.HasPrefix(string(head[magicAt:]), "ustar\x00") || strings.HasPrefix(string(head[magicAt:]), "ustar  \x00"))
	},
	Read: readTar,
}

func readTar(in *format.Input) error {
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	s := &store{file}
	at := io.NewSectionReader(s, 0, s.Size)
	archive := tar.NewReader(at)
	var members []format.Member
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		offset, _ := at.Seek(0, io.SeekCurrent)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("truncated archive")
		}
		if err != nil {
			return s.fault(err, offset)
		}
		if header.Typeflag == tar.TypeDir || header.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if header.Size > s.Size-offset {
			return s.fault(errors.New("truncated archive"), s.Size)
		}
		members = append(members, format.Member{Name: header.Name, Size: header.Size, Modified: header.ModTime, Open: func() (io.ReadCloser, error) {
			if kind := notRead(header); kind != "" {
				return nil, format.Errorf(format.ErrUnsupported, offset, "%s", kind)
			}
			return &contents{ReadCloser: io.NopCloser(io.NewSectionReader(s, offset, header.Size)), store: s}, nil
		}})
	}
	return in.Members(members)
}

// notRead says what kind of member this is if it is not a plain file, or "".
func notRead(header *tar.Header) string {
	switch header.Typeflag {
	case tar.TypeReg:
	case tar.TypeSymlink, tar.TypeLink:
		return "a link"
	case tar.TypeGNUSparse:
		return "a sparse file"
	default:
		return "not a file"
	}
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "a sparse file"
		}
	}
	return ""
}
