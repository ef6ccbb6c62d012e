package console

import (
	"os/exec"
	"runtime"
)

// Browse opens a file or an address in the user's browser, and does not wait for it.
func Browse(address string) error {
	command := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case "darwin":
		command[0] = "open"
	}
	return exec.Command(command[0], command[1:]...).Start()
}
