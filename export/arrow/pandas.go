package arrow

import (
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
)

// pandasTypes are pandas' nullable types by Arrow type. Without them pandas reads a nullable integer as a float64, which has no
// room for those above 2^53.
var pandasTypes = map[arrow.Type]string{arrow.INT64: "Int64", arrow.INT32: "Int32", arrow.BOOL: "boolean"}

// pandasColumn describes a column to pandas, in the words of its specification (Storing pandas DataFrame objects in Parquet).
type pandasColumn struct {
	Name       string  `json:"name"`
	FieldName  string  `json:"field_name"`
	PandasType string  `json:"pandas_type"`
	NumpyType  string  `json:"numpy_type"`
	Metadata   *string `json:"metadata"`
}

// PandasMetadata returns the key and value of a file's metadata that name pandas' types for the nullable columns of integers
// and booleans.
func PandasMetadata(fields []arrow.Field) [2]string {
	columns := []pandasColumn{}
	for _, f := range fields {
		if nullable, ok := pandasTypes[f.Type.ID()]; ok && f.Nullable {
			columns = append(columns, pandasColumn{Name: f.Name, FieldName: f.Name, PandasType: f.Type.Name(), NumpyType: nullable})
		}
	}
	value, err := json.Marshal(map[string]any{
		"columns": columns, "index_columns": []string{}, "column_indexes": []string{},
		"creator": map[string]string{"library": "tpconvert", "version": ""}, "pandas_version": "1.0.0",
	})
	if err != nil {
		panic(err) // texts alone
	}
	return [2]string{"pandas", string(value)}
}
