package tables

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe/parquetfile"
)

// FileOpener opens the files that there are of those that paths returns for a table.
func FileOpener(paths func(table string) []string) Opener {
	return func(table string, pool *dataframe.Pool) (all []Rows, err error) {
		for _, path := range paths(table) {
			f, err := os.Open(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var rows *parquetfile.File
			if err == nil {
				rows, err = OpenFile(f, pool)
			}
			if err != nil {
				for _, r := range all {
					err = errors.Join(err, r.Close())
				}
				return nil, err
			}
			all = append(all, rows)
		}
		return all, nil
	}
}

// OpenFile opens a Parquet file, and closes it if that fails.
func OpenFile(f *os.File, pool *dataframe.Pool) (*parquetfile.File, error) {
	rows, err := parquetfile.Open(f, pool)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return rows, nil
}
