package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// maxCall is the size of the largest call, and framing is more than what a stream adds to it.
const (
	maxCall = 64 << 20
	framing = 16
)

// framingError is what Trace Processor says of bytes that are not a stream of calls.
const framingError = "RPC framing error"

var tooLarge = fmt.Sprintf("a call has more than %d bytes", maxCall)

// stream is one client's side of a TraceProcessorRpcStream.
type stream struct {
	server   *Server
	at       place
	send     func([]byte) error
	rest     []byte // bytes of an incomplete call
	received int64  // number of the last call
	sent     int64  // number of the next reply
}

// place is where the calls of a stream run.
type place interface {
	query(ctx context.Context, sql string, send func(message) error) error
	restore(ctx context.Context) error
	metric(ctx context.Context, args []byte) message
	summary(ctx context.Context, args []byte) message
	export(ctx context.Context, to io.Writer) error
}

// errFatal ends a stream, after the client was sent the reason.
var errFatal = errors.New("the stream cannot go on")

// take answers the calls that another part of the stream completes.
func (s *stream) take(ctx context.Context, part []byte) error {
	s.rest = append(s.rest, part...)
	for len(s.rest) > 0 {
		number, kind, n := protowire.ConsumeTag(s.rest)
		size, m := protowire.ConsumeVarint(s.rest[max(n, 0):])
		switch {
		case n > 0 && (number != pb.TraceProcessorRpcStream_Msg || kind != protowire.BytesType),
			n < 0 && len(s.rest) >= 5, n > 0 && m < 0 && len(s.rest) >= n+10:
			return s.fatal(framingError)
		case m > 0 && size > maxCall:
			return s.fatal(tooLarge)
		case n < 0 || m < 0 || uint64(len(s.rest)-n-m) < size:
			return nil // the rest has not come yet
		}
		call := s.rest[n+m : n+m+int(size)]
		s.rest = s.rest[n+m+int(size):]
		if err := s.call(ctx, call); err != nil {
			return err
		}
	}
	return nil
}

// fatal sends the client the reason why the stream ends.
func (s *stream) fatal(reason string) error {
	var reply, m message
	reply.text(pb.TraceProcessorRpc_FatalError, reason)
	m.bytes(pb.TraceProcessorRpcStream_Msg, reply)
	return errors.Join(errFatal, s.send(m))
}

// reply sends a reply with one field, or with none if number is 0.
func (s *stream) reply(method uint64, number protowire.Number, content message) error {
	return s.envelope(pb.TraceProcessorRpc_Response, method, number, content)
}

func (s *stream) envelope(kind protowire.Number, method uint64, number protowire.Number, content message) error {
	var reply, m message
	reply.integer(pb.TraceProcessorRpc_Seq, s.sent)
	s.sent++
	reply.integer(kind, int64(method))
	if number != 0 {
		reply.bytes(number, content)
	}
	m.bytes(pb.TraceProcessorRpcStream_Msg, reply)
	return s.send(m)
}

var (
	errNoMetrics   = errors.New("metrics of version 1 need the templates of \"tpconvert stdlib fetch\", or --stdlib, a checkout of Perfetto")
	errUnsupported = errors.New("this is not supported: ask with SQL or a trace summary")
	errMetatrace   = errors.New("metatrace is not supported: tpconvert does not trace itself")
)

// unsupported are the calls that only get an error, by method: the field of the reply, and the error's field in it.
var unsupported = map[uint64]struct{ reply, failure protowire.Number }{
	pb.TraceProcessorRpc_TraceProcessorMethod_TpmCreateSummarizer:     {pb.TraceProcessorRpc_CreateSummarizerResult, pb.CreateSummarizerResult_Error},
	pb.TraceProcessorRpc_TraceProcessorMethod_TpmUpdateSummarizerSpec: {pb.TraceProcessorRpc_UpdateSummarizerSpecResult, pb.UpdateSummarizerSpecResult_Error},
	pb.TraceProcessorRpc_TraceProcessorMethod_TpmQuerySummarizer:      {pb.TraceProcessorRpc_QuerySummarizerResult, pb.QuerySummarizerResult_Error},
	pb.TraceProcessorRpc_TraceProcessorMethod_TpmDestroySummarizer:    {pb.TraceProcessorRpc_DestroySummarizerResult, pb.DestroySummarizerResult_Error},
}

// call answers a TraceProcessorRpc.
func (s *stream) call(ctx context.Context, encoded []byte) error {
	var seq int64
	var method uint64
	args := map[protowire.Number][]byte{}
	err := fields(encoded, func(f field) {
		switch f.number {
		case pb.TraceProcessorRpc_Seq:
			seq = int64(f.value)
		case pb.TraceProcessorRpc_Request:
			method = f.value
		default:
			args[f.number] = f.data
		}
	})
	if err != nil {
		return s.fatal(framingError)
	}
	if seq != 0 && s.received != 0 && seq != s.received+1 {
		return s.fatal(fmt.Sprintf("RPC request out of order. Expected %d, got %d (ERR:rpc_seq)", s.received+1, seq))
	}
	s.received = seq
	switch method {
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmAppendTraceData:
		err := s.server.append(ctx, bytes.NewReader(args[pb.TraceProcessorRpc_AppendTraceData]))
		return s.reply(method, pb.TraceProcessorRpc_AppendResult, failure(pb.AppendTraceDataResult_Error, err))
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmFinalizeTraceData:
		err := s.server.finish(ctx)
		return s.reply(method, pb.TraceProcessorRpc_FinalizeDataResult, failure(pb.FinalizeDataResult_Error, err))
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmQueryStreaming:
		sql, err := queryText(args[pb.TraceProcessorRpc_QueryArgs])
		if err != nil {
			return s.fatal(framingError)
		}
		return s.at.query(ctx, sql, func(m message) error {
			return s.reply(method, pb.TraceProcessorRpc_QueryResult, m)
		})
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmStatementStreaming:
		return s.statement(ctx, method, args[pb.TraceProcessorRpc_StatementArgs])
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmRestoreInitialTables:
		if err := s.at.restore(ctx); err != nil {
			return s.fatal(err.Error()) // the reply has no error
		}
		return s.reply(method, 0, nil)
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmResetTraceProcessor:
		if err := s.server.loading.during(ctx, s.server.reset); err != nil {
			return s.fatal(err.Error())
		}
		return s.reply(method, 0, nil)
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmEnableMetatrace:
		return s.reply(method, 0, nil) // the reply has no error, so that of the end of the metatrace has it
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmDisableAndReadMetatrace:
		return s.reply(method, pb.TraceProcessorRpc_Metatrace, failure(pb.DisableAndReadMetatraceResult_Error, errMetatrace))
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmGetMetricDescriptors:
		return s.reply(method, pb.TraceProcessorRpc_MetricDescriptors, nil) // there are none
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmGetStatus:
		return s.reply(method, pb.TraceProcessorRpc_Status, s.server.status())
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmComputeMetric:
		return s.reply(method, pb.TraceProcessorRpc_MetricResult, s.at.metric(ctx, args[pb.TraceProcessorRpc_ComputeMetricArgs]))
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmSummarizeTrace:
		return s.reply(method, pb.TraceProcessorRpc_TraceSummaryResult, s.at.summary(ctx, args[pb.TraceProcessorRpc_TraceSummaryArgs]))
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmExport:
		return s.export(ctx, method, args[pb.TraceProcessorRpc_ExportArgs])
	case pb.TraceProcessorRpc_TraceProcessorMethod_TpmRegisterSQLPackage:
		err := s.server.register(args[pb.TraceProcessorRpc_RegisterSQLPackageArgs])
		return s.reply(method, pb.TraceProcessorRpc_RegisterSQLPackageResult, failure(pb.RegisterSqlPackageResult_Error, err))
	}
	if u, ok := unsupported[method]; ok {
		return s.reply(method, u.reply, failure(u.failure, errUnsupported))
	}
	return s.envelope(pb.TraceProcessorRpc_InvalidRequest, method, 0, nil)
}

// queryText returns the SQL of QueryArgs.
func queryText(args []byte) (sql string, err error) {
	err = fields(args, func(f field) {
		if f.number == pb.QueryArgs_SQLQuery {
			sql = f.text()
		}
	})
	return sql, err
}

// statement runs the statement at an offset in sql, and says where the next begins.
func (s *stream) statement(ctx context.Context, method uint64, args []byte) error {
	var sql string
	var offset uint64
	err := fields(args, func(f field) {
		switch f.number {
		case pb.StatementArgs_SQL:
			sql = f.text()
		case pb.StatementArgs_StartOffset:
			offset = f.value
		}
	})
	if err != nil {
		return s.fatal(framingError)
	}
	if offset > min(uint64(len(sql)), math.MaxUint32) {
		r := &result{send: func(m message) error { return s.statementResult(method, m, 0, false) }}
		return r.flush(true, errors.New("StatementArgs.start_offset out of range"))
	}
	rest := sql[offset:]
	statements, err := sqltext.Split(rest)
	if err == nil && len(statements) == 0 {
		r := &result{send: func(m message) error { return s.statementResult(method, m, uint64(len(sql)), false) }}
		return r.flush(true, nil)
	}
	if len(statements) > 1 {
		rest = rest[:statements[1].Pos]
	}
	next := offset + uint64(len(rest))
	return s.at.query(ctx, rest, func(m message) error { return s.statementResult(method, m, next, true) })
}

// statementResult sends a StatementResult.
func (s *stream) statementResult(method uint64, result message, tail uint64, executed bool) error {
	var m message
	m.bytes(pb.StatementResult_Result, result)
	m.integer(pb.StatementResult_TailOffset, int64(tail))
	m.truth(pb.StatementResult_StatementExecuted, executed)
	return s.reply(method, pb.TraceProcessorRpc_StatementResult, m)
}

// register adds the package of RegisterSqlPackageArgs.
func (s *Server) register(args []byte) error {
	var name string
	modules, replace := map[string]string{}, false
	var bad error
	err := fields(args, func(f field) {
		switch f.number {
		case pb.RegisterSqlPackageArgs_PackageName:
			name = f.text()
		case pb.RegisterSqlPackageArgs_Modules:
			var module, sql string
			bad = errors.Join(bad, fields(f.data, func(f field) {
				switch f.number {
				case pb.RegisterSqlPackageArgs_Module_Name:
					module = f.text()
				case pb.RegisterSqlPackageArgs_Module_SQL:
					sql = f.text()
				}
			}))
			modules[module] = sql
		case pb.RegisterSqlPackageArgs_AllowOverride:
			replace = f.value != 0
		}
	})
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	return s.options.Packages.register(name, modules, replace)
}
