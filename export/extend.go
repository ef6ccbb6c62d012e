package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/tpconvert/tpconvert/model/table"
)

// Derivation is a query whose rows `tpconvert derive` added to a dataset.
type Derivation struct {
	Kind    string `json:"kind"` // events, annotations or alerts
	Name    string `json:"name"`
	Dialect string `json:"dialect"` // of the query: duckdb or perfetto
	Query   string `json:"query"`
	Track   string `json:"track,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Level   string `json:"level,omitempty"`
	Text    string `json:"text,omitempty"`
	Link    string `json:"link,omitempty"`
	Rows    int64  `json:"rows"` // of the query
}

// Converted is the part of a file that the conversion wrote. It is a complete file of its own.
type Converted struct {
	ConvertedRows  int64 `json:"converted_rows"`
	ConvertedBytes int64 `json:"converted_bytes"`
}

// Extension adds rows to the tables of a trace in a dataset. What the conversion wrote is not changed: a file is copied,
// and new row groups and a new footer follow. So a file without its additions has the same bytes as before.
//
// An Extension is a table.Sink for the new rows. Commit or Abort ends it.
type Extension struct {
	*Writer
	// Manifest describes the trace without any additions.
	Manifest *Manifest
	// Earlier are the additions that the trace has now. Commit replaces them.
	Earlier []Derivation
	// Folder is a dataset of the trace without any additions.
	Folder string

	target string
	found  []byte // the manifest in the target
	lock   *os.File
}

// Extend begins to replace the additions to a trace of the dataset at dir. Only one process at a time extends a trace; it
// waits for others. traceID is "" in a dataset of one trace.
func Extend(dir, traceID string, o Options) (*Extension, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Force, o.Tables, o.EmptyTables = true, nil, false
	var to place
	var begin func() (*Stage, error)
	target := dir
	if traceID == "" {
		s, parent, prefix, err := openSingle(dir, true)
		if err != nil {
			return nil, err
		}
		to, target = s, s.path
		begin = func() (*Stage, error) { return NewStage(parent, prefix) }
	} else {
		d, err := OpenDataset(dir, o)
		if err != nil {
			return nil, err
		}
		to, target, begin = d, d.folder(traceID), d.stage
	}
	e := &Extension{target: target}
	if err := e.acquire(); err != nil {
		return nil, err
	}
	m := &Manifest{}
	found, err := os.ReadFile(filepath.Join(target, manifestName))
	if err == nil {
		err = json.Unmarshal(found, m)
	}
	if err == nil && m.SchemaVersion != table.SchemaVersion {
		err = fmt.Errorf("%s has schema version %d, this tpconvert extends %d: convert the trace again", dir, m.SchemaVersion, table.SchemaVersion)
	}
	if err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	stage, err := begin()
	if err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	e.Writer, e.Folder, e.found = newWriter(o, to, stage, newWorkers(o.Jobs)), stage.Path, found
	e.extends = true
	if err := e.restore(m); err != nil {
		return nil, errors.Join(targetError(dir, err), e.Abort())
	}
	return e, nil
}

// acquire locks the folder of the trace, which another process may replace meanwhile.
func (e *Extension) acquire() (err error) {
	for {
		if e.lock, err = lockFolder(e.target, true); !errors.Is(err, errLocked) {
			break
		}
		if !exists(e.target) {
			return fmt.Errorf("%s does not exist", e.target)
		}
	}
	if err != nil {
		return targetError(e.target, err)
	}
	return nil
}

// restore makes the stage a dataset without additions, which shares unchanged files with the target.
func (e *Extension) restore(m *Manifest) error {
	e.Earlier, m.Derived = m.Derived, nil
	tables := []Table{}
	for _, t := range m.Tables {
		from, to := filepath.Join(e.target, t.File), filepath.Join(e.Folder, t.File)
		switch {
		case t.Converted == nil:
			if os.Link(from, to) != nil { // the file system may not have links
				if err := copyFile(from, to, t.Bytes); err != nil {
					return err
				}
			}
		case t.ConvertedBytes == 0:
			continue
		default:
			if err := copyFile(from, to, t.ConvertedBytes); err != nil {
				return err
			}
			t.Rows, t.Bytes, t.Converted = t.ConvertedRows, t.ConvertedBytes, nil
		}
		tables = append(tables, t)
		if out := e.outputs[t.Name]; out != nil {
			out.before = &Converted{t.Rows, t.Bytes}
		}
	}
	m.Tables, e.Manifest = tables, m
	return m.write(filepath.Join(e.Folder, manifestName))
}

// copyFile copies the first bytes of a file to a new one.
func copyFile(from, to string, size int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(out, in, size); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", from, err), out.Close())
	}
	return closeSynced(out)
}

// Rows returns the number of rows that a table has without additions.
func (e *Extension) Rows(name string) int64 {
	if i := slices.IndexFunc(e.Manifest.Tables, func(t Table) bool { return t.Name == name }); i >= 0 {
		return e.Manifest.Tables[i].Rows
	}
	return 0
}

// Commit puts the dataset with the added rows in place, at once for all tables. all are the queries that gave them.
func (e *Extension) Commit(all []Derivation) error {
	defer e.Abort()
	e.running.Wait()
	if e.err != nil {
		return e.err
	}
	added := &Manifest{TraceID: e.Manifest.TraceID}
	if err := e.finish(added); err != nil {
		return err
	}
	m := e.Manifest
	m.Derived = all
	for _, t := range added.Tables {
		t.Converted = &Converted{}
		i := slices.IndexFunc(m.Tables, func(old Table) bool { return old.Name == t.Name })
		if i < 0 {
			m.Tables = append(m.Tables, t)
			continue
		}
		t.ConvertedRows, t.ConvertedBytes = m.Tables[i].Rows, m.Tables[i].Bytes
		t.Rows += t.ConvertedRows
		m.Tables[i] = t
	}
	order := map[string]int{}
	for i, s := range e.options.Schemas {
		order[s.Name] = i
	}
	slices.SortFunc(m.Tables, func(a, b Table) int { return order[a.Name] - order[b.Name] })
	if err := errors.Join(m.write(filepath.Join(e.Folder, manifestName)), syncFolder(e.Folder)); err != nil {
		return targetError(e.target, err)
	}
	if now, err := os.ReadFile(filepath.Join(e.target, manifestName)); err != nil || !bytes.Equal(now, e.found) {
		return targetError(e.target, errors.New("it was changed meanwhile"))
	}
	return e.place.publish(e.Folder, m)
}

// Abort discards everything written so far. After Commit it does nothing.
func (e *Extension) Abort() error { return errors.Join(e.Writer.Abort(), e.lock.Close()) }

// extend replaces a file by a copy that new row groups can follow.
func (out *output) extend(o *Options, first *table.Chunk) error {
	old, err := os.Open(out.path)
	if err != nil {
		return err
	}
	defer old.Close()
	if err := os.Remove(out.path); err != nil { // it may be a link to the file in the target
		return err
	}
	if out.file, err = os.Create(out.path); err != nil {
		return err
	}
	before, err := readBefore(old)
	if err != nil {
		return err
	}
	same := *o
	same.Compression = before.compression(o.Compression)
	p, err := beginParquet(out.file, out.schema, &same, first)
	if err != nil {
		return err
	}
	out.encoder = p
	p.before, p.groups = before, int16(before.footer.NumRowGroups())
	_, err = io.Copy(p, old)
	return err
}

// parquetBefore describes a file that another one continues.
type parquetBefore struct {
	footer           *metadata.FileMetaData
	columns, offsets []byte // the page index: bounds of pages by column, and their places
}

// readBefore reads the footer and the page index of a file. It leaves the position in the file at its start.
func readBefore(f *os.File) (*parquetBefore, error) {
	var tail [8]byte
	end, err := f.Seek(-int64(len(tail)), io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(tail[:], end); err != nil {
		return nil, err
	}
	size := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != magic || size > end {
		return nil, fmt.Errorf("%s is not a Parquet file", f.Name())
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, end-size); err != nil {
		return nil, err
	}
	footer, err := metadata.NewFileMetaData(text, nil)
	if err != nil {
		return nil, err
	}
	b := &parquetBefore{footer: footer}
	err = b.each(func(offset *int64, length int32, to *[]byte) error {
		*to = append(*to, make([]byte, length)...)
		_, err := f.ReadAt((*to)[len(*to)-int(length):], *offset)
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return b, err
}

// compression returns the compression of the file, because some readers expect the same one everywhere in a file, or
// fallback if the file has no rows.
func (b *parquetBefore) compression(fallback Compression) Compression {
	if len(b.footer.RowGroups) == 0 {
		return fallback
	}
	name := strings.ToLower(b.footer.RowGroups[0].Columns[0].MetaData.Codec.String())
	if name == "uncompressed" {
		name = "none"
	}
	return Compression{codec: name}
}

// each calls do with the place of each part of the page index, and the index that it belongs to.
func (b *parquetBefore) each(do func(offset *int64, length int32, of *[]byte) error) error {
	for _, group := range b.footer.RowGroups {
		for _, c := range group.Columns {
			if c.ColumnIndexOffset == nil || c.OffsetIndexOffset == nil {
				return errors.New("the file has no page index")
			}
			if err := do(c.ColumnIndexOffset, c.GetColumnIndexLength(), &b.columns); err != nil {
				return err
			}
			if err := do(c.OffsetIndexOffset, c.GetOffsetIndexLength(), &b.offsets); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeIndex writes the page index, whose parts for all row groups readers expect one after the other.
func (p *parquetFile) writeIndex() (location metadata.PageIndexLocation, err error) {
	if p.before == nil {
		return location, p.index.WriteTo(p, &location)
	}
	b := p.before
	fresh := indexBuffer{at: p.position + int64(len(b.columns))}
	if err := p.index.WriteTo(&fresh, &location); err != nil {
		return location, err
	}
	columns := 0 // bytes
	for _, group := range location.ColIndexLocation {
		for _, l := range group {
			columns += int(l.Length)
		}
	}
	for _, group := range location.OffsetIndexLocation {
		for _, l := range group {
			l.Offset += int64(len(b.offsets))
		}
	}
	next := map[*[]byte]int64{&b.columns: p.position, &b.offsets: fresh.at + int64(columns)}
	err = b.each(func(offset *int64, length int32, of *[]byte) error {
		*offset = next[of]
		next[of] += int64(length)
		return nil
	})
	for _, part := range [][]byte{b.columns, fresh.Bytes()[:columns], b.offsets, fresh.Bytes()[columns:]} {
		if err == nil {
			_, err = p.Write(part)
		}
	}
	return location, err
}

// indexBuffer holds a part of the page index that will be at a place in the file.
type indexBuffer struct {
	bytes.Buffer
	at int64
}

// Tell returns the position in the file.
func (b *indexBuffer) Tell() int64 { return b.at + int64(b.Len()) }
