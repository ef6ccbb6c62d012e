package rpc

import (
	"context"
	"errors"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// summary answers a TraceSummaryArgs with a TraceSummaryResult.
func (w *workspace) summary(ctx context.Context, args []byte) message {
	return w.answer(ctx, pb.TraceSummaryResult_Error, func(ctx context.Context, s *session.Session, to *message) error { return summarize(ctx, s, args, to) })
}

func summarize(ctx context.Context, s *session.Session, args []byte, to *message) error {
	var summarizer metrics.Summarizer
	var bad error
	ids, all, metadata, text := []string{}, false, "", false
	err := fields(args, func(f field) {
		switch f.number {
		case pb.TraceSummaryArgs_ProtoSpecs:
			bad = errors.Join(bad, summarizer.AddEncoded(f.data))
		case pb.TraceSummaryArgs_TextprotoSpecs:
			bad = errors.Join(bad, summarizer.AddText(f.data))
		case pb.TraceSummaryArgs_OutputFormat:
			text = f.value == pb.TraceSummaryArgs_Format_Textproto
		case pb.TraceSummaryArgs_ComputationSpec:
			bad = errors.Join(bad, fields(f.data, func(f field) {
				switch f.number {
				case pb.TraceSummaryArgs_ComputationSpec_MetricIDs:
					ids = append(ids, f.text())
				case pb.TraceSummaryArgs_ComputationSpec_RunAllMetrics:
					all = f.value != 0
				case pb.TraceSummaryArgs_ComputationSpec_MetadataQueryID:
					metadata = f.text()
				}
			}))
		}
	})
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	if all {
		ids = nil
	}
	summary, err := summarizer.Summarize(ctx, s, ids, metadata)
	if err != nil {
		return err
	}
	if text {
		encoded, err := summary.Text()
		to.bytes(pb.TraceSummaryResult_TextprotoSummary, encoded)
		return err
	}
	encoded, err := summary.Encode()
	to.bytes(pb.TraceSummaryResult_ProtoSummary, encoded)
	return err
}
