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

// InternArgs returns the id of a set, which must not be empty.
func (s *Store) InternArgs(set *ArgSet) ArgSetID { return s.args.Intern(set) }

// AppendArgs stores a set, which must not be empty, as it is, even if it was stored before. Its id is the number of args so far.
func (s *Store) AppendArgs(set *ArgSet) ArgSetID { return s.args.Append(set) }

// threadArgs returns the id of the set that holds only a utid. It overwrites scratch.
func (s *Store) threadArgs(utid UTID, scratch *ArgSet) ArgSetID {
	for len(s.threadSets) <= int(utid) {
		s.threadSets = append(s.threadSets, 0)
	}
	if s.threadSets[utid] == 0 {
		scratch.Reset()
		scratch.Add(s.words.utid, UintArg(uint64(utid)))
		s.threadSets[utid] = s.InternArgs(scratch) + 1
	}
	return s.threadSets[utid] - 1
}
