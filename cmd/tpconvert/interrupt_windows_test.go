package main

import (
	"syscall"
	"testing"

	"golang.org/x/sys/windows"
)

// TestInterruptedConsole sends the command Ctrl-Break, because Windows sends Ctrl-C to this test, too.
func TestInterruptedConsole(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, "-", "out")
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	stall(t, cmd)
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid)); err != nil {
		t.Skipf("there is no console: %v", err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
