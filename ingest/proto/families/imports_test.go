package families

import (
	"go/parser"
	"go/token"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tpconvert/tpconvert/ingest/proto"

// TestFamiliesStandAlone checks that the shared packages depend on no family, and no
// family on another.
func TestFamiliesStandAlone(t *testing.T) {
	list, err := parser.ParseFile(token.NewFileSet(), "families.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]bool{}
	for _, i := range list.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); strings.HasPrefix(path, module+"/") {
			families[path] = true
		}
	}
	if len(families) < 10 {
		t.Fatalf("the list has %d families", len(families))
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		pkg, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg == module+"/families" {
			continue
		}
		for dep := range strings.FieldsSeq(deps) {
			if families[dep] || dep == module+"/families" {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}
