package model

import "github.com/tpconvert/tpconvert/model/args"

// Args of rows, as trackers take them.
type (
	ArgValue  = args.Value
	Arg       = args.Arg
	ArgSet    = args.Set
	ArgSetID  = args.ID
	ArgSource = args.Source
	ArgFunc   = args.Func
)

// The kinds of args.
const (
	ArgInt    = args.KindInt
	ArgUint   = args.KindUint
	ArgString = args.KindString
	ArgReal   = args.KindReal
	ArgJSON   = args.KindJSON
	ArgNull   = args.KindNull
)

// IntArg is an integer or an id.
func IntArg[T ~int | ~int64](v T) ArgValue { return args.Int(int64(v)) }

// The values of args by kind.
func UintArg(v uint64) ArgValue     { return args.Uint(v) }
func StringArg(v StringID) ArgValue { return args.String(v) }
func RealArg(v float64) ArgValue    { return args.Real(v) }
func PointerArg(v uint64) ArgValue  { return args.Pointer(v) }
func JSONArg(v StringID) ArgValue   { return args.JSON(v) }
func NullArg() ArgValue             { return args.Null() }
func BoolArg(v bool) ArgValue       { return args.Bool(v) }

// ArrayKey is the key of an array's entry.
func ArrayKey(array string, index int) string { return args.ArrayKey(array, index) }

// ArgTarget is what learns the id of a set, for a row: in most cases a column.
type ArgTarget = args.Target

// SetArgs stores a set, unless it is empty, for a row of a column. The column has its id before the row is sealed.
func (s *Store) SetArgs(to ArgTarget, row int64, set *ArgSet) { s.args.Assign(to, row, set) }

// InternArgs returns the id of a set, which must not be empty. It takes longer than SetArgs: it waits for all sets before.
func (s *Store) InternArgs(set *ArgSet) ArgSetID { return s.args.Intern(set) }

// AppendArgs stores a set, which must not be empty, as it is, even if it was stored before. Its id is the number of args so far.
func (s *Store) AppendArgs(set *ArgSet) { s.args.Append(set) }

// NextArgs returns the id of a set that AppendArgs stores now.
func (s *Store) NextArgs() ArgSetID { return s.args.Next() }
