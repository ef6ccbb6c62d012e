package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// admitCalls refuses statements that call a function of DuckDB which is not allowed. Macros may call it: those of the data are
// ours, and statements that create others are refused here. A text that a macro runs is checked by our macro _query.
func (s *Session) admitCalls(ctx context.Context, statement string) error {
	calls, err := s.parsedCalls(ctx, statement)
	if err != nil {
		if escapedName().MatchString(statement) {
			return fmt.Errorf("names in U&\"\" are only allowed in queries: %w", ErrDenied)
		}
		calls = writtenCalls(statement)
	}
	allowed := sqlfuncs.AllowedFunctions()
	var others []string
	for _, name := range calls {
		if name = strings.ToLower(name); !allowed[name] && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	// DuckDB knows which are its own. It will report those that do not exist.
	denied, err := s.Texts(ctx, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE internal AND list_contains(?, function_name) ORDER BY ALL", others)
	if err == nil && len(denied) > 0 {
		err = fmt.Errorf("the function %s is not allowed: %w", denied[0], ErrDenied)
	}
	return err
}

var errNoQuery = errors.New("not a query")

// parsedCalls returns the functions that queries call, as DuckDB parses them. It fails for other statements.
func (s *Session) parsedCalls(ctx context.Context, queries string) (names []string, err error) {
	trees, err := s.Texts(ctx, "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true, skip_default := true)::VARCHAR", queries)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Error      bool
		Statements any
	}
	if err := json.Unmarshal([]byte(trees[0]), &parsed); err != nil {
		return nil, err
	}
	if parsed.Error {
		return nil, errNoQuery
	}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, child := range node {
				walk(child)
			}
		case map[string]any:
			if name, ok := node["function_name"].(string); ok {
				names = append(names, name)
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(parsed.Statements)
	return names, nil
}

var (
	// writtenCall matches a name before a parenthesis, with white space, of which DuckDB knows all of Unicode's, or a comment
	// between them.
	writtenCall = lazyRegexp(`(\w+)"?[^!-~]*(?:\(|/\*|--)`)
	// escapedName matches names that are written as numbers of characters.
	escapedName = lazyRegexp(`(?i)\bu&["']`)
)

// writtenCalls returns all names in a statement that look like calls, also in quotes and comments.
func writtenCalls(statement string) (names []string) {
	for _, m := range writtenCall().FindAllStringSubmatch(statement, -1) {
		names = append(names, m[1])
	}
	return names
}
