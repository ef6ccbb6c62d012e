// Generate writes Go code from the description of Perfetto: constants for the
// numbers of fields and enums that the code uses, the list of stats and the table
// of tracepoints.
//
//	go generate ./internal/perfetto
//
// To replace its input by that of another version of Perfetto, run
//
//	go run ./internal/perfetto/generate -from CHECKOUT
//
// with a checkout of Perfetto's source, and protoc in the PATH.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// The input files, relative to the root of the repository.
const (
	descriptorsFile = "internal/perfetto/descriptors.binpb.zst"
	atomsFile       = "internal/perfetto/atoms.binpb.zst"
	statsFile       = "internal/perfetto/stats.tsv"
)

func main() {
	log.SetFlags(0)
	from := flag.String("from", "", "replace the input by that of the version of Perfetto in this `folder`")
	flag.Parse()
	root, err := findRoot()
	if err == nil && *from != "" {
		err = update(root, *from)
	}
	if err == nil {
		err = write(root)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func findRoot() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(mod))), err
}

// write writes the generated files and removes those that are no longer
// generated.
func write(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	old, err := generated(root)
	if err != nil {
		return err
	}
	for _, name := range old {
		if files[name] == nil {
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				return err
			}
		}
	}
	for name, data := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// generated lists the existing files of constants.
func generated(root string) ([]string, error) {
	var names []string
	for _, p := range packages {
		paths, err := filepath.Glob(filepath.Join(root, p.folder(), "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			names = append(names, p.folder()+"/"+filepath.Base(path))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// generate returns the contents of all generated files, by their paths relative
// to the root.
func generate(root string) (map[string][]byte, error) {
	compressed, err := os.ReadFile(filepath.Join(root, descriptorsFile))
	if err != nil {
		return nil, err
	}
	stats, err := os.ReadFile(filepath.Join(root, statsFile))
	if err != nil {
		return nil, err
	}
	set, err := perfetto.Decompress(compressed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", descriptorsFile, err)
	}
	types, err := perfetto.Files(set)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", descriptorsFile, err)
	}
	used, err := uses(root)
	if err != nil {
		return nil, err
	}
	files, err := constants(types, used)
	if err != nil {
		return nil, err
	}
	tables := map[string]func() ([]byte, error){
		"ingest/internal/ftrace/tracepoints.txt": func() ([]byte, error) { return tracepoints(types) },
		"model/stats_list.go":                    func() ([]byte, error) { return statsList(bytes.NewReader(stats)) },
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if files[name], err = tables[name](); err != nil {
			return nil, err
		}
	}
	return files, nil
}
