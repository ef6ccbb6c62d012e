//go:build cgo

package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2"
)

// Chunks runs the query and calls each with its rows while DuckDB finds more. The query stops when the context ends.
func (q *Query) Chunks(ctx context.Context, each func(*Chunk) error) error {
	p := q.prepared
	if !p.chunkable() {
		var err error
		if p, err = prepare(ctx, q.conn, q.SQL); err != nil {
			return err
		}
		defer p.Close()
	}
	return q.conn.Raw(func(raw any) error {
		conn, statement := connection(raw), p.handle()
		defer interrupt(ctx, conn)()
		var pending bindings.PendingResult
		defer bindings.DestroyPending(&pending)
		if bindings.PendingPreparedStreaming(statement, &pending) == bindings.StateError {
			return errors.Join(ctx.Err(), errors.New(bindings.PendingError(pending)))
		}
		var result bindings.Result
		defer bindings.DestroyResult(&result)
		if bindings.ExecutePending(pending, &result) == bindings.StateError {
			return errors.Join(ctx.Err(), errors.New(bindings.ResultError(&result)))
		}
		numbers, err := numberTypes(&result)
		if err != nil {
			return err
		}
		for {
			more, err := fetch(&result, numbers, each)
			if err != nil || !more {
				return errors.Join(ctx.Err(), err)
			}
		}
	})
}

// The driver cannot fetch rows in chunks, or before the query has ended, and hides what DuckDB's own functions need:
// connection returns DuckDB's connection, and handle its prepared statement.

func connection(raw any) bindings.Connection {
	conn := reflect.ValueOf(raw.(*duckdb.Conn)).Elem().FieldByName("conn")
	return bindings.Connection{Ptr: conn.FieldByName("Ptr").UnsafePointer()}
}

func (p *prepared) handle() bindings.PreparedStatement {
	handle := reflect.ValueOf(p.stmt).Elem().FieldByName("preparedStmt").Elem()
	return bindings.PreparedStatement{Ptr: handle.FieldByName("Ptr").UnsafePointer()}
}

// interrupt stops the query that runs on a connection when the context ends. Call stop once the query has ended.
func interrupt(ctx context.Context, conn bindings.Connection) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		// DuckDB ignores an interruption just before the query begins.
		for again := time.NewTicker(10 * time.Millisecond); ; {
			bindings.Interrupt(conn)
			select {
			case <-done:
				again.Stop()
				return
			case <-again.C:
			}
		}
	}()
	return func() { close(done); <-stopped }
}

// numberTypes returns the type in which each column is stored.
func numberTypes(result *bindings.Result) ([]numberType, error) {
	types := make([]numberType, bindings.ColumnCount(result))
	for i := range types {
		column := bindings.IdxT(i)
		switch kind := bindings.ColumnType(result, column); kind {
		case bindings.TypeBigInt, bindings.TypeVarchar, bindings.TypeBlob, bindings.TypeSQLNull:
		case bindings.TypeInteger:
			types[i] = int32s
		case bindings.TypeSmallInt:
			types[i] = int16s
		case bindings.TypeTinyInt:
			types[i] = int8s
		case bindings.TypeUInteger:
			types[i] = uint32s
		case bindings.TypeUSmallInt:
			types[i] = uint16s
		case bindings.TypeUTinyInt, bindings.TypeBoolean:
			types[i] = uint8s
		case bindings.TypeHugeInt:
			types[i] = int128s
		case bindings.TypeDouble:
			types[i] = float64s
		case bindings.TypeFloat:
			types[i] = float32s
		default:
			return nil, fmt.Errorf("column %s has a type that only a cast can show", bindings.ColumnName(result, column))
		}
	}
	return types, nil
}

// fetch calls each with the next rows, and reports whether there were any.
func fetch(result *bindings.Result, numbers []numberType, each func(*Chunk) error) (bool, error) {
	chunk := bindings.FetchChunk(*result)
	if chunk.Ptr == nil {
		if message := bindings.ResultError(result); message != "" {
			return false, errors.New(message)
		}
		return false, nil
	}
	defer bindings.DestroyDataChunk(&chunk)
	rows := Chunk{Rows: int(bindings.DataChunkGetSize(chunk)), Columns: make([]Vector, len(numbers))}
	for i, number := range numbers {
		vector := bindings.DataChunkGetVector(chunk, bindings.IdxT(i))
		rows.Columns[i] = Vector{data: bindings.VectorGetData(vector), valid: bindings.VectorGetValidity(vector), number: number}
		if number == int128s && !rows.Columns[i].fits(rows.Rows) {
			return false, fmt.Errorf("an integer of column %s has more than 64 bits", bindings.ColumnName(result, bindings.IdxT(i)))
		}
	}
	return rows.Rows > 0, each(&rows)
}
