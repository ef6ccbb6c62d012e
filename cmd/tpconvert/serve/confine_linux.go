package serve

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	access "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/tpconvert/tpconvert/export/staging"
)

// writing are the rights that confine takes away.
const writing landlock.AccessFSSet = access.AccessFSWriteFile | access.AccessFSTruncate | access.AccessFSRemoveDir | access.AccessFSRemoveFile |
	access.AccessFSMakeChar | access.AccessFSMakeDir | access.AccessFSMakeReg | access.AccessFSMakeSock | access.AccessFSMakeFifo |
	access.AccessFSMakeBlock | access.AccessFSMakeSym | access.AccessFSRefer

// Confine makes the kernel refuse that this process writes files, except in a folder for its temporary files and to the Unix socket at a
// path, unless it is "". Kernels before 5.19 have no such refusal, and nothing is refused there. The function that it returns
// removes the folder.
func Confine(socket string) (end func() error, err error) {
	outer := os.TempDir()
	folder, remove, err := staging.Temporary("tpconvert-query-")
	if err != nil {
		return nil, err
	}
	rules := []landlock.Rule{
		landlock.PathAccess(writing, folder).WithRefer(),
		landlock.PathAccess(access.AccessFSRemoveDir, outer), // to remove the folder, once it is empty
		landlock.PathAccess(access.AccessFSWriteFile, os.DevNull).IgnoreIfMissing(),
	}
	if socket != "" {
		rules = append(rules, landlock.PathAccess(access.AccessFSMakeSock|access.AccessFSRemoveFile, filepath.Dir(socket)))
	}
	err = errors.Join(os.Setenv("TMPDIR", folder), landlock.MustConfig(writing).BestEffort().RestrictPaths(rules...))
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, nil
}
