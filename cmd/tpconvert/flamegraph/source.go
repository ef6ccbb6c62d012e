//go:build cgo

package flamegraph

import (
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// noTools keeps pprof from running tools on the binaries that a profile names.
type noTools struct{}

var errNoTools = errors.New("binaries are not opened")

func (noTools) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoTools
}

func (noTools) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) { return nil, errNoTools }

// elsewhere begins the names of files that are not below the folders of Source. No file has such a name.
const elsewhere = "(elsewhere)/"

// confine renames the source files of a profile, so that pprof finds those below the folders, and opens no others.
func confine(p *profile.Profile, folders []string) error {
	roots := make([]*os.Root, len(folders))
	for i, folder := range folders {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		if roots[i], err = os.OpenRoot(absolute); err != nil {
			return err
		}
		defer roots[i].Close()
	}
	for _, f := range p.Function {
		name := filepath.ToSlash(f.Filename)
		f.Filename = elsewhere + strings.TrimPrefix(path.Clean("/"+name), "/")
		for _, root := range roots {
			if below := placeBelow(root, name); below != "" {
				f.Filename = filepath.Join(root.Name(), below)
				break
			}
		}
	}
	return nil
}

// placeBelow returns where a source file is below a folder, or "": by its absolute path, or by what follows the folder's own name in the
// path that it had where the program was built. Links that lead out of the folder are not followed.
func placeBelow(root *os.Root, name string) string {
	folder := filepath.ToSlash(root.Name())
	places := []string{}
	if rest, ok := strings.CutPrefix(name, folder+"/"); ok {
		places = append(places, rest)
	}
	if _, rest, ok := strings.Cut(name, "/"+path.Base(folder)+"/"); ok {
		places = append(places, rest)
	}
	if !path.IsAbs(name) {
		places = append(places, name)
	}
	for _, place := range places {
		if info, err := root.Stat(filepath.FromSlash(place)); err == nil && info.Mode().IsRegular() {
			return place
		}
	}
	return ""
}

// refused answers for pages that would open the files that a profile names.
func refused(reason string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, reason, http.StatusForbidden) })
}
