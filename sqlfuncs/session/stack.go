package session

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of Trace Processor's messages Stack and Stack.Entry.
const (
	stackEntry     protowire.Number = 1 // the leaf first
	entryName      protowire.Number = 1 // of a function
	entryCallsite  protowire.Number = 2
	entryAnnotated protowire.Number = 3 // a callsite whose functions get annotations
	entryFrame     protowire.Number = 4
)

// stackOfFunction is the name in SQL of stackOf.
const stackOfFunction = "_stack_of_row"

// stackOf returns a Stack with the id of a row in a field.
func stackOf(field, id int64) []byte {
	return appendEntry(nil, protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(field), protowire.VarintType), uint64(id)))
}

func appendEntry(stack, entry []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(stack, stackEntry, protowire.BytesType), entry)
}

// catStacks is Trace Processor's function of this name. It returns a Stack of Stacks and names of functions, the root first, or
// nil if all are NULL.
func catStacks(parts []any) (any, error) {
	var stack []byte
	for i, part := range slices.Backward(parts) {
		switch part := part.(type) {
		case nil:
		case []byte:
			stack = append(stack, part...)
		case string:
			stack = appendEntry(stack, protowire.AppendString(protowire.AppendTag(nil, entryName, protowire.BytesType), part))
		default:
			return nil, fmt.Errorf("CAT_STACKS: argument %d is neither a stack nor text", i+1)
		}
	}
	if stack == nil {
		return nil, nil
	}
	return stack, nil
}

var errBadStack = errors.New("EXPERIMENTAL_PROFILE: the stack is not a message of type Stack")

// entry is a Stack.Entry: a name, or the id of a row.
type entry struct {
	field protowire.Number
	name  string
	id    int64
}

// readStack returns the entries of a Stack.
func readStack(stack []byte) ([]entry, error) {
	var entries []entry
	err := eachField(stack, func(field protowire.Number, value []byte, _ uint64) error {
		if field != stackEntry {
			return nil
		}
		var e entry
		err := eachField(value, func(field protowire.Number, value []byte, id uint64) error {
			if field >= entryName && field <= entryFrame {
				e = entry{field, string(value), int64(id)}
			}
			return nil
		})
		entries = append(entries, e)
		return err
	})
	return entries, err
}

// eachField calls each with the fields of a message that are bytes or integers.
func eachField(message []byte, each func(field protowire.Number, value []byte, integer uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errBadStack
		}
		message = message[n:]
		var value []byte
		var integer uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			integer, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return errBadStack
		}
		message = message[n:]
		if err := each(field, value, integer); err != nil {
			return err
		}
	}
	return nil
}
