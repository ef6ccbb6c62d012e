package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const module = "github.com/tpconvert/tpconvert"

// rule is what depguard checks of some files.
type rule struct{ Files, Allow []string }

// covers reports whether a rule is about the files of a folder.
func (r rule) covers(folder string) (covers bool) {
	for _, glob := range r.Files {
		start, glob, _ := strings.Cut(glob, "/")
		switch {
		case !matches(glob, folder):
		case strings.HasPrefix(start, "!"):
			return false
		default:
			covers = true
		}
	}
	return covers
}

// matches reports whether a glob, such as export/*.go or rpc/**.go, matches the files of a folder.
func matches(glob, folder string) bool {
	if below, ok := strings.CutSuffix(strings.TrimSuffix(glob, ".go"), "/**"); ok {
		return folder == below || strings.HasPrefix(folder, below+"/")
	}
	match, err := path.Match(strings.TrimSuffix(strings.TrimSuffix(glob, "*.go"), "/"), folder)
	return match && err == nil
}

// imports returns the folders that a rule allows beside internal.
func (r rule) imports() (all []string) {
	for _, name := range r.Allow {
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(name, "$"), module), "/"))
	}
	return sorted(all)
}

// sorted sorts folders, without internal and what is in it.
func sorted(folders []string) []string {
	folders = slices.DeleteFunc(folders, func(f string) bool { return f == "internal" || strings.HasPrefix(f, "internal/") })
	slices.Sort(folders)
	return folders
}

// cell has the folders in a cell of the table of architecture.md.
var cell = regexp.MustCompile("`([^`]+?)(?:/\\.\\.\\.)?`|the root")

func folders(text string) (all []string) {
	for _, m := range cell.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// rules returns the rules for rooms.
func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]rule }
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(maps.Values(config.Linters.Settings.Depguard.Rules))
	return slices.DeleteFunc(all, func(r rule) bool { return r.Allow == nil })
}

// Each room in the table of architecture.md has a rule of the linter, which allows the imports in the table.
func TestRooms(t *testing.T) {
	rules := rules(t)
	page, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| --- | --- | --- |\n")
	if !found {
		t.Fatal("there is no table")
	}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || len(folders(cells[1])) != 1 {
			t.Fatalf("not a room: %s", row)
		}
		folder, imports := folders(cells[1])[0], sorted(folders(cells[3]))
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.covers(folder) && slices.Equal(r.imports(), imports) }) {
			t.Errorf("no rule for %q allows what the table lists: %q", folder, imports)
		}
	}
}

// Each package has a rule of the linter.
func TestPackagesHaveRules(t *testing.T) {
	rules := rules(t)
	seen := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || name == "." {
			return err
		}
		if name == "bin" || strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" { // bin is not ours alone
			return fs.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join("..", name, "*.go")); len(files) == 0 {
			return nil
		}
		seen++
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.covers(name) }) {
			t.Errorf("%s has no rule", name)
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d packages, %v", seen, err)
	}
}
