// Package spans has the virtual tables over spans of time: span joins and windows.
package spans

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Kind is a kind of span join. A span join is the intersection of two tables of spans, rows with ts and dur, in partitions of the same key:
//
//	CREATE VIRTUAL TABLE x USING SPAN_JOIN(a PARTITIONED utid, b PARTITIONED utid)
//
// It runs a query over each table, ordered by partition and ts, and walks through both at once. Spans of a table in one
// partition may not overlap each other. A left join also has the spans of the first table, and an outer join those of both,
// where the other table has none.
type Kind int

const (
	Inner Kind = iota
	Left
	Outer
)

// Join returns the module of joins of a kind.
func Join(db *sqlite.DB, kind Kind) sqlite.Module {
	return sqlite.Module{Create: func(_ string, args []string) (sqlite.Table, string, error) {
		j, err := newSpanJoin(db, kind, args)
		if err != nil {
			return nil, "", fmt.Errorf("SPAN_JOIN: %w", err)
		}
		return j, j.declaration(), nil
	}}
}

// partitioning says which of two tables have a partition.
type partitioning int

const (
	unpartitioned partitioning = iota
	bothPartitioned
	onePartitioned
)

// spanJoin is a virtual table.
type spanJoin struct {
	db           *sqlite.DB
	partitioning partitioning
	partition    string // name of the column, "" without partitions
	sides        [2]*spanSide
	first        int          // number of columns ts, dur and the partition
	columns      []spanColumn // after these
}

// spanColumn is a column of the join: a column of one side.
type spanColumn struct{ side, column int }

// shadows says for which times without a span a side has rows of NULL.
type shadows int

const (
	noShadows  shadows = iota
	gapShadows         // in partitions that have a span
	allShadows         // also in partitions that have none
)

// spanSide is one of the two tables.
type spanSide struct {
	table     string
	partition string
	columns   []sideColumn
	ts, dur   int // positions of columns; dur is -1 without
	key       int // position of the partition's column, -1 without
	shadows   shadows
}

type sideColumn struct{ name, declared string }

func newSpanJoin(db *sqlite.DB, kind Kind, args []string) (*spanJoin, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("want two tables, not %d", len(args))
	}
	j := &spanJoin{db: db}
	for i, arg := range args {
		s, err := parseSide(arg)
		if err != nil {
			return nil, err
		}
		j.sides[i] = s
	}
	a, b := j.sides[0], j.sides[1]
	switch {
	case a.partition == b.partition && a.partition != "":
		j.partitioning = bothPartitioned
	case a.partition != "" && b.partition != "":
		return nil, fmt.Errorf("the partitions differ: %s of table %s and %s of table %s", a.partition, a.table, b.partition, b.table)
	case a.partition != b.partition:
		j.partitioning = onePartitioned
	}
	j.partition, j.first = a.partition+b.partition, 2
	if j.partition != "" {
		j.first++
	}
	if j.partitioning == bothPartitioned {
		j.partition = a.partition
	}
	for i, s := range j.sides {
		if kind == Outer || kind == Left && i == 1 {
			s.shadows = allShadows
			if j.partitioning == unpartitioned || j.partitioning == onePartitioned && s.partition != "" {
				s.shadows = gapShadows
			}
		}
		if err := s.describe(db); err != nil {
			return nil, err
		}
	}
	if a.dur < 0 && b.dur < 0 {
		return nil, fmt.Errorf("neither table %s nor %s has a column dur", a.table, b.table)
	}
	seen := map[string]bool{"ts": true, "dur": true, strings.ToLower(j.partition): true}
	for i, s := range j.sides {
		for k, c := range s.columns {
			if k == s.ts || k == s.dur || k == s.key {
				continue
			}
			name := strings.ToLower(c.name)
			if seen[name] {
				return nil, fmt.Errorf("column %s is in both tables, %s and %s", c.name, a.table, b.table)
			}
			seen[name] = true
			j.columns = append(j.columns, spanColumn{i, k})
		}
	}
	return j, nil
}

// parseSide parses "table" or "table PARTITIONED column".
func parseSide(text string) (*spanSide, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return nil, fmt.Errorf("the name of a table is missing")
	case len(words) == 1:
		return &spanSide{table: words[0]}, nil
	case !strings.EqualFold(words[1], "PARTITIONED"):
		return nil, fmt.Errorf("want PARTITIONED after the table's name, not %s", words[1])
	case len(words) == 2:
		return nil, fmt.Errorf("the column after PARTITIONED is missing")
	case words[2] == "ts" || words[2] == "dur":
		return nil, fmt.Errorf("table %s cannot be partitioned by %s", words[0], words[2])
	}
	return &spanSide{table: words[0], partition: words[2]}, nil
}

// declaredTypes are the types that columns of a span join can have, by those in the tables' declarations.
var declaredTypes = map[string]string{
	"STRING": "TEXT", "TEXT": "TEXT", "DOUBLE": "DOUBLE", "BIG INT": "BIGINT", "BIGINT": "BIGINT", "UNSIGNED INT": "BIGINT",
	"INT": "BIGINT", "BOOLEAN": "BIGINT", "INTEGER": "BIGINT", "BLOB": "BLOB", "": "",
}

// describe finds the columns of the table.
func (s *spanSide) describe(db *sqlite.DB) error {
	q, _, err := db.Prepare("SELECT name, type FROM pragma_table_info(?)")
	if err != nil {
		return err
	}
	defer q.Close()
	name, _, _ := strings.Cut(s.table, "(") // a function with rows
	if err := q.Bind(1, name); err != nil {
		return err
	}
	s.ts, s.dur, s.key = -1, -1, -1
	for i := 0; ; i++ {
		row, err := q.Step()
		if err != nil {
			return fmt.Errorf("columns of table %s: %w", s.table, err)
		}
		if !row {
			break
		}
		c := sideColumn{name: q.Text(0)}
		var ok bool
		if c.declared, ok = declaredTypes[strings.ToUpper(q.Text(1))]; !ok {
			return fmt.Errorf("column %s of table %s has the unknown type '%s'", c.name, s.table, q.Text(1))
		}
		if strings.ContainsAny(c.name, ",:") {
			return fmt.Errorf("the name of column '%s' has a ',' or ':'", c.name)
		}
		switch c.name {
		case "ts":
			s.ts = i
		case "dur":
			s.dur = i
		case s.partition:
			s.key = i
		}
		s.columns = append(s.columns, c)
	}
	switch {
	case len(s.columns) == 0:
		return fmt.Errorf("there is no table or view %s", s.table)
	case s.ts < 0:
		return fmt.Errorf("table %s has no column ts", s.table)
	case s.partition != "" && s.key < 0:
		return fmt.Errorf("table %s has no column %s", s.table, s.partition)
	}
	return nil
}

// query returns the query of a side for the columns of the join that are used, by bit; the last one stands for all that follow.
func (j *spanJoin) query(side int, where string, used uint64) string {
	s := j.sides[side]
	columns := make([]string, len(s.columns))
	for i := range columns {
		columns[i] = "NULL"
	}
	for i, c := range j.columns {
		if c.side == side && used>>min(j.first+i, 63)&1 != 0 {
			columns[c.column] = sqltext.QuoteColumn(s.columns[c.column].name)
		}
	}
	order := "ts"
	columns[s.ts] = "CAST(ts AS INTEGER)"
	if s.dur >= 0 {
		columns[s.dur] = "CAST(dur AS INTEGER)"
	}
	if s.key >= 0 {
		columns[s.key] = sqltext.QuoteColumn(s.partition)
		order = columns[s.key] + ", ts"
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + s.table + where + " ORDER BY " + order
}

func (j *spanJoin) declaration() string {
	columns := []string{"ts BIGINT", "dur BIGINT"}
	key := "ts"
	if j.partition != "" {
		columns = append(columns, sqltext.QuoteColumn(j.partition)+" BIGINT")
		key += ", " + sqltext.QuoteColumn(j.partition)
	}
	for _, c := range j.columns {
		column := j.sides[c.side].columns[c.column]
		columns = append(columns, sqltext.QuoteColumn(column.name)+" "+column.declared)
	}
	return "CREATE TABLE x(" + strings.Join(columns, ", ") + ", PRIMARY KEY(" + key + "))"
}

// operatorTexts are the operators of constraints that the query of a table can check.
var operatorTexts = map[sqlite.Op]string{
	sqlite.EQ: "=", sqlite.NE: "!=", sqlite.GE: ">=", sqlite.GT: ">", sqlite.LE: "<=", sqlite.LT: "<",
	sqlite.Like: "LIKE", sqlite.Glob: "GLOB", sqlite.IsNull: "IS NULL", sqlite.IsNotNull: "IS NOT NULL",
}

func (j *spanJoin) Destroy() {}

func (j *spanJoin) Open() (sqlite.Cursor, error) { return newSpanCursor(j), nil }

func (j *spanJoin) Best(x *sqlite.Index) error {
	n := 0
	var texts [2]strings.Builder
	for i, c := range x.Constraints {
		if !c.Usable {
			continue
		}
		arg := n
		n++
		x.Use(i, arg, false)
		for k, s := range j.sides {
			name := j.columnOf(k, c.Column)
			// A shadow depends on the spans around it, and where spans end on their dur, so that only constraints that keep the
			// spans before a time are the query's.
			if name == "" || name == "dur" || name == "ts" && c.Op != sqlite.LE || s.shadows != noShadows {
				continue
			}
			op, ok := operatorTexts[c.Op]
			if !ok {
				continue
			}
			if texts[k].Len() == 0 {
				texts[k].WriteString(" WHERE ")
			} else {
				texts[k].WriteString(" AND ")
			}
			texts[k].WriteString(sqltext.QuoteColumn(name) + " " + op)
			if c.Op != sqlite.IsNull && c.Op != sqlite.IsNotNull {
				texts[k].WriteString(" ?" + strconv.Itoa(arg+1))
			}
		}
	}
	if j.sorted(x.Orders) {
		x.Ordered()
	}
	x.Plan(0, j.query(0, texts[0].String(), x.Used)+"\x01"+j.query(1, texts[1].String(), x.Used))
	return nil
}

// sorted reports whether rows come in an order by themselves.
func (j *spanJoin) sorted(orders []sqlite.Order) bool {
	columns := []int{0}
	if j.partition != "" {
		columns = []int{2, 0}
	}
	if len(orders) == 0 || len(orders) > len(columns) {
		return false
	}
	for i, o := range orders {
		if o.Desc || o.Column != columns[i] {
			return false
		}
	}
	return true
}

// columnOf returns the name of the column of a side behind a column of the join, "" if there is none.
func (j *spanJoin) columnOf(side, column int) string {
	switch {
	case column < 0:
		return ""
	case column == 0:
		return "ts"
	case column == 1:
		return "dur"
	case column == 2 && j.partition != "":
		return j.sides[side].partition
	}
	c := j.column(column)
	if c.side != side {
		return ""
	}
	return j.sides[side].columns[c.column].name
}

// column returns the column of a side that is a column of the join, other than ts, dur and the partition.
func (j *spanJoin) column(column int) spanColumn {
	return j.columns[column-j.first]
}
