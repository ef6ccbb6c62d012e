package export

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// LakeCatalog is the file in a fleet's folder that is its catalog, a SQLite database.
const LakeCatalog = "catalog.db"

// lakeFiles lists the files of a fleet's tables, which no other file may: some wait for a commit, and others are superseded.
const lakeFiles = "files.json"

// LakeFiles are the files of a fleet's tables. Paths are relative to the folder.
type LakeFiles struct {
	State  string              `json:"state"` // of the catalog
	Tables map[string][]string `json:"tables"`
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
	if list.Tables == nil {
		return nil, nil
	}
	return &list, nil
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
		err = f.Chmod(0o644)
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
