package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"sync"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed pictures.js
	picturesJS string
	//go:embed echarts/echarts.min.js
	echarts string

	page = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) })
)

// hash lets the browser run or apply a text, and nothing else.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Write writes the page, which loads nothing and runs nothing but its own scripts.
func (p *Page) Write(w io.Writer) error {
	scripts := []template.JS{template.JS(pageJS)}
	if p.packed != nil {
		scripts = append(scripts, template.JS(echarts), template.JS(picturesJS))
	}
	data := ""
	if p.packed != nil {
		data = `"` + base64.StdEncoding.EncodeToString(p.packed) + `"`
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(pageCSS) + "; script-src"
	for _, script := range scripts {
		policy += " " + hash(string(script))
	}
	return page().Execute(w, struct {
		*Page
		Policy  string
		Style   template.CSS
		Data    template.JS // a text in base64
		Scripts []template.JS
	}{p, policy, template.CSS(pageCSS), template.JS(data), scripts})
}

// Left says which rows are not shown.
func (t *Table) Left() int { return t.Total - len(t.Rows) }

// Width is the width of a bar in percent.
func (c Cell) Width() string { return strconv.FormatFloat(c.Share, 'f', 2, 64) }

// X and Width are the place of a part in percent.
func (p Part) X() string     { return strconv.FormatFloat(p.From, 'f', 2, 64) }
func (p Part) Width() string { return strconv.FormatFloat(p.Share, 'f', 2, 64) }
