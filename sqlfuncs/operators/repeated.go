package operators

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// repeatedField is the aggregate that collects the values of a repeated field. The result is a BLOB, because a pointer would not
// outlive a subquery that SQLite keeps in a table. It begins with a byte that no message begins with; each value follows its
// type.
type repeatedField struct{ list []byte }

// repeatedMark is the first byte of a list.
const repeatedMark = 0

func (r *repeatedField) Step(args []sqlite.Value) error {
	if r.list == nil {
		r.list = []byte{repeatedMark}
	}
	switch v := args[0].Any().(type) {
	case int64:
		r.list = binary.LittleEndian.AppendUint64(append(r.list, 'i'), uint64(v))
	case float64:
		r.list = binary.LittleEndian.AppendUint64(append(r.list, 'f'), math.Float64bits(v))
	case string:
		r.list = append(binary.AppendUvarint(append(r.list, 's'), uint64(len(v))), v...)
	case []byte:
		r.list = append(binary.AppendUvarint(append(r.list, 'b'), uint64(len(v))), v...)
	default:
		r.list = append(r.list, 'n')
	}
	return nil
}

func (r *repeatedField) Result(c sqlite.Context) error {
	if r.list != nil {
		c.Blob(r.list)
	}
	return nil
}

var errRepeated = errors.New("the list of a repeated field is damaged")

// RepeatedValues returns the values of a list, or nil if a BLOB is none that RepeatedField made.
func RepeatedValues(list []byte) ([]any, error) {
	if len(list) == 0 || list[0] != repeatedMark {
		return nil, nil
	}
	values := []any{}
	for list = list[1:]; len(list) > 0; {
		kind := list[0]
		list = list[1:]
		size, prefix := 0, 0
		switch kind {
		case 'i', 'f':
			size = 8
		case 's', 'b':
			n, read := binary.Uvarint(list)
			if read <= 0 || n > uint64(len(list)) {
				return nil, errRepeated
			}
			size, prefix = int(n), read
		}
		if len(list)-prefix < size {
			return nil, errRepeated
		}
		one := list[prefix : prefix+size]
		list = list[prefix+size:]
		switch kind {
		case 'i':
			values = append(values, int64(binary.LittleEndian.Uint64(one)))
		case 'f':
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(one)))
		case 's':
			values = append(values, string(one))
		case 'b':
			values = append(values, append([]byte{}, one...))
		case 'n':
			values = append(values, nil)
		default:
			return nil, errRepeated
		}
	}
	return values, nil
}
