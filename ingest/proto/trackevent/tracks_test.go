package trackevent

import (
	"testing"
	"unsafe"
)

func TestTracksAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(eventTrack{}); size > 56 {
		t.Errorf("a track has %d bytes", size)
	}
}
