package many

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestFormats(t *testing.T) {
	for _, f := range Formats {
		if strings.HasPrefix(f.Name, "large-") {
			continue // they take long
		}
		var trace bytes.Buffer
		w := bufio.NewWriter(&trace)
		if err := f.Write(w, 2); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if b := trace.Bytes(); len(b) == 0 || b[0] == '[' && !json.Valid(b) {
			t.Errorf("%s: %d bytes that are no trace", f.Name, len(b))
		}
	}
}
