//go:build !windows

package main

// prepareConsole does nothing: terminals obey escape sequences.
func prepareConsole() {}
