package address

import (
	"testing"
	"unsafe"
)

func TestText(t *testing.T) {
	room := []byte("xxxxxxxx")
	at := uintptr(unsafe.Pointer(&room[0]))
	Copy(at, "text")
	if string(room) != "text\x00xxx" || String(at) != "text" || View(at+1, 2) != "ex" || string(Bytes(at, 3)) != "tex" {
		t.Errorf("it is %q, %q, %q, %q", room, String(at), View(at+1, 2), Bytes(at, 3))
	}
	if String(0) != "" || View(0, 0) != "" || Bytes(0, 0) != nil {
		t.Error("nothing has bytes")
	}
}
