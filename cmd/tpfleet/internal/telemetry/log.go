package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// Log makes messages lines of text for people, or of JSON for programs.
func Log(to io.Writer, asJSON bool) {
	var h slog.Handler = &lines{to: to, mu: new(sync.Mutex)}
	if asJSON {
		h = slog.NewJSONHandler(to, nil)
	}
	slog.SetDefault(slog.New(h))
}

// lines is a slog.Handler that writes the message and then the attributes, without time and level.
type lines struct {
	to    io.Writer
	mu    *sync.Mutex
	attrs []slog.Attr
}

func (h *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h *lines) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString("tpfleet: " + r.Message)
	separator := ": "
	add := func(a slog.Attr) bool {
		fmt.Fprintf(&line, "%s%s %v", separator, a.Key, a.Value)
		separator = ", "
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	text := strings.ReplaceAll(line.String(), "\n", "; ") + "\n"
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.to, text)
	return err
}

func (h *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{h.to, h.mu, append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)}
}

func (h *lines) WithGroup(string) slog.Handler { return h }
