package main

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// kinds are the types of the fields of tracepoints.
var kinds = map[protoreflect.Kind]string{
	protoreflect.Int64Kind: "i64", protoreflect.Int32Kind: "i32", protoreflect.Uint64Kind: "u64",
	protoreflect.Uint32Kind: "u32", protoreflect.BoolKind: "bool", protoreflect.StringKind: "str",
	protoreflect.EnumKind: "i32", protoreflect.BytesKind: "str",
}

// tracepoints lists the messages of FtraceEvent: their field number, their name,
// and the number, name and type of each of their fields. GenericFtraceEvent is
// left out, because its events carry their own description.
func tracepoints(types *protoregistry.Files) ([]byte, error) {
	d, err := types.FindDescriptorByName("perfetto.protos.FtraceEvent")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for i, fields := 0, d.(protoreflect.MessageDescriptor).Fields(); i < fields.Len(); i++ {
		event := fields.Get(i)
		if event.Message() == nil || event.Message().Name() == "GenericFtraceEvent" {
			continue
		}
		fmt.Fprintf(&b, "%d %s", event.Number(), event.Name())
		for j, fields := 0, event.Message().Fields(); j < fields.Len(); j++ {
			f := fields.Get(j)
			name := string(f.Name())
			if f.IsList() {
				name += "[]"
			}
			if kind, ok := kinds[f.Kind()]; ok {
				fmt.Fprintf(&b, " %d:%s:%s", f.Number(), name, kind)
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
