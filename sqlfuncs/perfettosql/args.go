package perfettosql

import (
	"context"
	"fmt"
)

const extractArg = "extract_arg"

// extractor is the function that extracts the arguments of one key.
type extractor struct {
	name  string
	class class
}

// maxExtracted is the maximum number of arguments of a key for which the session keeps a table of them.
const maxExtracted = 1 << 20

// readArgs makes a function for each key of arguments. A search in all arguments would take most of the time of queries on
// small tables. If all values have one type, so has the function. Otherwise it returns a VARIANT, which DuckDB sorts
// differently from Trace Processor.
func (s *Session) readArgs(ctx context.Context) error {
	if err := s.catalog.Create(ctx, "args"); err != nil {
		return err
	}
	rows, err := s.Conn.QueryContext(ctx, `
		SELECT key, count(int_value), count(real_value), count(string_value), count(*)
		FROM dataset.args WHERE key IS NOT NULL GROUP BY key`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.extract = map[string]extractor{}
	for rows.Next() {
		var key string
		var ints, reals, texts, all int
		if err := rows.Scan(&key, &ints, &reals, &texts, &all); err != nil {
			return err
		}
		e, value := extractor{"_" + extractArg, ofVariant}, "CASE WHEN int_value IS NOT NULL THEN int_value::VARIANT "+
			"WHEN real_value IS NOT NULL THEN real_value::VARIANT ELSE string_value::VARIANT END"
		switch {
		case ints > 0 && reals == 0 && texts == 0:
			e, value = extractor{"extract_arg_int", ofLong}, "int_value"
		case ints == 0 && reals > 0 && texts == 0:
			e, value = extractor{"extract_arg_real", ofReal}, "real_value"
		case ints == 0 && reals == 0 && texts > 0:
			e, value = extractor{"extract_arg_str", ofText}, "string_value"
		}
		if all <= maxExtracted {
			e.name = fmt.Sprintf("_arg_%d", len(s.extract))
			s.catalog.Add(e.name,
				fmt.Sprintf("CREATE TABLE %s AS SELECT arg_set_id AS _set_of_arg, any_value(%s) AS _value_of_arg FROM dataset.args WHERE key = %s GROUP BY arg_set_id",
					e.name, value, literal(key)),
				fmt.Sprintf("CREATE MACRO %s(arg_set, key) AS (SELECT _value_of_arg FROM memory.%s WHERE _set_of_arg = arg_set)", e.name, e.name))
		}
		s.extract[key] = e
	}
	return rows.Err()
}
