package query

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

const promptHelp = `SQL ends with a semicolon. Tab completes tables, columns and functions.
.tables         list the tables and views
.schema TABLE   list the columns of a table
.functions      list the functions and views that come with tpconvert
.timer          say how long statements take, or stop saying so
.quit           leave, as does Ctrl-D
Ctrl-C stops the statement that runs, or drops the one that is being typed.
`

// prompt reads statements and runs them until the input ends.
type prompt struct {
	*query
	readLine func(prompt string) (string, error)
	signals  <-chan os.Signal // while a statement runs, an interrupt stops it; any other signal ends the prompt
	timer    bool
}

// errDropped is returned for a line that the user ends with Ctrl-C.
var errDropped = errors.New("interrupted")

// ask reads statements from the terminal.
func (q *query) ask(ctx context.Context) error {
	in, ok := q.trace.Stdin.(*os.File)
	if !ok {
		return errors.New("the standard input is not a terminal")
	}
	names, err := q.names(ctx)
	if err != nil {
		return err
	}
	keys := &keyboard{in: in}
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, q.out}, "")
	terminal.AutoCompleteCallback = completer(names, terminal)
	terminal.History = openHistory()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	p := prompt{query: q, signals: signals, readLine: func(text string) (string, error) {
		// The terminal is only raw while a line is edited, so that Ctrl-C can interrupt
		// a running statement.
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return "", err
		}
		defer term.Restore(int(in.Fd()), state)
		if width, height, err := term.GetSize(int(in.Fd())); err == nil && width > 0 {
			_ = terminal.SetSize(width, height)
		}
		terminal.SetPrompt(text)
		line, err := terminal.ReadLine()
		if keys.interrupted && err == nil {
			keys.interrupted, err = false, errDropped
		}
		return line, err
	}}
	fmt.Fprintln(q.out, ".help lists commands besides SQL.")
	return p.loop(context.WithoutCancel(ctx)) // Ctrl-C only ends a statement
}

// keyboard reads keys. It replaces Ctrl-C by keys that empty the line and end it.
type keyboard struct {
	in          io.Reader
	waiting     []byte
	interrupted bool
}

const (
	ctrlC = "\x03"
	// End, delete to the start of the line, Enter.
	emptyLine = "\x05\x15\r"
)

func (k *keyboard) Read(b []byte) (int, error) {
	if len(k.waiting) == 0 {
		n, err := k.in.Read(b)
		if err != nil {
			return n, err
		}
		k.interrupted = k.interrupted || bytes.Contains(b[:n], []byte(ctrlC))
		k.waiting = bytes.ReplaceAll(b[:n], []byte(ctrlC), []byte(emptyLine))
	}
	n := copy(b, k.waiting)
	k.waiting = k.waiting[n:]
	return n, nil
}

// run runs statements until they end or a signal arrives, and reports whether that signal ends the prompt.
func (p *prompt) run(ctx context.Context, text string) (ends bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	select {
	case <-p.signals: // from before the statement
	default:
	}
	done := make(chan error)
	go func() { done <- p.all(ctx, text) }()
	select {
	case err = <-done:
		return false, err
	case s := <-p.signals:
		stop()
		<-done
		return s != os.Interrupt, errDropped
	}
}

func (p *prompt) loop(ctx context.Context) error {
	var sql strings.Builder
	for {
		text := "tpconvert> "
		if sql.Len() > 0 {
			text = "      ...> "
		}
		line, err := p.readLine(text)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(p.out)
			return nil
		}
		if errors.Is(err, errDropped) {
			sql.Reset()
			continue
		}
		if err != nil {
			return err
		}
		if command, dotted := strings.CutPrefix(strings.TrimSpace(line), "."); dotted && sql.Len() == 0 {
			if command == "quit" || command == "exit" {
				return nil
			}
			p.report(p.command(ctx, command))
			continue
		}
		sql.WriteString(line + "\n")
		if !complete(sql.String()) {
			continue
		}
		begun := time.Now()
		p.results = 0
		ends, err := p.run(ctx, sql.String())
		if ends {
			return context.Canceled
		}
		p.report(err)
		if p.timer {
			fmt.Fprintf(p.out, "%.3f s\n", time.Since(begun).Seconds())
		}
		sql.Reset()
	}
}

// report shows an error.
func (p *prompt) report(err error) {
	if err != nil {
		fmt.Fprintln(p.out, err)
	}
}

// complete reports whether SQL ends with a semicolon, or has no statement.
func complete(sql string) bool {
	statements, err := sqltext.Split(sql)
	return err == nil && (len(statements) == 0 || strings.HasSuffix(strings.TrimSpace(sql), ";"))
}

// command runs a line that begins with a dot.
func (p *prompt) command(ctx context.Context, text string) error {
	name, argument, _ := strings.Cut(text, " ")
	p.results = 0
	switch name {
	case "help":
		_, err := io.WriteString(p.out, promptHelp)
		return err
	case "timer":
		p.timer = !p.timer
		return nil
	case "tables":
		if p.session.Perfetto() != nil {
			return p.all(ctx, "SELECT name, type FROM sqlite_schema WHERE name NOT GLOB '[_]*' AND type IN ('table', 'view') ORDER BY name")
		}
		return p.show(ctx, "SELECT name, comment FROM "+relations+" GROUP BY ALL ORDER BY name")
	case "functions":
		if p.session.Perfetto() != nil {
			return p.all(ctx, "SELECT DISTINCT name FROM pragma_function_list WHERE name NOT GLOB '[_]*' ORDER BY name")
		}
		return p.show(ctx, "SELECT name, any_value(comment) AS comment FROM "+macros+" GROUP BY name ORDER BY name")
	case "schema":
		if p.session.Perfetto() != nil {
			return p.all(ctx, "SELECT name, type FROM pragma_table_info("+sqltext.QuoteText(strings.TrimSpace(argument))+")")
		}
		return p.show(ctx, "SELECT column_name AS name, column_type AS type FROM (DESCRIBE "+sqltext.QuoteName(strings.TrimSpace(argument))+")")
	}
	return fmt.Errorf("there is no .%s; see .help", name)
}

// relations are the tables and views, except internal ones.
const relations = `(
	SELECT table_name AS name, comment FROM duckdb_tables() WHERE NOT internal AND table_name NOT LIKE '\_%' ESCAPE '\'
	UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND view_name NOT LIKE '\_%' ESCAPE '\')`

// macros are the functions, and the views over tables, which are predefined queries too.
const macros = `(
	SELECT function_name AS name, comment FROM duckdb_functions() WHERE NOT internal AND function_name NOT LIKE '\_%' ESCAPE '\'
	UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND view_name NOT LIKE '\_%' ESCAPE '\'
		AND sql NOT LIKE '%read_parquet(%' AND comment IS NOT NULL)`

// names returns the names for completion.
func (q *query) names(ctx context.Context) ([]string, error) {
	if q.session.Perfetto() != nil {
		return q.perfettoNames(ctx)
	}
	if err := q.session.Catalog.CreateAll(ctx); err != nil {
		return nil, err
	}
	return q.session.Texts(ctx, `
		SELECT name FROM `+relations+`
		UNION SELECT column_name FROM duckdb_columns() WHERE NOT internal
		UNION SELECT function_name || '(' FROM duckdb_functions() WHERE NOT internal AND function_name NOT LIKE '\_%' ESCAPE '\'
		ORDER BY 1`)
}

// perfettoNames are the names of PerfettoSQL.
func (q *query) perfettoNames(ctx context.Context) (names []string, err error) {
	err = q.session.Each(ctx, `
		SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')
		UNION SELECT c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type IN ('table', 'view')
		UNION SELECT name || '(' FROM pragma_function_list
		ORDER BY 1`, func(found *session.Query) error {
		return found.Each(ctx, func(row []any) error {
			if name, ok := row[0].(string); ok {
				names = append(names, name)
			}
			return nil
		})
	})
	return names, err
}

// completer completes the word before the cursor on Tab, or lists the candidates if there are several.
func completer(names []string, out io.Writer) func(line string, pos int, key rune) (string, int, bool) {
	return func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		from := 1 + strings.LastIndexFunc(line[:pos], func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		word := line[from:pos]
		if from == 1 && line[0] == '.' {
			word, from = line[:pos], 0
		}
		var found []string
		for _, name := range append([]string{".help", ".tables", ".schema ", ".functions", ".timer", ".quit"}, names...) {
			if len(name) >= len(word) && strings.EqualFold(name[:len(word)], word) {
				found = append(found, name)
			}
		}
		if len(found) == 0 || word == "" {
			return line, pos, true
		}
		common := found[0]
		for _, name := range found {
			for !strings.HasPrefix(name, common) {
				common = common[:len(common)-1]
			}
		}
		if len(found) > 1 && len(common) <= len(word) {
			fmt.Fprintln(out, strings.Join(found, "  "))
			return line, pos, true
		}
		return line[:from] + common + line[pos:], from + len(common), true
	}
}

// history holds the entered lines, oldest first. It is kept in a file if possible.
type history struct {
	lines []string
	file  string
}

// keptLines is the maximum length of the history.
const keptLines = 1000

func openHistory() *history {
	folder, err := os.UserConfigDir()
	if err != nil {
		return &history{}
	}
	return readHistory(filepath.Join(folder, "tpconvert", "history"))
}

func readHistory(file string) *history {
	h := &history{file: file}
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		h.lines = append(h.lines, lines.Text())
	}
	return h
}

// Add implements term.History. It ignores errors when it writes the file.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	h.lines = slices.Delete(h.lines, 0, max(0, len(h.lines)-keptLines))
	if h.file != "" {
		_ = os.MkdirAll(filepath.Dir(h.file), 0o700)
		_ = os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History. 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
