# SPDX-License-Identifier: Apache-2.0
"""Starts `tulle serve` on a tiny model, and speaks HTTP with it in Python's standard library alone."""
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "command"))
from command import COMMAND, MODELS, Q8_0, environment  # noqa: E402, F401


def make_certificate(folder):
    """(certificate, key) of this machine, by openssl."""
    certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return certificate, key


class Server:
    """A server on a port that is free. `lines` are what it wrote on stderr. `context`: of TLS."""

    def __init__(self, *arguments, model=Q8_0, port=0, context=None, pass_fds=()):
        named = [str(model)] if model else []
        self.process = subprocess.Popen([COMMAND, "serve", *named, "--port", str(port), *map(str, arguments)],
                                        stderr=subprocess.PIPE, text=True, env=environment(), pass_fds=pass_fds)
        self.lines, self.port, self.context = [], None, context
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.match(r"Listening on https?://[^ ]*:(\d+) ", line)
            if found:
                self.port = int(found[1])
                break
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()
        if self.port is None:
            self.wait()
            self.process.stderr.close()
            raise RuntimeError("".join(self.lines))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.process.poll() is None:
                self.process.terminate()
                assert self.wait() == 0, "".join(self.lines)
            else:
                self.wait()
        finally:
            self.process.stderr.close()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.wait()

    def wait(self):
        """The exit status. What a sanitizer reports is a failure, whatever the status."""
        status = self.process.wait(timeout=300)
        self.reader.join(timeout=60)
        text = "".join(self.lines)
        assert not re.search("Sanitizer:|runtime error:", text), text
        return status

    def connect(self, timeout=300):
        if self.context:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=60):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        return self.context.wrap_socket(plain, server_hostname="127.0.0.1") if self.context else plain

    def raw(self, head, body=b""):
        """What the server answers to these bytes, until it closes the connection or is silent."""
        with self.socket() as connection:
            answer = b""
            try:
                for part in (head, body) if self.context else (head + body,):  # with TLS a record each
                    connection.sendall(part)
                while part := connection.recv(65536):
                    answer += part
            except (TimeoutError, ConnectionError):
                pass
            return answer

    def request(self, method, path, body=None, headers=None):
        """(status, headers, bytes)."""
        connection = self.connect()
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path, **options):
        status, _, body = self.request("GET", path, **options)
        return status, json.loads(body)

    def post(self, path, body, **options):
        status, _, answer = self.request("POST", path, body, **options)
        return status, json.loads(answer)

    def stream(self, path, body):
        """[(event, data)] of a stream of server-sent events; data is JSON or the text [DONE]."""
        status, headers, answer = self.request("POST", path, body)
        assert (status, headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8"), (status, answer)
        events = []
        for block in answer.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            data = fields["data"]
            events.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
        return events


class ServeTest(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.flags)
        cls.addClassCleanup(cls.server.__exit__)

    flags = ()

    def succeed(self, path, body, **options):
        status, answer = self.server.post(path, body, **options)
        self.assertEqual(status, 200, answer)
        return answer

    def refuse(self, status, path, body, saying, **options):
        found, answer = self.server.post(path, body, **options)
        self.assertEqual(found, status, answer)
        self.assertIn(saying, answer["error"]["message"])
        return answer["error"]
