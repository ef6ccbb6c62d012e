package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LakeCatalog is the file in a fleet's folder that is its catalog, a SQLite database.
const LakeCatalog = "catalog.db"

// lakeFiles lists the files of a fleet's tables, which no other file may: some wait for a commit, and others are superseded.
const lakeFiles = "files.json"

// LakeFiles are the files of a fleet's tables. Paths are relative to the folder.
type LakeFiles struct {
	State      string                         `json:"state"` // of the catalog
	Namespaces map[string]map[string][]string `json:"namespaces"`
}

// ReadLakeFiles returns the list of files in a fleet's folder, or nil if it is none.
func ReadLakeFiles(folder string) (*LakeFiles, error) {
	name := filepath.Join(folder, lakeFiles)
	text, err := os.ReadFile(name)
	if err != nil {
		if _, missing := os.Stat(filepath.Join(folder, LakeCatalog)); missing != nil {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: tpfleet init %s makes it anew", err, folder)
	}
	var list LakeFiles
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if list.Namespaces == nil {
		if _, missing := os.Stat(filepath.Join(folder, LakeCatalog)); missing != nil {
			return nil, nil
		}
		return nil, fmt.Errorf("%s is of an older version: tpfleet init %s makes it anew", name, folder)
	}
	return &list, nil
}

// LakeTables returns the paths of the files of each table in a fleet's folder that has one namespace, or in the folder of a namespace
// in that, or nil if it is none.
func LakeTables(folder string) (map[string][]string, error) {
	root, namespace := folder, ""
	list, err := ReadLakeFiles(root)
	if err == nil && list == nil {
		root, namespace = filepath.Dir(folder), filepath.Base(folder)
		list, err = ReadLakeFiles(root)
	}
	if err != nil || list == nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(list.Namespaces))
	switch {
	case namespace == "" && len(names) > 1:
		return nil, fmt.Errorf("%s has the namespaces %s: name one, such as %s", folder, strings.Join(names, ", "), filepath.Join(folder, names[0]))
	case namespace == "" && len(names) == 1:
		namespace = names[0]
	case list.Namespaces[namespace] == nil && namespace != "":
		return nil, nil
	}
	tables := map[string][]string{}
	for name, files := range list.Namespaces[namespace] {
		for _, file := range files {
			tables[name] = append(tables[name], filepath.ToSlash(filepath.Join(root, filepath.FromSlash(file))))
		}
	}
	return tables, nil
}

// Write replaces the list in a folder.
func (l *LakeFiles) Write(folder string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "."+lakeFiles+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, lakeFiles))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
