// Package console is the side of a command that its user sees: messages, progress and results as text or JSON, values of flags,
// and errors in their use.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/internal/terminal"
)

// Printer prints messages and results. It is safe for concurrent use. It ignores
// output that it cannot write: Output keeps the error.
type Printer interface {
	// Message prints a message about a trace, or about the run if trace is "".
	Message(level slog.Level, trace, text string)
	// Progress shows the progress of the run on a terminal.
	Progress(Progress)
	// Summary prints the summary at the end of a run.
	Summary(Summary)
	// Result prints a result of the command.
	Result(Result)
	// Failed prints the error that ends the command with an exit code.
	Failed(err error, code int)
}

// Logger returns a logger that prints through ui.
func Logger(ui Printer) *slog.Logger { return slog.New(handler{ui, ""}) }

// handler prints log records about a trace, or about the run if trace is "".
type handler struct {
	Printer
	trace string
}

func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h.trace = a.Value.String() // there are no others
		return true
	})
	h.Message(r.Level, h.trace, r.Message)
	return nil
}

func (h handler) WithAttrs(all []slog.Attr) slog.Handler {
	return handler{h.Printer, all[0].Value.String()}
}

func (h handler) WithGroup(string) slog.Handler { return h }

// Result can be printed as text, or as the JSON of its exported fields.
type Result interface {
	Text(w io.Writer)
}

// UI are the output flags of all commands.
type UI struct {
	JSON, quiet bool
	level       slog.Level
}

func (o *UI) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.JSON, "json", false, "write messages and results as JSON, one value per line")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only errors and requested results")
	o.level = slog.LevelWarn
	flags.Var((*levelValue)(&o.level), "log-level", "lowest level of messages to print: debug, info, warn or error")
}

// Printer returns the printer for cmd.
func (o *UI) Printer(cmd *cobra.Command) Printer {
	out, messages := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if o.JSON {
		return &jsonPrinter{options: o, out: json.NewEncoder(out), messages: json.NewEncoder(messages)}
	}
	return &textPrinter{options: o, out: out, messages: messages, watched: terminal.Is(messages)}
}

// shows reports whether to print messages of a level.
func (o *UI) shows(level slog.Level) bool {
	return level >= o.level && (!o.quiet || level >= slog.LevelError)
}

// textPrinter prints for people: results to one writer, messages to the other. On a
// terminal it also shows a progress line there.
type textPrinter struct {
	options       *UI
	out, messages io.Writer
	watched       bool // messages go to a terminal

	mu   sync.Mutex
	line bool // the progress line is shown
}

func (p *textPrinter) Message(level slog.Level, trace, text string) {
	if !p.options.shows(level) {
		return
	}
	if trace != "" {
		text = trace + ": " + text
	}
	p.write(p.messages, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s\n", strings.ToLower(level.String()), terminal.Printable(text))
	})
}

func (p *textPrinter) Progress(state Progress) {
	if p.watched && !p.options.quiet {
		p.write(p.messages, func(w io.Writer) {
			fmt.Fprint(w, state)
			p.line = true
		})
	}
}

func (p *textPrinter) Summary(s Summary) {
	if !p.options.quiet {
		p.Result(s)
	}
}

func (p *textPrinter) Result(r Result) { p.write(p.out, r.Text) }

func (p *textPrinter) Failed(err error, _ int) {
	p.write(p.messages, func(w io.Writer) { fmt.Fprintf(w, "tpconvert: %s\n", terminal.Printable(err.Error())) })
}

// write writes text, and first erases the progress line.
func (p *textPrinter) write(to io.Writer, text func(io.Writer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line {
		fmt.Fprint(p.messages, "\r\x1b[K")
		p.line = false
	}
	text(to)
}

// jsonPrinter writes one JSON object per line: results to one writer, messages and
// errors to the other. "message_type" distinguishes messages, errors and summaries
// of a conversion.
type jsonPrinter struct {
	options       *UI
	mu            sync.Mutex
	out, messages *json.Encoder
}

func (p *jsonPrinter) Message(level slog.Level, trace, text string) {
	if p.options.shows(level) {
		p.write(p.messages, struct {
			Type  string     `json:"message_type"`
			Level slog.Level `json:"level"`
			Trace string     `json:"trace,omitempty"`
			Text  string     `json:"text"`
		}{"message", level, trace, text})
	}
}

func (p *jsonPrinter) Progress(Progress) {}

func (p *jsonPrinter) Summary(s Summary) {
	if !p.options.quiet {
		p.write(p.out, struct {
			Type string `json:"message_type"`
			Summary
		}{"summary", s})
	}
}

func (p *jsonPrinter) Result(r Result) { p.write(p.out, r) }

func (p *jsonPrinter) Failed(err error, code int) {
	p.write(p.messages, struct {
		Type  string `json:"message_type"`
		Code  int    `json:"exit_code"`
		Error string `json:"error"`
	}{"error", code, err.Error()})
}

func (p *jsonPrinter) write(to *json.Encoder, v any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = to.Encode(v)
}
