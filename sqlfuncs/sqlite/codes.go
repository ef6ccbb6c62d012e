package sqlite

// Numbers of SQLite's C API: https://sqlite.org/c3ref/constlist.html.

// Result codes.
const (
	codeOK         = 0
	codeError      = 1
	codeNoMemory   = 7
	codeConstraint = 19
	codeRow        = 100
	codeDone       = 101

	deny = 1 // of an authorizer
)

// Type is the type of a value.
type Type int32

// The types of SQLite.
const (
	Integer Type = 1 + iota
	Real
	TextOf
	Blob
	Null
)

func (t Type) String() string {
	switch t {
	case Integer:
		return "INTEGER"
	case Real:
		return "REAL"
	case TextOf:
		return "TEXT"
	case Blob:
		return "BLOB"
	}
	return "NULL"
}

// Flags say what SQLite may assume of a function.
type Flags int32

// Flags of functions.
const (
	Deterministic Flags = 0x800     // the same arguments give the same result
	DirectOnly    Flags = 0x80000   // not in views
	TakesJSON     Flags = 0x100000  // it asks for Value.JSON
	GivesJSON     Flags = 0x1000000 // it calls Context.JSON

	// Gathered lets an aggregate have rows some at a time. It may not ask for the text of numbers, nor take pointers.
	Gathered Flags = 1 << 30
)

// Limit names a limit.
type Limit int32

// The limits that sessions set.
const (
	LimitLength    Limit = 0
	LimitSQLLength Limit = 1
	LimitCompound  Limit = 4
	LimitAttached  Limit = 7
)

// Action is something that a statement does, as sqlite3_set_authorizer names it.
type Action int32

// The actions that sessions look at: with their texts.
const (
	Attach       Action = 24 // file
	Detach       Action = 25 // database
	Pragma       Action = 19 // name, argument
	CreateVTable Action = 29 // table, module
	CallFunction Action = 31 // "", name
)

// Op is an operator of a constraint.
type Op uint8

// Operators.
const (
	EQ        Op = 2
	GT        Op = 4
	LE        Op = 8
	LT        Op = 16
	GE        Op = 32
	Like      Op = 65
	Glob      Op = 66
	NE        Op = 68
	IsNotNull Op = 70
	IsNull    Op = 71
	LimitOp   Op = 73
	OffsetOp  Op = 74

	FunctionOp Op = 150 // the first for overloaded functions

	In Op = 255 // of a Test: equal to one of the list of Index.UseIn
)
