package tables

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// NewKept returns the tables of a trace whose rows are kept, some of them without rows. Closing it closes the rows.
func NewKept(rows *table.Kept, without ...string) *Dataset {
	d := NewDataset(func(name string, pool *dataframe.Pool) ([]Rows, error) {
		chunks := rows.Chunks(name)
		if len(chunks) == 0 || slices.Contains(without, name) {
			return nil, nil
		}
		return []Rows{&keptRows{rows, chunks, pool}}, nil
	})
	d.kept = rows
	return d
}

// keptRows are the rows of a table in chunks, of which there is one at least.
type keptRows struct {
	kept   *table.Kept
	chunks []*table.Chunk
	pool   *dataframe.Pool
}

// Len implements Rows.
func (k *keptRows) Len() (n int) {
	for _, c := range k.chunks {
		n += c.Rows
	}
	return n
}

// Has implements Rows.
func (k *keptRows) Has(column string) bool { return k.chunks[0].Schema.Column(column) >= 0 }

// Close implements Rows. The chunks have one owner.
func (k *keptRows) Close() error { return nil }

// Bytes implements Rows.
func (k *keptRows) Bytes(column string, row int) ([]byte, error) {
	for _, c := range k.chunks {
		if row < 0 || row >= c.Rows {
			row -= c.Rows
			continue
		}
		v, err := k.kept.Column(c, c.Schema.Column(column))
		ids, _ := v.Values.([]table.StringID)
		if err != nil || ids == nil || ids[row] == 0 {
			return nil, err
		}
		return []byte(c.Strings.Get(ids[row])), c.Strings.Err()
	}
	return nil, nil
}

// Read implements Rows.
func (k *keptRows) Read(column string, rows int, to *dataframe.Values) error {
	to.Grow(min(rows, k.Len()))
	for _, c := range k.chunks {
		n := min(rows, c.Rows)
		if n == 0 {
			break
		}
		i := c.Schema.Column(column)
		v, err := k.kept.Column(c, i)
		if err != nil {
			return err
		}
		if err := k.add(c, i, v, n, to); err != nil {
			return err
		}
		rows -= n
	}
	return nil
}

// add adds the first n rows of a chunk's column.
func (k *keptRows) add(c *table.Chunk, i int, v table.Vector, n int, to *dataframe.Values) error {
	switch values := v.Values.(type) {
	case nil:
		if !c.Schema.Columns[i].Row {
			to.Nulls(n)
			return nil
		}
		for row := range n {
			to.Int(c.Base + int64(row))
		}
	case []table.StringID:
		return k.addTexts(c, values[:n], to)
	case []int64:
		to.Ints(values[:n])
	case []int32:
		for _, x := range values[:n] {
			to.Int(int64(x))
		}
	case []bool:
		for _, x := range values[:n] {
			to.Bool(x)
		}
	case []float64:
		to.Reals(values[:n])
	default:
		return fmt.Errorf("a column of type %T", values)
	}
	if v.Valid != nil {
		to.OnlyValid(v.Valid, n)
	}
	return nil
}

// recentTexts is how many texts of a column are found again by their ids. It is a power of two.
const recentTexts = 1 << 10

// addTexts adds the texts of a chunk's column. It looks a text up in the pool unless it is one of the recent.
func (k *keptRows) addTexts(c *table.Chunk, ids []table.StringID, to *dataframe.Values) error {
	var recent [recentTexts]struct {
		id     table.StringID
		number uint32
	}
	for _, id := range ids {
		if id == 0 {
			to.Null()
			continue
		}
		last := &recent[id%recentTexts]
		if last.id != id {
			last.id, last.number = id, k.pool.Add(c.Strings.Get(id))
		}
		to.Text(last.number)
	}
	return c.Strings.Err()
}
