// Package page writes reports as HTML pages that need neither a server nor a network.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strconv"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
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
	//go:embed echarts/echarts.min.js.gz
	packedLibrary []byte

	page = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{"percent": percent}).Parse(pageHTML))
	})
)

// hash lets the browser run or apply a text, and nothing else.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// library is what draws the pictures. The page has it packed, and unpacks it.
var library = sync.OnceValues(func() (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packedLibrary))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
})

// Write writes a page, which loads nothing and runs nothing but its own scripts, and the library that these unpack.
func Write(w io.Writer, p *report.Page) error {
	scripts, allowed := []template.JS{template.JS(pageJS)}, []string{pageJS}
	var data, drawing template.JS
	if p.Drawn != nil {
		unpacked, err := library()
		if err != nil {
			return err
		}
		scripts, allowed = append(scripts, template.JS(picturesJS)), append(allowed, picturesJS, unpacked)
		data, drawing = quoted(p.Drawn), quoted(packedLibrary)
	}
	policy := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hash(pageCSS) + "; script-src"
	for _, script := range allowed {
		policy += " " + hash(script)
	}
	return page().Execute(w, struct {
		*report.Page
		Policy        string
		Style         template.CSS
		Data, Library template.JS
		Scripts       []template.JS
	}{p, policy, template.CSS(pageCSS), data, drawing, scripts})
}

// quoted is bytes as a JSON text in base64.
func quoted(data []byte) template.JS {
	return template.JS(`"` + base64.StdEncoding.EncodeToString(data) + `"`)
}

// percent shows a place or a width.
func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
