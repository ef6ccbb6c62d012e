package profiles

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// The fields of Trace Processor's messages Stack and Stack.Entry.
const (
	stackEntry     protowire.Number = 1 // the leaf first
	entryName      protowire.Number = 1 // of a function
	entryCallsite  protowire.Number = 2
	entryAnnotated protowire.Number = 3 // a callsite whose functions get annotations
	entryFrame     protowire.Number = 4
)

// stackOf returns a Stack with the id of a row in a field.
func stackOf(field protowire.Number, id int64) []byte {
	return appendEntry(nil, protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), uint64(id)))
}

func appendEntry(stack, entry []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(stack, stackEntry, protowire.BytesType), entry)
}

func defineStacks(d *define.Definer) {
	d.Scalar("cat_stacks", -1, catStacks)
	const ofCallsite, ofFrame = "stack_from_stack_profile_callsite", "stack_from_stack_profile_frame"
	loadCallsites := define.Once(func() (*define.RowsByID, error) { return readIDs(d.Tables, "stack_profile_callsite") })
	loadFrames := define.Once(func() (*define.RowsByID, error) { return readIDs(d.Tables, "stack_profile_frame") })
	d.Scalar(ofCallsite, -1, func(c sqlite.Context, args []sqlite.Value) error {
		if len(args) != 1 && len(args) != 2 {
			return errors.New(ofCallsite + " has 1 or 2 arguments")
		}
		callsites, err := loadCallsites()
		if err != nil {
			return fmt.Errorf("%s: %w", ofCallsite, err)
		}
		if row, err := define.StartRow(ofCallsite, "callsite", *callsites, args[0]); row < 0 || err != nil {
			return err
		}
		field := entryCallsite
		if len(args) == 2 {
			switch args[1].Type() {
			case sqlite.Null:
				return nil
			case sqlite.Integer:
			default:
				return errors.New(ofCallsite + ": the second argument is no truth value")
			}
			if args[1].Int() != 0 {
				field = entryAnnotated
			}
		}
		c.Blob(stackOf(field, args[0].Int()))
		return nil
	})
	d.Scalar(ofFrame, 1, func(c sqlite.Context, args []sqlite.Value) error {
		frames, err := loadFrames()
		if err != nil {
			return fmt.Errorf("%s: %w", ofFrame, err)
		}
		if row, err := define.StartRow(ofFrame, "frame", *frames, args[0]); row < 0 || err != nil {
			return err
		}
		c.Blob(stackOf(entryFrame, args[0].Int()))
		return nil
	})
}

// readIDs reads the ids of a table.
func readIDs(tables dataframe.Source, table string) (*define.RowsByID, error) {
	var r define.RowsByID
	f, err := define.Columns(tables, table, define.Readers{"id": &r.ID})
	if err != nil {
		return nil, err
	}
	r.Rows = f.Rows
	return &r, nil
}

// catStacks returns a Stack of Stacks and names of functions, the root first. It is NULL if there is none.
func catStacks(c sqlite.Context, args []sqlite.Value) error {
	var stack []byte
	for i, a := range slices.Backward(args) {
		switch a.Type() {
		case sqlite.Null:
		case sqlite.Blob:
			stack = append(stack, a.Blob()...)
		case sqlite.TextOf:
			stack = appendEntry(stack, protowire.AppendString(protowire.AppendTag(nil, entryName, protowire.BytesType), a.View()))
		default:
			return fmt.Errorf("cat_stacks: argument %d is neither a stack nor a text", i+1)
		}
		if len(stack) > define.MaxResult {
			return errors.New("cat_stacks: the result is too long")
		}
	}
	if stack != nil {
		c.Blob(stack)
	}
	return nil
}

var errBadStack = errors.New("the stack is not a message of type Stack")

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
