package sqltext

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{QuoteText("it's"), "'it''s'"},
		{QuoteName(`a "b"`), `"a ""b"""`},
		{QuoteColumn("a`b"), "`a``b`"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, not %s", c.got, c.want)
		}
	}
}

// TestQuotedIsOneToken reads what was quoted.
func TestQuotedIsOneToken(t *testing.T) {
	for _, s := range []string{"", "'", `""`, "`", "a;b", "--", "/*", "é\n"} {
		for kind, sql := range map[Kind]string{Text: QuoteText(s), Quoted: QuoteName(s)} {
			tokens, err := Tokenize(sql + " ")
			if err != nil || len(tokens) != 2 || tokens[0].Kind != kind || tokens[0].Text != s {
				t.Errorf("%s became %v, %v", sql, tokens, err)
			}
		}
	}
}

func TestTokenize(t *testing.T) {
	tokens, err := Tokenize("SELECT [a]->>'$.b', x'6162', 1.5e-3 /* ; */ FROM $t -- end")
	if err != nil {
		t.Fatal(err)
	}
	want := []Token{
		{Word, "SELECT", 0, 6, false}, {Quoted, "a", 7, 10, true}, {Operator, "->>", 10, 13, false}, {Text, "$.b", 13, 18, false},
		{Operator, ",", 18, 19, false}, {Blob, "6162", 20, 27, true}, {Operator, ",", 27, 28, false}, {Number, "1.5e-3", 29, 35, true},
		{Word, "FROM", 44, 48, true}, {Variable, "$t", 49, 51, true}, {End, "", 58, 58, false},
	}
	if !reflect.DeepEqual(tokens, want) {
		t.Errorf("got %v", tokens)
	}
	_, err = Tokenize("SELECT 'a")
	var bad *Error
	if !errors.As(err, &bad) || bad.Pos != 7 || bad.Message != "unterminated string" {
		t.Errorf("the error is %v", err)
	}
}

func TestSplit(t *testing.T) {
	statements, err := Split("SELECT ';'; ; -- ;\nCREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END; SELECT 2")
	want := []Statement{{"SELECT ';'", 0}, {"CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END", 19}, {"SELECT 2", 80}}
	if err != nil || !slices.Equal(statements, want) {
		t.Errorf("got %v, %v", statements, err)
	}
}

func TestSubstitute(t *testing.T) {
	got, err := Substitute("SELECT '$a', $a, $b", map[string]string{"a": "x"})
	if err != nil || got != "SELECT '$a', x, $b" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestWords(t *testing.T) {
	got := slices.Collect(Words(`SELECT "Slice".x1,query_table('a_Ü')--é`))
	if want := []string{"select", "slice", "x1", "query_table", "a_ü", "é"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestCopyTarget(t *testing.T) {
	for statement, want := range map[string]string{
		"COPY slice TO 'a''b.csv'":                                 "a'b.csv",
		"COPY (SELECT E'\\' TO ', $x$ TO 'b' $x$) TO 'c' (HEADER)": "c",
		"COPY /* TO 'a' */ slice TO a":                             "",
		"COPY slice TO 'a":                                         "",
	} {
		if _, _, got := CopyTarget(statement); got != want {
			t.Errorf("%s: %q, not %q", statement, got, want)
		}
	}
}
