package metricsv1

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Compute computes metrics and returns Perfetto's TraceMetrics, encoded. The session runs PerfettoSQL with this library.
func (l *Library) Compute(ctx context.Context, s *session.Session, names []string) ([]byte, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	for _, name := range names {
		if l.paths[name] == "" {
			return nil, fmt.Errorf("unknown metric %s", name)
		}
	}
	var encoded []byte
	for _, name := range names {
		value, err := l.compute(ctx, s, name)
		if err == nil {
			encoded, err = appendField(encoded, l.root, name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", name, err)
		}
	}
	return encoded, nil
}

// compute returns the message of a metric.
func (l *Library) compute(ctx context.Context, s *session.Session, name string) (any, error) {
	text, err := l.Template(l.paths[name])
	if err != nil {
		return nil, err
	}
	nothing := func(*session.Query) error { return nil }
	if err := s.Each(ctx, text, nothing); err != nil && err != session.ErrNoSQL {
		return nil, fmt.Errorf("%s: %w", l.paths[name], err)
	}
	var value any = []byte{} // no row is an empty message
	found := 0
	err = s.Each(ctx, "SELECT * FROM "+name+"_output", func(q *session.Query) error {
		if len(q.Columns) != 1 {
			return fmt.Errorf("%s_output has %d columns, want one", name, len(q.Columns))
		}
		return q.Each(ctx, func(row []any) error {
			if found++; found > 1 {
				return fmt.Errorf("%s_output has more than one row", name)
			}
			if _, ok := row[0].([]byte); !ok {
				return errors.New("its output is not a message")
			}
			value = row[0]
			return nil
		})
	})
	return value, err
}

// Text returns encoded TraceMetrics as text.
func (l *Library) Text(encoded []byte) ([]byte, error) {
	m, err := l.decode(encoded)
	if err != nil {
		return nil, err
	}
	return prototext.MarshalOptions{Multiline: true, Indent: "  ", Resolver: l.types}.Marshal(m)
}

// JSON returns encoded TraceMetrics as JSON, with the names of fields that the types have.
func (l *Library) JSON(encoded []byte) ([]byte, error) {
	m, err := l.decode(encoded)
	if err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{Multiline: true, Indent: "  ", UseProtoNames: true, Resolver: l.types}.Marshal(m)
}

func (l *Library) decode(encoded []byte) (proto.Message, error) {
	m := dynamicpb.NewMessage(l.root)
	return m, proto.UnmarshalOptions{Resolver: l.types}.Unmarshal(encoded, m)
}

// Values returns the message of each metric in encoded TraceMetrics as JSON.
func (l *Library) Values(encoded []byte) (map[string]string, error) {
	m, err := l.decode(encoded)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		var text []byte
		text, err = protojson.MarshalOptions{UseProtoNames: true, Resolver: l.types}.Marshal(value.Message().Interface())
		values[string(field.Name())] = string(text)
		return err == nil
	})
	return values, err
}
