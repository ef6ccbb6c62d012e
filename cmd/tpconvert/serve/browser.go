package serve

import (
	"io"
	"os/exec"
	"runtime"
)

// newBrowser returns a function that opens an address in the user's browser. What it starts must begin before confine, because a
// browser could not write its files otherwise: it waits for the address, and ends if there comes none.
func newBrowser() (show func(address string) error, err error) {
	command := "xdg-open"
	switch runtime.GOOS {
	case "windows":
		return func(address string) error {
			return exec.Command("rundll32", "url.dll,FileProtocolHandler", address).Start()
		}, nil
	case "darwin":
		command = "open"
	}
	// The browser goes on after Ctrl-C.
	waiting := exec.Command("sh", "-c", `trap "" INT; read -r address && exec "$0" "$address"`, command)
	in, err := waiting.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := waiting.Start(); err != nil {
		return nil, err
	}
	return func(address string) error {
		_, err := io.WriteString(in, address+"\n")
		go func() { _ = waiting.Wait() }()
		return err
	}, nil
}
