# SPDX-License-Identifier: Apache-2.0
"""A hub on this machine, and the server that it keeps large files on: they answer as Hugging Face's do, and misbehave where a
test wants it."""
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = (".safetensors", ".bin", ".gguf")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        hub = self.server.hub
        with hub.lock:
            hub.requests.append((self.server.name, self.command, self.path, dict(self.headers)))
        hub.answer(self) if self.server.name == "hub" else hub.answer_large(self)

    do_HEAD = do_GET

    def send(self, status, body=b"", headers=None):
        self.send_response(status)
        fields = {"Content-Length": str(len(body)), **(headers or {})}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class Hub:
    """One repository, org/tiny. `files`: name -> bytes. What it does wrong is in the other members."""

    def __init__(self, files):
        self.files, self.lock, self.requests = dict(files), threading.Lock(), []
        self.names = None        # listed in place of the files'
        self.status = None       # of the list of files, with headers
        self.refusals = {}       # name -> status and headers of the file
        self.promises = {}       # name -> headers in place of the true ones
        self.contents = {}       # name -> bytes that are sent in place of the true ones
        self.cuts = {}           # name -> how often a large file ends in the middle
        self.stalls = 0          # how often one does not go on
        self.ranges = True       # whether parts are sent
        self.delay = 0           # in seconds, before a large file
        self.servers = []
        for name in ("hub", "large"):
            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads, server.hub, server.name = True, self, name
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            self.servers.append(server)
        self.address, self.large = (f"http://127.0.0.1:{server.server_port}" for server in self.servers)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def etag(self, name):
        data = self.files[name]
        if name.endswith(LARGE):
            return hashlib.sha256(data).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def sent(self, server, method="GET"):
        """The paths that were asked for, and their headers."""
        return [(path, headers) for name, how, path, headers in self.requests if (name, how) == (server, method)]

    def answer(self, request):
        if request.path.startswith("/api/models/org/tiny/revision/"):
            if self.status:
                return request.send(self.status[0], b"no", self.status[1])
            names = self.files if self.names is None else self.names
            return request.send(200, json.dumps({"sha": COMMIT, "siblings": [{"rfilename": n} for n in names]}).encode())
        name = request.path.partition("/resolve/")[2].partition("/")[2]
        if not request.path.startswith("/org/tiny/") or name not in self.files:
            return request.send(404, b"no", {"X-Error-Code": "EntryNotFound"})
        if name in self.refusals:
            return request.send(self.refusals[name][0], b"no", self.refusals[name][1])
        data, etag = self.files[name], f'"{self.etag(name)}"'
        if name.endswith(LARGE):
            headers = {"Location": f"{self.large}/{name}?signature=a+b%2Bc", "X-Linked-Size": str(len(data)),
                       "X-Linked-ETag": etag, "X-Repo-Commit": COMMIT, **self.promises.get(name, {})}
            return request.send(302, b"", headers)
        return request.send(200, self.contents.get(name, data), {"ETag": etag, "X-Repo-Commit": COMMIT})

    def answer_large(self, request):
        name = request.path[1:].split("?")[0]
        assert request.path.endswith("?signature=a+b%2Bc"), request.path
        data, begin, status, headers = self.contents.get(name, self.files[name]), 0, 200, {}
        asked = request.headers.get("Range")
        if asked and self.ranges:
            begin, status = int(asked[len("bytes="):-1]), 206
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        time.sleep(self.delay)
        body = data[begin:]
        with self.lock:
            cut, stall = self.cuts.get(name, 0) > 0, self.stalls > 0
            self.cuts[name] = self.cuts.get(name, 0) - 1
            self.stalls -= 1
        if not cut and not stall:
            return request.send(status, body, headers)
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        for key, value in headers.items():
            request.send_header(key, value)
        request.end_headers()
        request.wfile.write(body[:len(body) // 2])
        request.wfile.flush()
        if stall:
            time.sleep(3)
        request.close_connection = True
        return None
