package staging

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// eventLock is a lock that lasts as long as its event, which Windows removes with the last
// process that has it open.
type eventLock struct{ event windows.Handle }

func (l eventLock) Close() error { return windows.CloseHandle(l.event) }

// lock locks the folder that f opened, and closes f. Unless wait is set, it returns ErrLocked
// instead of waiting. An open folder cannot be renamed on Windows, so the lock is not on the
// folder: it is an event named after the folder's id, and keeps off processes of this machine
// only.
func lock(f *os.File, wait bool) (io.Closer, error) {
	var info windows.ByHandleFileInformation
	err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info)
	if err := errors.Join(os.NewSyscallError("GetFileInformationByHandle", err), f.Close()); err != nil {
		return nil, err
	}
	name := fmt.Sprintf(`Global\tpconvert-%08x-%08x%08x`, info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow)
	utf16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	for {
		event, err := windows.CreateEvent(nil, 0, 0, utf16)
		switch {
		case err == nil:
			return eventLock{event}, nil
		case errors.Is(err, windows.ERROR_ALREADY_EXISTS):
			windows.CloseHandle(event)
		case !errors.Is(err, windows.ERROR_ACCESS_DENIED): // the event of another user
			return nil, os.NewSyscallError("CreateEvent", err)
		}
		if !wait {
			return nil, ErrLocked
		}
		time.Sleep(20 * time.Millisecond)
	}
}
