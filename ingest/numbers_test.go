package ingest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestNoNumericCases checks that code names fields: no case is a literal number, and
// field numbers are not compared with one.
func TestNoNumericCases(t *testing.T) {
	files := token.NewFileSet()
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SwitchStmt:
				for _, clause := range n.Body.List {
					for _, e := range clause.(*ast.CaseClause).List {
						if n.Tag != nil && hasNumber(e) {
							t.Errorf("%s: a case with a number", files.Position(e.Pos()))
						}
					}
				}
			case *ast.BinaryExpr:
				if s, ok := n.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Number" && hasNumber(n.Y) && (n.Op == token.EQL || n.Op == token.NEQ) {
					if y, ok := n.Y.(*ast.BasicLit); !ok || y.Value != "0" {
						t.Errorf("%s: a field by its number", files.Position(n.Pos()))
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Find" && len(n.Args) == 2 && hasNumber(n.Args[1]) {
					t.Errorf("%s: a field by its number", files.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hasNumber reports whether an expression contains a number, other than as an index
// or as the shift of a field number in a tag.
func hasNumber(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.SHL {
			found = found || hasNumber(b.X)
			return false
		}
		if i, ok := n.(*ast.IndexExpr); ok {
			found = found || hasNumber(i.X)
			return false
		}
		lit, ok := n.(*ast.BasicLit)
		found = found || ok && lit.Kind == token.INT
		return true
	})
	return found
}
