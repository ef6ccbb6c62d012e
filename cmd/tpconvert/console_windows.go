package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// prepareConsole makes consoles obey escape sequences, such as those of the progress line and the prompt. Others,
// such as redirected output, are left alone.
func prepareConsole() {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		var mode uint32
		if handle := windows.Handle(f.Fd()); windows.GetConsoleMode(handle, &mode) == nil {
			_ = windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
		}
	}
}
