package rpc

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/tpconvert/tpconvert/internal/perfetto"
)

// uiPolicy lets the UI reach nothing but this machine. The policy that the UI sets itself also allows HTTPS to anywhere, and on a
// local server it counts visits at Google.
const uiPolicy = "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' http://127.0.0.1:* ws://127.0.0.1:* data: blob:; " +
	"object-src 'none'; base-uri 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"

// start opens the UI. The UI looks for a server at another port than 9001 only with a flag, which it keeps in the storage of its
// origin, and so of this server alone. The port is before the fragment, which the UI replaces, so that a page can be loaded again.
const start = `<!DOCTYPE html>
<meta charset="utf-8">
<title>tpconvert</title>
<script>
let flags = {};
try { flags = JSON.parse(localStorage.perfettoFeatureFlags); } catch {}
localStorage.perfettoFeatureFlags = JSON.stringify({...flags, cspAllowAnyWebsocketPort: "OVERRIDE_TRUE"});
location.replace("/` + perfetto.Release + `/?rpc_port=" + location.port);
</script>
`

// uiTypes are the types of the UI's files. Those that a system has for extensions may be others.
var uiTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json",
	".png": "image/png", ".svg": "image/svg+xml", ".wasm": "application/wasm", ".woff2": "font/woff2",
}

// serveUI answers a request for the UI, and reports whether it was one.
func (s *Server) serveUI(w http.ResponseWriter, r *http.Request) bool {
	name, below := strings.CutPrefix(r.URL.Path, "/"+perfetto.Release+"/")
	page := r.URL.Path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html")
	if s.options.UI == nil || !below && !page || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	head := w.Header()
	head.Set("Cache-Control", "no-cache") // a browser asks whether a file has changed
	head.Set("Content-Security-Policy", uiPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	if page {
		head.Set("Content-Type", uiTypes[".html"])
		_, _ = w.Write([]byte(start))
		return true
	}
	if name == "" {
		name = "index.html"
	}
	// A path that leaves the UI's folder is not valid.
	if info, err := fs.Stat(s.options.UI, name); err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return true
	}
	if kind := uiTypes[path.Ext(name)]; kind != "" {
		head.Set("Content-Type", kind)
	}
	http.ServeFileFS(w, r, s.options.UI, name)
	return true
}
