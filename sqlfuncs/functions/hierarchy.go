package functions

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

var hierarchyColumns = define.Specs("id, snapshot_id, layer_id, ancestor_id")

// defineHierarchy defines the function of the layers above each layer of SurfaceFlinger's snapshots, from the root to itself.
func defineHierarchy(d *define.Definer) {
	const name = "__intrinsic_winscope_surfaceflinger_hierarchy_path"
	load := define.Once(func() (*dataframe.Frame, error) { return readHierarchy(d.Tables) })
	d.Rows(&dataframe.Function{Name: name, Columns: hierarchyColumns, Rows: func([]sqlite.Value) (*dataframe.Frame, error) {
		f, err := load()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return f, nil
	}})
}

func readHierarchy(tables dataframe.Source) (*dataframe.Frame, error) {
	var snapshot, layer, parent dataframe.Reader
	f, err := define.Columns(tables, "surfaceflinger_layer", define.Readers{
		"snapshot_id": &snapshot, "layer_id": &layer, "parent": &parent,
	})
	if err != nil {
		return nil, err
	}
	b := dataframe.NewBuilder(tables.Pool(), hierarchyColumns...)
	n := int64(0)
	for from, to := 0, 0; from < f.Rows; from = to {
		parents := map[int64]int64{} // of the layers of a snapshot
		for ; to < f.Rows && snapshot.Int(to) == snapshot.Int(from); to++ {
			if _, known := parents[layer.Int(to)]; !known && !layer.IsNull(to) {
				parents[layer.Int(to)] = parent.Int(to)
			}
		}
		for row := from; row < to; row++ {
			if layer.IsNull(row) {
				continue
			}
			path := []int64{layer.Int(row)}
			for at := parent.Int(row); len(path) <= len(parents); {
				above, ok := parents[at]
				if !ok || above == at {
					break
				}
				path = append(path, at)
				at = above
			}
			for _, ancestor := range slices.Backward(path) {
				for i, v := range []int64{n, snapshot.Int(row), int64(uint32(layer.Int(row))), int64(uint32(ancestor))} {
					b.Int(i, v)
				}
				n++
			}
		}
	}
	return b.Frame(), nil
}
