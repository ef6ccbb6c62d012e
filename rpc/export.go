package rpc

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/arrow"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// exportRows is the most rows of a record batch of an exported table.
const exportRows = 64 << 10

// exportPart is the size of the parts in which an export is sent.
const exportPart = 128 << 10

// checkExport returns an error unless ExportArgs ask for a supported format.
func checkExport(args []byte) error {
	format := uint64(pb.ExportArgs_Format_Unspecified)
	err := fields(args, func(f field) {
		if f.number == pb.ExportArgs_Format {
			format = f.value
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("the arguments of the export cannot be read: %w", err)
	case format == pb.ExportArgs_Format_Unspecified:
		return errors.New("an export format is required: ARROW_TAR is supported")
	case format != pb.ExportArgs_Format_ArrowTar:
		return errors.New("this export format is not supported: only ARROW_TAR is")
	}
	return nil
}

// export writes a tar archive with an Arrow IPC file for each table of the trace that has rows.
func (w *workspace) export(ctx context.Context, to io.Writer) error {
	return w.use(ctx, func(ctx context.Context, s *session.Session) error {
		pause(ctx) // it waits for the client
		file, err := os.CreateTemp(s.Scratch, "export-*")
		if err != nil {
			return err
		}
		defer file.Close()
		_ = os.Remove(file.Name()) // if the system does not remove open files, the end of the session does
		parts := bufio.NewWriterSize(to, exportPart)
		archive := tar.NewWriter(parts)
		for _, t := range schema.All() {
			if t.Abstract || t.Planned {
				continue
			}
			if err := exportTable(ctx, s, t, file, archive); err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		return errors.Join(archive.Close(), parts.Flush())
	})
}

// exportTable adds a table to the archive if it has rows. The archive needs the size first, so the table is written to a
// temporary file.
func exportTable(ctx context.Context, s *session.Session, t *table.Schema, file *os.File, archive *tar.Writer) error {
	stored := s.Stored()
	rows, err := stored.Stored(t)
	if err != nil || rows.Rows == 0 {
		return err
	}
	if err := rewind(file); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(file, exportPart)
	if err := errors.Join(writeArrow(ctx, buffer, t, rows, stored.Array), buffer.Flush()); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := rewind(file); err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: t.Name + "." + export.Arrow, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

func rewind(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// writeArrow writes the rows of a table as an Arrow IPC file. Columns of bytes are not in the frame.
func writeArrow(ctx context.Context, to io.Writer, t *table.Schema, frame *dataframe.Frame, data func(row int64) ([]byte, error)) error {
	file, err := arrow.NewPlain(to, t)
	if err != nil {
		return err
	}
	readers := make([]dataframe.Reader, len(t.Columns))
	for i, c := range t.Columns {
		if c.Type == table.TypeBytes {
			continue
		}
		if readers[i], err = frame.Named(c.Name); err != nil {
			return err
		}
	}
	rows := table.NewBuilder(t, exportRows)
	for row := range frame.Rows {
		for i, c := range t.Columns {
			switch {
			case c.Type == table.TypeBytes:
				b, err := data(int64(row))
				if err != nil {
					return err
				}
				rows.Bytes(i, b)
			case readers[i].IsNull(row):
				rows.Null(i)
			case c.Type == table.TypeString:
				rows.Text(i, readers[i].Text(row))
			case c.Type == table.TypeFloat64:
				rows.Float(i, readers[i].Float(row))
			default:
				rows.Int(i, readers[i].Int(row))
			}
		}
		if rows.Full() || row == frame.Rows-1 {
			if err := errors.Join(ctx.Err(), file.Append(rows.Chunk())); err != nil {
				return err
			}
		}
	}
	return file.Close()
}

// outlet passes the parts of an export to the client.
type outlet struct {
	send   func([]byte) error
	begun  bool
	failed error // the client is gone
}

// Write implements io.Writer.
func (o *outlet) Write(part []byte) (int, error) {
	o.begun = true
	if o.failed = o.send(part); o.failed != nil {
		return 0, o.failed
	}
	return len(part), nil
}

// serveExport answers ExportArgs with the bytes of an export.
func (s *Server) serveExport(w http.ResponseWriter, r *http.Request) {
	args, free, ok := s.body(w, r)
	defer free()
	if !ok {
		return
	}
	if err := checkExport(args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-tar")
	out := &outlet{send: sender(w)}
	if err := s.common.export(r.Context(), out); err != nil {
		if !out.begun {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler) // leaves the body incomplete: Perfetto's Python package does not look at the status
	}
}

// export answers ExportArgs with an ExportResult for each part of an export, and one that ends it.
func (s *stream) export(ctx context.Context, method uint64, args []byte) error {
	out := &outlet{send: func(part []byte) error {
		var m message
		m.bytes(pb.ExportResult_Data, part)
		m.truth(pb.ExportResult_HasMore, true)
		return s.reply(method, pb.TraceProcessorRpc_ExportResult, m)
	}}
	err := checkExport(args)
	if err == nil {
		err = s.at.export(ctx, out)
	}
	if out.failed != nil {
		return out.failed
	}
	end := failure(pb.ExportResult_Error, err)
	end.truth(pb.ExportResult_HasMore, false)
	return s.reply(method, pb.TraceProcessorRpc_ExportResult, end)
}
