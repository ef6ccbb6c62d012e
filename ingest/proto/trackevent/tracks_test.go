package trackevent

import (
	"testing"
	"unsafe"
)

func TestTracksAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(eventTrack{}); size > 48 {
		t.Errorf("a track has %d bytes", size)
	}
}
