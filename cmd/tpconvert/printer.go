package main

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

// printer prints messages and results. It is safe for concurrent use. It ignores
// output that it cannot write, because it could not report that either.
type printer interface {
	// Message prints a message about a trace, or about the run if trace is "".
	Message(level slog.Level, trace, text string)
	// Progress shows the progress of the run on a terminal.
	Progress(progress)
	// Summary prints the summary at the end of a run.
	Summary(summary)
	// Result prints a result of the command.
	Result(result)
	// Failed prints the error that ends the command with an exit code.
	Failed(err error, code int)
}

// logger returns a logger that prints through ui.
func logger(ui printer) *slog.Logger { return slog.New(handler{ui, ""}) }

// handler prints log records about a trace, or about the run if trace is "".
type handler struct {
	printer
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
	return handler{h.printer, all[0].Value.String()}
}

func (h handler) WithGroup(string) slog.Handler { return h }

// result can be printed as text, or as the JSON of its exported fields.
type result interface {
	text(w io.Writer)
}

// uiOptions are the output flags of all commands.
type uiOptions struct {
	json, quiet bool
	level       slog.Level
}

func (o *uiOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "write messages and results as JSON, one value per line")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only errors and requested results")
	o.level = slog.LevelWarn
	flags.Var((*levelValue)(&o.level), "log-level", "lowest level of messages to print: debug, info, warn or error")
}

// printer returns the printer for cmd.
func (o *uiOptions) printer(cmd *cobra.Command) printer {
	out, messages := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if o.json {
		return &jsonPrinter{options: o, out: json.NewEncoder(out), messages: json.NewEncoder(messages)}
	}
	return &textPrinter{options: o, out: out, messages: messages, watched: isTerminal(messages)}
}

// shows reports whether to print messages of a level.
func (o *uiOptions) shows(level slog.Level) bool {
	return level >= o.level && (!o.quiet || level >= slog.LevelError)
}

func isTerminal(w any) bool { return terminal.Is(w) }

// textPrinter prints for people: results to one writer, messages to the other. On a
// terminal it also shows a progress line there.
type textPrinter struct {
	options       *uiOptions
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
	p.write(p.messages, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", strings.ToLower(level.String()), printable(text)) })
}

func (p *textPrinter) Progress(state progress) {
	if p.watched && !p.options.quiet {
		p.write(p.messages, func(w io.Writer) {
			fmt.Fprint(w, state)
			p.line = true
		})
	}
}

func (p *textPrinter) Summary(s summary) {
	if !p.options.quiet {
		p.Result(s)
	}
}

func (p *textPrinter) Result(r result) { p.write(p.out, r.text) }

func (p *textPrinter) Failed(err error, _ int) {
	p.write(p.messages, func(w io.Writer) { fmt.Fprintf(w, "tpconvert: %s\n", printable(err.Error())) })
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

// printable escapes text that could control the terminal.
func printable(text string) string { return terminal.Printable(text) }

// jsonPrinter writes one JSON object per line: results to one writer, messages and
// errors to the other. "message_type" distinguishes messages, errors and summaries
// of a conversion.
type jsonPrinter struct {
	options       *uiOptions
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

func (p *jsonPrinter) Progress(progress) {}

func (p *jsonPrinter) Summary(s summary) {
	if !p.options.quiet {
		p.write(p.out, struct {
			Type string `json:"message_type"`
			summary
		}{"summary", s})
	}
}

func (p *jsonPrinter) Result(r result) { p.write(p.out, r) }

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
