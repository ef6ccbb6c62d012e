package session

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
)

// hashFunction is the name of hash in SQL.
const hashFunction = "_hash_parts"

// createHash replaces a macro that does the same in SQL, slowly.
const createHash = "CREATE MACRO _hash(parts) AS " + hashFunction + "(parts)"

// hash is Trace Processor's function of this name: the FNV-1a hash of texts and integers as a signed integer. A part is the
// letter t and a text, or another letter and an integer. The hash of NULL is NULL.
func hash(parts []any) (any, error) {
	h := fnv.New64a()
	for _, part := range parts {
		text, ok := part.(string)
		switch {
		case !ok:
			return nil, nil
		case text[0] == 't':
			_, _ = io.WriteString(h, text[1:])
			continue
		}
		n, err := strconv.ParseInt(text[1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("hash: %s is neither a text nor an integer", text[1:])
		}
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return int64(h.Sum64()), nil
}
