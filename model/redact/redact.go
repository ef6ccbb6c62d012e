// Package redact replaces texts of traces that a dataset must not show.
package redact

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// MinKey is the least number of bytes of a key.
const MinKey = 16

// mark precedes the hash that replaces a text.
const mark = "redacted_"

// Rules say what is replaced: by "redacted_" and 16 hexadecimal digits of the HMAC-SHA256 of the text under a secret key. So equal texts
// stay equal, and nobody without the key can check a guess. Nil rules replace nothing. They are safe for concurrent use.
type Rules struct {
	key      []byte
	numbers  cipher.Block // for hashes of texts
	patterns []*regexp.Regexp
	columns  map[string]bool // replaced as a whole, as owner names them
	args     []*regexp.Regexp
	digest   string
}

// argRule precedes the key of an arg in a rule.
const argRule = "args:"

// New returns rules with a key of at least MinKey bytes. What patterns match is replaced in all texts. Columns are TABLE.COLUMN for
// whole texts of a column, or args:KEY for whole values of args; * and ? in them stand for any characters.
func New(key []byte, patterns, columns []string) (*Rules, error) {
	if len(key) < MinKey {
		return nil, fmt.Errorf("the key has %d bytes, but needs at least %d", len(key), MinKey)
	}
	if len(patterns)+len(columns) == 0 {
		return nil, errors.New("there is a key, but neither a pattern nor a column to redact")
	}
	r := &Rules{key: key, columns: map[string]bool{}}
	block, err := aes.NewCipher(r.sum("hashes of texts"))
	if err != nil {
		return nil, err
	}
	r.numbers = block
	r.digest = r.digestOf(patterns, columns)
	for _, p := range patterns {
		compiled, err := regexp.Compile(p)
		if err == nil && compiled.MatchString("") {
			err = fmt.Errorf("%q matches the empty text", p)
		}
		if err != nil {
			return nil, err
		}
		r.patterns = append(r.patterns, compiled)
	}
	for _, c := range columns {
		if key, isArg := strings.CutPrefix(c, argRule); isArg {
			r.args = append(r.args, glob(key))
		} else if err := r.addColumns(c); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fileName is the column with the names of files. Its rule is about their paths and URLs, too.
const fileName = "trace_file.name"

// addColumns adds the columns of texts that a rule matches.
func (r *Rules) addColumns(rule string) error {
	matches, found := glob(rule), false
	for _, s := range schema.All() {
		for i := range s.Columns {
			c := &s.Columns[i]
			if c.Type != table.TypeString || !matches.MatchString(s.Name+"."+c.Name) {
				continue
			}
			if s.Name == "trace" { // no table of a conversion: the dataset makes it
				continue
			}
			found = true
			r.columns[owner(s, c)] = true
		}
	}
	if !found {
		return fmt.Errorf("%s is no column of texts; \"tpconvert tables\" lists them, and those of trace repeat trace_file, machine and metadata", rule)
	}
	return nil
}

// glob returns the regular expression for a text in which * and ? stand for any characters.
func glob(text string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text)) + "$")
}

// tables returns the schemas by their names.
var tables = sync.OnceValue(func() map[string]*table.Schema {
	all := map[string]*table.Schema{}
	for _, s := range schema.All() {
		all[s.Name] = s
	}
	return all
})

// owner names a column by the outermost table that has it, because tables repeat columns of their parents.
func owner(s *table.Schema, c *table.Column) string {
	name := c.Name
	for s.Parent != "" {
		parent := tables()[s.Parent]
		i := parent.Column(cmp.Or(c.From, name))
		if i < 0 {
			break
		}
		s, c, name = parent, &parent.Columns[i], parent.Columns[i].Name
	}
	return s.Name + "." + name
}

// own are the columns whose texts are the converter's own words.
var own = map[string]bool{
	"slice.type": true, "track.type": true, "track.event_type": true, "args.value_type": true, "metadata.key_type": true,
	"stats.name": true, "stats.severity": true, "stats.source": true, "stats.effect": true,
	"import_log.name": true, "import_log.severity": true, "trace_file.trace_type": true,
}

// Digest returns a text by which the rules and their key can be compared, "" for nil. Without the key it says nothing of them.
func (r *Rules) Digest() string {
	if r == nil {
		return ""
	}
	return r.digest
}

func (r *Rules) digestOf(patterns, columns []string) string {
	var text strings.Builder
	for _, rules := range [][]string{patterns, columns} {
		rules = slices.Clone(rules)
		slices.Sort(rules)
		fmt.Fprintf(&text, "%q", slices.Compact(rules)) // their order does not matter
	}
	return hex.EncodeToString(r.sum(text.String())[:16])
}

func (r *Rules) sum(text string) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// whole replaces a text.
func (r *Rules) whole(text string) string { return mark + hex.EncodeToString(r.sum(text)[:8]) }

// Text replaces what the patterns match in a text. A text in base64 whose bytes have a match is replaced as a whole.
func (r *Rules) Text(text string) string {
	if r == nil {
		return text
	}
	var spans [][]int
	for _, p := range r.patterns {
		spans = append(spans, p.FindAllStringIndex(text, -1)...)
	}
	if len(spans) == 0 {
		if r.encoded(text) {
			return r.whole(text)
		}
		return text
	}
	slices.SortFunc(spans, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	var b strings.Builder
	end := 0
	for i := 0; i < len(spans); {
		from, to := spans[i][0], spans[i][1]
		for i++; i < len(spans) && spans[i][0] < to; i++ { // matches of several patterns may overlap
			to = max(to, spans[i][1])
		}
		b.WriteString(text[end:from] + r.whole(text[from:to]))
		end = to
	}
	return b.String() + text[end:]
}

// minEncoded is the number of characters from which a text may be bytes in base64.
const minEncoded = 8

func (r *Rules) encoded(text string) bool {
	if len(text) < minEncoded || len(text)%4 != 0 {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return err == nil && slices.ContainsFunc(r.patterns, func(p *regexp.Regexp) bool { return p.Match(b) })
}

// Path replaces what the rules match in the name, path or URL of a trace.
func (r *Rules) Path(path string) string {
	if r != nil && r.columns[fileName] {
		return r.whole(path)
	}
	return r.Text(path)
}

// number replaces a hash of texts, which is not negative; 0 stays.
func (r *Rules) number(hash int64) int64 {
	if hash == 0 {
		return 0
	}
	var b [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(b[:], uint64(hash))
	r.numbers.Encrypt(b[:], b[:])
	return int64(binary.LittleEndian.Uint64(b[:]) &^ (1 << 63))
}
