"""Serves a heap profile with the names of its functions, as programs do for jeprof: heap_server.py PROFILE PROGRAM"""
import http.server, subprocess, sys

profile, program = sys.argv[1:]
heap = open(profile, "rb").read()
mappings = heap.partition(b"MAPPED_LIBRARIES:\n")[2]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"/pprof/cmdline": program.encode(), "/pprof/symbol": b"num_symbols: 1\n"}.get(self.path, heap))

    def do_POST(self):
        addresses = self.rfile.read(int(self.headers["Content-Length"])).decode().strip().split("+")
        names = subprocess.run(["jeprof", "--symbols", program], input=mappings + "\n".join(addresses).encode(), capture_output=True).stdout
        self.answer("".join(f"{a}\t{n}\n" for a, n in zip(addresses, names.decode().splitlines())).encode())


http.server.HTTPServer(("127.0.0.1", 8000), Handler).serve_forever()
