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

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/tpconvert/tpconvert/export"
	arrowfile "github.com/tpconvert/tpconvert/export/arrow"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// A record batch of an exported table ends once it has this many rows or bytes of text.
const (
	exportRows = 64 << 10
	exportText = 16 << 20
)

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
	out, err := newArrowRows(buffer, t)
	if err == nil {
		err = out.add(ctx, rows, stored.Array)
	}
	if err := errors.Join(err, out.close(), buffer.Flush()); err != nil {
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

// arrowRows writes rows to an Arrow IPC file.
type arrowRows struct {
	file  *ipc.FileWriter
	batch *array.RecordBuilder
	cells []func(r dataframe.Reader, row int) int // by column: appends a value, and returns its bytes of text
	rows  int                                     // of the batch
	text  int                                     // bytes in the batch
}

func newArrowRows(to io.Writer, t *table.Schema) (*arrowRows, error) {
	schema := arrowfile.PlainSchema(t)
	file, err := ipc.NewFileWriter(to, ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	a := &arrowRows{file: file, batch: array.NewRecordBuilder(memory.DefaultAllocator, schema)}
	for _, column := range a.batch.Fields() {
		a.cells = append(a.cells, appender(column))
	}
	return a, nil
}

// appender returns a function that appends the value of a row, which is not NULL, and returns its bytes of text. It returns nil
// for a column of bytes.
func appender(column array.Builder) func(dataframe.Reader, int) int {
	switch b := column.(type) {
	case *array.Int64Builder:
		return func(r dataframe.Reader, row int) int { b.Append(r.Int(row)); return 0 }
	case *array.Int32Builder:
		return func(r dataframe.Reader, row int) int { b.Append(int32(r.Int(row))); return 0 }
	case *array.Float64Builder:
		return func(r dataframe.Reader, row int) int { b.Append(r.Float(row)); return 0 }
	case *array.BooleanBuilder:
		return func(r dataframe.Reader, row int) int { b.Append(r.Int(row) != 0); return 0 }
	case *array.BinaryBuilder:
		return nil
	case *array.StringBuilder:
		return func(r dataframe.Reader, row int) int {
			text := r.Text(row)
			b.Append(text)
			return len(text)
		}
	}
	panic(fmt.Sprintf("no table has columns of %s", column.Type()))
}

// add adds the rows of a table, and writes each batch that is full. Columns of bytes are not in the frame.
func (a *arrowRows) add(ctx context.Context, of *dataframe.Frame, data func(row int64) ([]byte, error)) error {
	readers := make([]dataframe.Reader, len(a.cells))
	for i := range readers {
		if a.cells[i] == nil {
			continue
		}
		var err error
		if readers[i], err = of.Named(a.batch.Schema().Field(i).Name); err != nil {
			return err
		}
	}
	for row := range of.Rows {
		for i, cell := range a.cells {
			if cell == nil {
				b, err := data(int64(row))
				if err != nil {
					return err
				}
				a.batch.Field(i).(*array.BinaryBuilder).Append(b)
				a.text += len(b)
				continue
			}
			if readers[i].IsNull(row) {
				a.batch.Field(i).AppendNull()
			} else {
				a.text += cell(readers[i], row)
			}
		}
		if a.rows++; a.rows == exportRows || a.text >= exportText {
			if err := errors.Join(ctx.Err(), a.flush()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *arrowRows) flush() error {
	batch := a.batch.NewRecordBatch()
	defer batch.Release()
	a.rows, a.text = 0, 0
	return a.file.Write(batch)
}

func (a *arrowRows) close() error {
	defer a.batch.Release()
	var err error
	if a.rows > 0 {
		err = a.flush()
	}
	return errors.Join(err, a.file.Close())
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
