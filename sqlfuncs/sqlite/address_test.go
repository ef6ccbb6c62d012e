package sqlite

import (
	"testing"
	"unsafe"
)

func TestAddress(t *testing.T) {
	room := []byte("xxxxxxxx")
	at := uintptr(unsafe.Pointer(&room[0]))
	copyTo(at, "text")
	if string(room) != "text\x00xxx" || stringAt(at) != "text" || viewAt(at+1, 2) != "ex" || string(bytesAt(at, 3)) != "tex" {
		t.Errorf("it is %q, %q, %q, %q", room, stringAt(at), viewAt(at+1, 2), bytesAt(at, 3))
	}
	if stringAt(0) != "" || viewAt(0, 0) != "" || bytesAt(0, 0) != nil {
		t.Error("nothing has bytes")
	}
}
