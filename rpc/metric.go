package rpc

import (
	"context"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// metric answers ComputeMetricArgs with a ComputeMetricResult.
func (w *workspace) metric(ctx context.Context, args []byte) message {
	return w.answer(ctx, pb.ComputeMetricResult_Error, func(ctx context.Context, s *session.Session, to *message) error {
		return computeMetric(ctx, w.server.options.Metrics, s, args, to)
	})
}

func computeMetric(ctx context.Context, metrics session.Metrics, s *session.Session, args []byte, to *message) error {
	if metrics == nil {
		return errNoMetrics
	}
	var names []string
	format := uint64(pb.ComputeMetricArgs_ResultFormat_BinaryProtobuf)
	err := fields(args, func(f field) {
		switch f.number {
		case pb.ComputeMetricArgs_MetricNames:
			names = append(names, f.text())
		case pb.ComputeMetricArgs_Format:
			format = f.value
		}
	})
	if err != nil {
		return err
	}
	encoded, err := metrics.Compute(ctx, s, names)
	if err != nil {
		return err
	}
	switch format {
	case pb.ComputeMetricArgs_ResultFormat_Textproto:
		encoded, err = metrics.Text(encoded)
		to.bytes(pb.ComputeMetricResult_MetricsAsPrototext, encoded)
	case pb.ComputeMetricArgs_ResultFormat_JSON:
		encoded, err = metrics.JSON(encoded)
		to.bytes(pb.ComputeMetricResult_MetricsAsJSON, encoded)
	default:
		to.bytes(pb.ComputeMetricResult_Metrics, encoded)
	}
	return err
}
