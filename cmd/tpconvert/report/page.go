package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
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

// Write writes the page, which loads nothing and runs nothing but its own scripts, and the library that these unpack.
func (p *Page) Write(w io.Writer) error {
	scripts, allowed := []template.JS{template.JS(pageJS)}, []string{pageJS}
	var data, library template.JS
	if p.packed != nil {
		packed, err := pack(func(w io.Writer) error { _, err := io.WriteString(w, echarts); return err })
		if err != nil {
			return err
		}
		scripts, allowed = append(scripts, template.JS(picturesJS)), append(allowed, picturesJS, echarts)
		data, library = quoted(p.packed), quoted(packed)
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(pageCSS) + "; script-src"
	for _, script := range allowed {
		policy += " " + hash(script)
	}
	return page().Execute(w, struct {
		*Page
		Policy        string
		Style         template.CSS
		Data, Library template.JS
		Scripts       []template.JS
	}{p, policy, template.CSS(pageCSS), data, library, scripts})
}

// pack compresses what is written.
func pack(write func(io.Writer) error) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	err := cmp.Or(write(w), w.Close())
	return packed.Bytes(), err
}

// quoted is bytes as a JSON text in base64.
func quoted(data []byte) template.JS {
	return template.JS(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
}

// Left says which rows are not shown.
func (t *Table) Left() int { return t.Total - len(t.Rows) }

// Width is the width of a bar in percent.
func (c Cell) Width() string { return strconv.FormatFloat(c.Share, 'f', 2, 64) }

// X and Width are the place of a part in percent.
func (p Part) X() string     { return strconv.FormatFloat(p.From, 'f', 2, 64) }
func (p Part) Width() string { return strconv.FormatFloat(p.Share, 'f', 2, 64) }
