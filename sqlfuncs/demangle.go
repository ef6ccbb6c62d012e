package sqlfuncs

import (
	"context"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangle returns the name that a compiler made a C++ or Rust symbol of, as LLVM writes it, or false if it made none.
func Demangle(symbol string) (name string, ok bool) {
	for _, s := range []string{symbol, strings.TrimPrefix(symbol, "_")} { // macOS puts one before each
		options := []demangle.Option{demangle.LLVMStyle}
		if !strings.HasPrefix(s, "_R") {
			options = append(options, demangle.NoRust) // LLVM keeps the hash of Rust's older names
		}
		if name, err := demangle.ToString(s, options...); err == nil {
			return name, true
		}
	}
	return "", false
}

// DemangleNames fills the table that the macro demangle looks names up in, with those of a registered dataset: a macro
// cannot call Demangle.
func DemangleNames(ctx context.Context, db Execer) error {
	rows, err := db.QueryContext(ctx, `
		FROM (SELECT name FROM stack_profile_frame UNION SELECT deobfuscated_name FROM stack_profile_frame
		      UNION SELECT name FROM stack_profile_symbol)
		WHERE name LIKE '\_%' ESCAPE '\'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var symbols, names []string
	for rows.Next() {
		var symbol string
		if err := rows.Scan(&symbol); err != nil {
			return err
		}
		if name, ok := Demangle(symbol); ok {
			symbols, names = append(symbols, symbol), append(names, name)
		}
	}
	if err := rows.Err(); err != nil || names == nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO _demangled SELECT unnest($1), unnest($2)", symbols, names)
	return err
}
