"""Serves the pages that the recorded network log loads: a redirect, images, a slow script, what is missing, and hosts that fail."""

import http.server
import time

PAGE = b"""<img src=/1.png><img src=/2.png><script src=/slow.js></script><img src=/missing>
<img src=http://127.0.0.1:9/refused.png><img src=http://unknown.invalid/3.png>"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/":
            return self.answer(302, b"", Location="/page")
        if self.path == "/missing":
            return self.answer(404, b"")
        if self.path == "/slow.js":
            time.sleep(0.2)
        self.answer(200, PAGE if self.path == "/page" else b"/**/", **{"Content-Type": "text/html"})

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
