package perfettosql

import "slices"

// class is what is known about the type of an expression: SQLite's storage classes, and DuckDB's additional
// types.
type class int

const (
	unknown   class = iota
	ofNull          // NULL, which fits any type
	ofBool          // BOOLEAN
	ofInt           // an integer of less than 64 bits
	ofLong          // BIGINT
	ofHuge          // HUGEINT
	ofReal          // DOUBLE
	ofText          // VARCHAR
	ofBlob          // BLOB
	ofVariant       // VARIANT: values of several types
	ofNested        // lists, rows and so on
)

// typeNames has DuckDB's type for each class.
var typeNames = map[class]string{
	ofBool: "BOOLEAN", ofInt: "INTEGER", ofLong: "BIGINT", ofHuge: "HUGEINT", ofReal: "DOUBLE", ofText: "VARCHAR", ofBlob: "BLOB",
	ofVariant: "VARIANT",
}

// classOfType returns the class of one of DuckDB's types, without its parameters.
func classOfType(name string) class {
	switch name {
	case "NULL":
		return ofNull
	case "BOOLEAN":
		return ofBool
	case "TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER":
		return ofInt
	case "BIGINT":
		return ofLong
	case "UBIGINT", "HUGEINT", "UHUGEINT":
		return ofHuge
	case "FLOAT", "DOUBLE", "DECIMAL":
		return ofReal
	case "VARCHAR", "JSON":
		return ofText
	case "BLOB":
		return ofBlob
	case "VARIANT":
		return ofVariant
	}
	return ofNested
}

func (c class) number() bool { return ofBool <= c && c <= ofReal }

// typed returns a NULL of the class, for expressions whose type DuckDB is asked for.
func (c class) typed() string {
	if name, ok := typeNames[c]; ok {
		return "NULL::" + name
	}
	return "NULL"
}

// common returns the class of a value that comes from any of several expressions. mixed is true if VARIANT is
// DuckDB's only type for all of them.
func common(classes ...class) (all class, mixed bool) {
	all = ofNull
	for _, c := range classes {
		switch {
		case c == unknown || all == unknown:
			all = unknown
		case c == ofNull || c == all:
		case all == ofNull:
			all = c
		case all.number() && c.number():
			all = max(all, c)
		case all == ofNested || c == ofNested:
			all = unknown
		default:
			all, mixed = ofVariant, true
		}
	}
	return all, mixed && all == ofVariant
}

// lazily returns a function that calls find once, after the statement is read. Calls made while find runs, as
// for a common table that reads itself, return ofNull.
func lazily(find func() class) func() class {
	found, c := false, ofNull
	return func() class {
		if !found {
			found = true
			c = find()
		}
		return c
	}
}

// always returns a known class.
func always(c class) func() class { return func() class { return c } }

// The SQL around an expression that converts it to another class.
var (
	asVariant = [2]string{"(", ")::VARIANT"}
	asVarchar = [2]string{"(", ")::VARCHAR"}
	asReal    = [2]string{"sqlite_to_real(", ")"}
	asLong    = [2]string{"(", ")::BIGINT"}
	asKey     = [2]string{"sqlite_key(", ")"}
	asKeys    = [2]string{"SELECT sqlite_key(COLUMNS(*)) FROM (", ")"} // for a query
)

// slot is the place of an expression that may have to be converted to another class.
type slot struct {
	before, after *piece
	class         func() class
	fits          bool // it is a literal that adopts the class of its neighbor
	query         bool // it is a query, whose columns are converted
}

func (s slot) give(as [2]string) { s.before.text, s.after.text = as[0], as[1] }

// slots adds room for conversions around expressions, whose SQL is in items.
func slots(items []pieces, of []expr) []slot {
	all := make([]slot, len(items))
	for i, item := range items {
		all[i] = slot{
			before: &piece{pos: -1}, after: &piece{pos: -1},
			class: of[i].is(), fits: of[i].constant == text && isNumber(of[i].raw),
		}
		items[i] = cat(all[i].before, item, all[i].after)
	}
	return all
}

// classes returns the classes of the expressions that do not adopt another's.
func classes(slots []slot) []class {
	var all []class
	for _, s := range slots {
		if !s.fits {
			all = append(all, s.class())
		}
	}
	return all
}

// mix converts expressions to a common class if any of them may be the result.
func (p *parser) mix(slots []slot) {
	p.later(func() {
		for i := range slots {
			slots[i].fits = false // text stays text here
		}
		if _, mixed := common(classes(slots)...); mixed {
			for _, s := range slots {
				s.give(asVariant)
			}
		}
	})
}

// compare makes text comparable with numbers, using the conversion in as.
func (p *parser) compare(slots []slot, as [2]string) {
	p.later(func() {
		all := classes(slots)
		variant := slices.Contains(all, ofVariant)
		if !variant && !(slices.Contains(all, ofText) && slices.ContainsFunc(all, class.number)) {
			return
		}
		if variant && as == asVarchar {
			as = asKey
		}
		for _, s := range slots {
			if s.query {
				s.give(asKeys)
			} else {
				s.give(as)
			}
		}
	})
}

// calculate converts operands to numbers: text to reals, and shorter integers to 64 bits.
func (p *parser) calculate(slots []slot) {
	p.later(func() {
		for _, s := range slots {
			switch c := s.class(); {
			case c == ofText && !s.fits:
				s.give(asReal)
			case c == ofBool || c == ofInt:
				s.give(asLong)
			}
		}
	})
}
