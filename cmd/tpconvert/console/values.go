package console

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/internal/human"
)

// ByteSize is a flag for a number of bytes: 300000, 64K, 512MiB, 1.5GB.
type ByteSize int64

var sizeUnits = []struct {
	suffix string
	factor float64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
	{"B", 1},
}

// Set parses a size.
func (s *ByteSize) Set(text string) error {
	number, factor := strings.ToUpper(text), 1.0
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = n, u.factor
			break
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(n > 0 && n*factor < math.MaxInt64) {
		return fmt.Errorf("%q is not a size such as 512MiB, 64K or 1GB", text)
	}
	*s = ByteSize(n * factor)
	return nil
}

// Type names the value in the help.
func (s *ByteSize) Type() string { return "size" }

func (s *ByteSize) String() string { return human.Bytes(int64(*s)) }

// levelValue is a flag for the lowest level of messages.
type levelValue slog.Level

// Set parses a level.
func (l *levelValue) Set(text string) error {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(text, level.String()) {
			*l = levelValue(level)
			return nil
		}
	}
	return fmt.Errorf("%q is not debug, info, warn or error", text)
}

// Type names the value in the help.
func (l *levelValue) Type() string { return "level" }

func (l *levelValue) String() string { return strings.ToLower(slog.Level(*l).String()) }
