package functions

import (
	"errors"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// defineETM defines the functions that decode traces of Arm's ETM, so that modules with functions that call them load. A call is
// an error, as a dataset does not have the bytes to decode.
func defineETM(d *define.Definer) {
	columns := func(kind dataframe.Kind, names ...string) (specs []dataframe.Spec) {
		for _, n := range names {
			specs = append(specs, dataframe.Spec{Name: n, Kind: kind})
		}
		return specs
	}
	for _, f := range []dataframe.Function{
		{
			Name: "__intrinsic_etm_decode_chunk", Args: []string{"chunk_id"},
			Columns: append(columns(dataframe.Integer, "chunk_index", "element_index", "timestamp", "cycle_count", "last_seen_timestamp",
				"cumulative_cycles", "exception_level", "context_id", "start_address", "end_address", "mapping_id"),
				columns(dataframe.Text, "element_type", "isa", "instruction_range")...),
		},
		{
			Name: "__intrinsic_etm_iterate_instruction_range", Args: []string{"instruction_range"},
			Columns: append(columns(dataframe.Integer, "instruction_index", "address", "opcode", "branch_address", "is_conditional", "is_link"),
				columns(dataframe.Text, "type", "sub_type")...),
		},
	} {
		f.Rows = func([]sqlite.Value) (*dataframe.Frame, error) {
			return nil, errors.New(f.Name + ": a dataset does not have the bytes of ETM traces")
		}
		d.Do(f.Define(d.DB))
	}
}
