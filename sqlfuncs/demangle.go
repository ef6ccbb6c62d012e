package sqlfuncs

import (
	"context"
	"database/sql"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangle returns the C++ or Rust name of a compiler's symbol, in LLVM's style, or false if the symbol is
// not mangled.
func Demangle(symbol string) (name string, ok bool) {
	for _, s := range []string{symbol, strings.TrimPrefix(symbol, "_")} { // macOS prefixes each symbol with one more _
		options := []demangle.Option{demangle.LLVMStyle}
		s, clone, cloned := strings.Cut(s, ".llvm.") // the package refuses it after Rust's legacy names
		if !strings.HasPrefix(s, "_R") {
			options = append(options, demangle.NoRust) // LLVM keeps the hash in Rust's legacy names
		}
		if name, err := demangle.ToString(s, options...); err == nil {
			if cloned {
				name += " (.llvm." + clone + ")"
			}
			return name, true
		}
	}
	return "", false
}

// DemangleNames fills the lookup table of the macro demangle with the names of a registered dataset, because
// a macro cannot call Demangle.
func DemangleNames(ctx context.Context, db *sql.Conn) error {
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
