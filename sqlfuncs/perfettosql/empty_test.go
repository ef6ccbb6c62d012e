package perfettosql

import "github.com/apache/arrow-go/v18/parquet"

// Empty has all tables, without rows.
func Empty() *Dataset {
	return NewDataset(func(string) (parquet.ReaderAtSeeker, int, int, error) { return nil, 0, 0, nil })
}
