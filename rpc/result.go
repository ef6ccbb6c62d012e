package rpc

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// A batch of a result ends once it has this many cells or bytes.
const (
	batchCells = 50_000
	batchBytes = 128 << 10
)

// maxResult is the size from which no client can read a message.
const maxResult = 256 << 20

// result turns the rows of a query into QueryResult messages with one batch each.
type result struct {
	send  func(message) error
	begun time.Time

	columns    []string
	statements int // run so far
	withRows   int // statements with rows
	last       string
	headed     bool  // the first message was sent
	unsent     error // why the client did not get a message

	cells, integers, reals, texts, blobs []byte // of the current batch
}

// newResult returns a result without rows. Memory for a short one is there.
func newResult(send func(message) error) *result {
	const few = 1 << 10
	return &result{send: send, begun: time.Now(), cells: make([]byte, 0, few), texts: make([]byte, 0, 2*few)}
}

// add adds the row at which rows are, and sends the batch before it if it is full.
func (r *result) add(rows *perfettosql.Rows) error {
	if len(r.cells)+len(r.columns) > batchCells || len(r.cells)+len(r.integers)+len(r.reals)+len(r.texts)+len(r.blobs) > batchBytes {
		if err := r.flush(false, nil); err != nil {
			return err
		}
	}
	for i := range r.columns {
		switch rows.Type(i) {
		case sqlite.Integer:
			r.integer(rows.Int(i))
		case sqlite.Real:
			r.real(rows.Float(i))
		case sqlite.TextOf:
			r.text(rows.Text(i))
		case sqlite.Blob:
			r.blob(rows.Blob(i))
		default:
			r.null()
		}
	}
	return nil
}

// run runs SQL and makes the rows of the last statement a result. Others compute while the client reads a part of a large one.
func run(ctx context.Context, on *session.Session, sql string, r *result) error {
	if len(sql) > MaxQuery {
		return fmt.Errorf("the query has %d bytes; %d are the most", len(sql), MaxQuery)
	}
	send := r.send
	defer func() { r.send = send }()
	r.send = func(m message) error {
		pause(ctx)
		return send(m)
	}
	statements, err := sqltext.Split(sql)
	if err == nil && len(statements) > 0 {
		r.statements, r.last = len(statements), statements[len(statements)-1].Text
	}
	return on.Each(ctx, sql, func(q *session.Query) error {
		rows, some := q.Rows(), false
		if q.Last {
			r.columns = rows.Columns()
		}
		for {
			more, err := rows.Next()
			if err != nil || !more {
				return err
			}
			if !some {
				some = true
				r.withRows++
			}
			if !q.Last {
				continue
			}
			if err := r.add(rows); err != nil {
				return err
			}
		}
	})
}

func (r *result) null() {
	r.cells = append(r.cells, pb.QueryResult_CellsBatch_CellType_CellNull)
}

func (r *result) integer(v int64) {
	r.cells = append(r.cells, pb.QueryResult_CellsBatch_CellType_CellVarint)
	r.integers = protowire.AppendVarint(r.integers, uint64(v))
}

func (r *result) real(v float64) {
	r.cells = append(r.cells, pb.QueryResult_CellsBatch_CellType_CellFloat64)
	r.reals = protowire.AppendFixed64(r.reals, math.Float64bits(v))
}

// text adds a text, up to its first NUL because the message ends each text with one.
func (r *result) text(v string) {
	r.cells = append(r.cells, pb.QueryResult_CellsBatch_CellType_CellString)
	if end := strings.IndexByte(v, 0); end >= 0 {
		v = v[:end]
	}
	r.texts = append(append(r.texts, v...), 0)
}

func (r *result) blob(v []byte) {
	r.cells = append(r.cells, pb.QueryResult_CellsBatch_CellType_CellBlob)
	m := message(r.blobs)
	m.bytes(pb.QueryResult_CellsBatch_BlobCells, v)
	r.blobs = m
}

// spare is about the size of what a message has besides cells.
const spare = 256

// flush sends the batch. The last batch carries the query's error, if any.
func (r *result) flush(last bool, failed error) error {
	batch := make(message, 0, len(r.texts)+len(r.cells)+len(r.integers)+len(r.reals)+len(r.blobs)+spare)
	if len(r.texts) > 0 {
		batch.bytes(pb.QueryResult_CellsBatch_StringCells, r.texts)
	}
	if len(r.cells) > 0 {
		batch.bytes(pb.QueryResult_CellsBatch_Cells, r.cells)
	}
	if len(r.integers) > 0 {
		batch.bytes(pb.QueryResult_CellsBatch_VarintCells, r.integers)
	}
	if len(r.reals) > 0 {
		batch.bytes(pb.QueryResult_CellsBatch_Float64Cells, r.reals)
	}
	batch = append(batch, r.blobs...)
	r.cells, r.integers, r.reals, r.texts, r.blobs = r.cells[:0], r.integers[:0], r.reals[:0], r.texts[:0], r.blobs[:0]
	if len(batch) > maxResult {
		batch, last, failed = nil, true, fmt.Errorf("a row has %d bytes, which is too much for a result", len(batch))
	}
	if last {
		batch.truth(pb.QueryResult_CellsBatch_IsLastBatch, true)
	}
	m := make(message, 0, len(batch)+spare)
	if !r.headed {
		r.headed = true
		for _, c := range r.columns {
			m.text(pb.QueryResult_ColumnNames, c)
		}
		m.integer(pb.QueryResult_StatementCount, int64(r.statements))
		m.integer(pb.QueryResult_StatementWithOutputCount, int64(r.withRows))
		m.text(pb.QueryResult_LastStatementSQL, r.last)
	}
	m.bytes(pb.QueryResult_Batch, batch)
	if failed != nil {
		m.text(pb.QueryResult_Error, failed.Error())
	}
	m.real(pb.QueryResult_ElapsedTimeMS, float64(time.Since(r.begun).Nanoseconds())/1e6)
	r.unsent = r.send(m)
	return r.unsent
}

// end sends the rest of the result with the error that ended it, if any. It only returns errors of sending.
func (r *result) end(failed error) error {
	if r.unsent != nil {
		return r.unsent
	}
	return r.flush(true, failed)
}
