package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Access says which files SQL may use. DuckDB denies access outside the folders of the data. Statements that could
// write in these folders, or lift these limits, are refused: by the type that DuckDB gives them, and by the functions they call.
type Access int

const (
	// ReadData lets SQL read the files of the data.
	ReadData Access = iota
	// NewFiles also lets SQL create files with COPY.
	NewFiles
	// AnyFile lets SQL read and write any file, load extensions and change settings.
	AnyFile
)

// ErrDenied is wrapped by errors of SQL that needs more access.
var ErrDenied = errors.New("SQL may only read the data")

// allowed are the files of the data, and folders with such files.
type allowed struct{ folders, files []string }

// confine makes the database deny access to other files, and locks its settings.
func (s *Session) confine(ctx context.Context, a allowed) error {
	list := func(paths []string) string {
		var quoted []string
		for _, p := range paths {
			quoted = append(quoted, sqltext.QuoteText(filepath.ToSlash(p)))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return s.Exec(ctx,
		"SET allowed_directories = "+list(append(a.folders, s.Scratch)),
		"SET allowed_paths = "+list(a.files),
		"SET enable_external_access = false",
		"SET lock_configuration = true")
}

// firstWord matches white space, of which DuckDB knows all of Unicode's, comments, and a word.
var firstWord = lazyRegexp(`^(?:[^!-~]|--[^\n]*(?:\n|$)|/\*(?s:.*?)\*/)*(\w+)`)

// keyword is the first word of a statement, in upper case.
func keyword(statement string) string {
	if m := firstWord().FindStringSubmatch(statement); m != nil {
		return strings.ToUpper(m[1])
	}
	return ""
}

var (
	// readingPragma matches the only statements PRAGMA that are allowed.
	readingPragma = lazyRegexp(`(?i)^\s*PRAGMA\s+(?:version|platform|user_agent|database_list|database_size|show_tables|show_tables_expanded|collations|functions|(?:table_info|storage_info|show)\s*\(\s*'(?:[^']|\'\')*'\s*\))\s*;?\s*$`)
	// namedOutside matches the options of a COPY whose pattern of file names may lead out of its folder.
	namedOutside = lazyRegexp(`(?is)filename_pattern.*(?:[/\\]|\.\.)|(?:[/\\]|\.\.).*filename_pattern`)
	// running matches EXPLAIN ANALYZE, which runs a statement, of one that does more than read.
	running = lazyRegexp(`(?is)\banaly[sz]e\b.*\b(?:copy|export|import|attach|detach|load|install|call|execute|prepare|pragma|set|use|vacuum)\b`)
)

// admit refuses what the type of a statement, which DuckDB says, does not show.
func (a Access) admit(statement string) error {
	if a == AnyFile {
		return nil
	}
	word := keyword(statement)
	switch {
	case word == "COPY" && a == ReadData:
		return fmt.Errorf("COPY is not allowed: %w", ErrDenied)
	case word == "PRAGMA" && !readingPragma().MatchString(statement):
		return fmt.Errorf("this PRAGMA is not allowed: %w", ErrDenied)
	case word == "EXPLAIN" && running().MatchString(statement):
		return fmt.Errorf("EXPLAIN ANALYZE is only allowed of queries: %w", ErrDenied)
	}
	return nil
}

// copy runs COPY ... TO a new file through the scratch folder, so that the file appears complete and replaces none.
func (s *Session) copy(ctx context.Context, statement string) error {
	from, to, target := sqltext.CopyTarget(statement)
	if target == "" {
		return fmt.Errorf("COPY is allowed TO a file that is named in quotes: %w", ErrDenied)
	}
	if namedOutside().MatchString(statement[to:]) {
		return fmt.Errorf("FILENAME_PATTERN names files in the folder of COPY, without / and ..: %w", ErrDenied)
	}
	if dataset := datasetAround(target); dataset != "" {
		return fmt.Errorf("%s is inside the dataset %s, which has nothing but its tables: %w", target, dataset, ErrDenied)
	}
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("%s exists: COPY writes new files only; %w", target, ErrDenied)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.copies++
	folder := filepath.Join(s.Scratch, fmt.Sprintf("copy%d", s.copies))
	if err := os.Mkdir(folder, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	draft := filepath.Join(folder, filepath.Base(target))
	if err := s.Exec(ctx, statement[:from]+sqltext.QuoteText(filepath.ToSlash(draft))+statement[to:]); err != nil {
		return err
	}
	return Publish(draft, target)
}

// datasetAround returns the folder of a dataset that the path is in, or "".
func datasetAround(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "" // there is no such folder
	}
	for ; ; folder = filepath.Dir(folder) {
		if export.IsDataset(folder) {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return ""
		}
	}
}

// Publish moves a file or folder to a path where nothing exists.
func Publish(draft, target string) error {
	info, err := os.Stat(draft)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		if err := os.Mkdir(target, 0o777); err != nil {
			return err
		}
		return os.CopyFS(target, os.DirFS(draft))
	case os.Link(draft, target) == nil:
		return nil
	}
	in, err := os.Open(draft)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close(), os.Remove(target))
	}
	return out.Close()
}
