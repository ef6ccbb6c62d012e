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

// readLake returns all traces in a fleet's folder for DuckDB, and what selects the rows of its other tables by name: of the ledger, and of metrics.
// It returns nil if the folder is none.
func readLake(folder string) (d *sqlfuncs.Dataset, others map[string]string, err error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, nil, err
	}
	lake, err := export.LakeTables(absolute)
	if err != nil || lake == nil {
		return nil, nil, err
	}
	d = &sqlfuncs.Dataset{Path: filepath.ToSlash(absolute), Layout: sqlfuncs.ManyTraces, Rows: map[string]string{}}
	others = map[string]string{}
	for name, paths := range lake {
		if len(paths) == 0 {
			continue
		}
		var files []string
		for _, file := range paths {
			files = append(files, sqltext.QuoteText(sqlfuncs.PathPattern(file)))
		}
		others[name] = fmt.Sprintf("FROM read_parquet([%s], union_by_name = true, hive_partitioning = false)", strings.Join(files, ", "))
	}
	for _, s := range schema.All() {
		rows, there := others[s.Name]
		delete(others, s.Name)
		if !there {
			continue
		}
		d.Tables = append(d.Tables, s.Name)
		if s.Name == factsTable {
			others[ledgerView] = rows
			rows = "SELECT row_number() OVER () - 1 AS id, regexp_extract(url, '[^/]*$') AS name, url AS path, * " + rows + " WHERE status = 'ok'"
		}
		d.Rows[s.Name] = fmt.Sprintf("(%s UNION ALL BY NAME %s)", rows, d.Empty(s)) // older files lack columns
	}
	return d, others, nil
}

// openLake makes the tables in a fleet's folder available, if it is one.
func (s *Session) openLake(ctx context.Context, folder string) (isLake bool, err error) {
	d, others, err := readLake(folder)
	if err != nil || d == nil {
		return false, err
	}
	if err := s.register(ctx, *d); err != nil || s.options.Perfetto {
		return true, err
	}
	for name, rows := range others {
		if err := s.Exec(ctx, "CREATE VIEW "+sqltext.QuoteName(name)+" AS "+rows); err != nil {
			return true, err
		}
	}
	return true, nil
}
