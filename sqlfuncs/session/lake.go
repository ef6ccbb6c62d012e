package session

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// ledgerView is the view of a fleet's ledger: trace has only the traces with rows, and the columns that datasets have.
const ledgerView = "ledger"

// readLake returns all traces in a fleet's folder for DuckDB, and what selects the ledger, or nil if the folder is none.
func readLake(folder string) (d *sqlfuncs.Dataset, ledger string, err error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, "", err
	}
	lake, err := export.LakeTables(absolute)
	if err != nil || lake == nil {
		return nil, "", err
	}
	d = &sqlfuncs.Dataset{Path: filepath.ToSlash(absolute), Layout: sqlfuncs.ManyTraces, Rows: map[string]string{}}
	for _, s := range schema.All() {
		var files []string
		for _, file := range lake[s.Name] {
			files = append(files, sqltext.QuoteText(sqlfuncs.PathPattern(file)))
		}
		if len(files) == 0 {
			continue
		}
		d.Tables = append(d.Tables, s.Name)
		rows := fmt.Sprintf("FROM read_parquet([%s], union_by_name = true)", strings.Join(files, ", "))
		if s.Name == factsTable {
			ledger = rows
			rows = "SELECT row_number() OVER () - 1 AS id, regexp_extract(url, '[^/]*$') AS name, url AS path, * " + rows + " WHERE status = 'ok'"
		}
		d.Rows[s.Name] = fmt.Sprintf("(%s UNION ALL BY NAME %s)", rows, d.Empty(s)) // older files lack columns
	}
	return d, ledger, nil
}

// openLake makes the tables in a fleet's folder available, if it is one.
func (s *Session) openLake(ctx context.Context, folder string) (isLake bool, err error) {
	d, ledger, err := readLake(folder)
	if err != nil || d == nil {
		return false, err
	}
	if err := s.register(ctx, *d); err != nil || ledger == "" || s.options.Perfetto {
		return true, err
	}
	return true, s.Exec(ctx, "CREATE VIEW "+ledgerView+" AS "+ledger)
}
