package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// uses finds the constants that the Go code below root names, by package and name,
// and where each is named first. It reads the code without compiling it, because
// code with a new constant compiles only afterwards.
func uses(root string) (map[string]token.Position, error) {
	used := map[string]token.Position{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		usesIn(file, func(constant string, at token.Pos) {
			if _, ok := used[constant]; !ok {
				used[constant] = files.Position(at)
			}
		})
		return nil
	})
	return used, err
}

// usesIn calls found with each constant that a file names.
func usesIn(file *ast.File, found func(constant string, at token.Pos)) {
	imported := map[string]string{} // the package of constants, by its name in the file
	for _, spec := range file.Imports {
		name := constantPackage(spec)
		if name == "" {
			continue
		}
		if spec.Name != nil {
			imported[spec.Name.Name] = name
		} else {
			imported[name] = name
		}
	}
	if len(imported) == 0 {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && imported[x.Name] != "" {
				found(imported[x.Name]+"."+selector.Sel.Name, selector.Pos())
			}
		}
		return true
	})
}

// constantPackage returns the name of the package of constants that is imported,
// or "" if it is another.
func constantPackage(spec *ast.ImportSpec) string {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil || !slices.ContainsFunc(packages, func(p goPackage) bool {
		return imported == "github.com/tpconvert/tpconvert/"+p.folder()
	}) {
		return ""
	}
	return path.Base(imported)
}

// unknown returns an error if a constant is used that no message has.
func unknown(used map[string]token.Position, has func(constant string) bool) error {
	var wrong []string
	for constant, at := range used {
		if !has(constant) {
			wrong = append(wrong, fmt.Sprintf("%s: Perfetto's messages have no field or enum value %s", at, constant))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s", strings.Join(wrong, "\n"))
}
