# SPDX-License-Identifier: Apache-2.0
"""tulle serve under everything at once: clients of all routes, of whom a third leave, models that are unloaded, a
configuration that changes, and a stop in the middle. For builds with a sanitizer, which alone have it as a test.
    environment: TULLE_COMMAND, TULLE_STORM_SECONDS (default 30)"""
import contextlib
import functools
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from schemas import FIRST
from server import MODELS, Q8_0, Server, make_certificate

SECONDS = float(os.environ.get("TULLE_STORM_SECONDS", 30))
KEY = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
PROMPTS = [f"{number} is the number of" for number in range(6)]
TEXT = "/v1/completions"
PLAIN = ["/health", "/ready", "/metrics", "/slots", "/config", "/v1/models", "/openapi.json", "/"]


class Storm:
    """Clients, until `end`. `wrong` is what must not have come."""

    def __init__(self, server, models, tls=None):
        self.server, self.models, self.tls = server, models, tls
        self.wrong, self.finished, self.left, self.cut, self.broken, self.refused = [], 0, 0, 0, 0, {429: 0, 503: 0}
        self.alone = {(model, prompt): self.whole(self.greedy(model, prompt)) for model in models for prompt in PROMPTS}
        self.began = time.monotonic()
        self.end = self.began + SECONDS
        self.threads = [threading.Thread(target=self.client, args=[number]) for number in range(16)]
        for thread in self.threads:
            thread.start()

    def greedy(self, model, prompt, **more):
        return {"model": model, "prompt": prompt, "max_tokens": 24, "temperature": 0, "ignore_eos": True, **more}

    @contextlib.contextmanager
    def open(self, method, path, body=None, headers=KEY):
        form = functools.partial(http.client.HTTPSConnection, context=self.tls) if self.tls else http.client.HTTPConnection
        with contextlib.closing(form("127.0.0.1", self.server.port, timeout=300)) as connection:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            yield connection.getresponse()

    def ask(self, method, path, body=None, headers=KEY):
        with self.open(method, path, body, headers) as answer:
            return answer.status, answer.read()

    def whole(self, body):
        status, data = self.ask("POST", TEXT, body)
        assert status == 200, data
        return json.loads(data)["choices"][0]["text"]

    def client(self, number):
        draw = random.Random(number)
        while time.monotonic() < self.end:
            if (time.monotonic() - self.began) % 9 > 6:  # models are unloaded meanwhile
                time.sleep(0.1)
                continue
            try:
                self.one(draw)
            except (OSError, http.client.HTTPException):
                self.broken += 1  # by a server that ends
                time.sleep(0.05)

    def one(self, draw):
        model, prompt, kind = draw.choice(self.models), draw.choice(PROMPTS), draw.randrange(8)
        if kind < 3:
            self.stream(draw, model, prompt)
        elif kind == 3:
            form = {"type": "json_schema", "json_schema": {"name": "form", "schema": draw.choice(FIRST)}}
            self.leave_or_read(draw, "/v1/chat/completions", {"model": model, "messages": prompt, "max_tokens": 24,
                                                              "response_format": form, "stream": draw.random() < 0.5})
        elif kind == 4:
            path, length = draw.choice([("/v1/responses", "max_output_tokens"), ("/v1/messages", "max_tokens")])
            field = "input" if path == "/v1/responses" else "messages"
            self.leave_or_read(draw, path, {"model": model, field: [{"role": "user", "content": prompt}], length: 16,
                                            "stream": True})
        elif kind == 5:
            self.leave_or_read(draw, TEXT, self.greedy(model, prompt, n=2, logprobs=2))
            self.leave_or_read(draw, "/tokenize", {"model": model, "content": prompt})
        elif kind == 6:
            for path in draw.sample(PLAIN, 3):
                self.judge(*self.ask("GET", path))
            key = "secret2"[:draw.choice([0, 5, 7])]
            self.judge(*self.ask("GET", "/v1/models", headers={"Authorization": "Bearer " + key}), right=401)
        else:
            with socket.create_connection(("127.0.0.1", self.server.port)) as connection:
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"[:draw.randrange(69)])

    def judge(self, status, data, right=200):
        """Whether it is the right status. Others than those of a full queue and of a server that ends are wrong."""
        if status in (429, 503):
            self.refused[status] += 1
            time.sleep(0.05)
        elif status != right:
            self.wrong.append((status, data[:300]))
        return status == right

    def leave_or_read(self, draw, path, body):
        with self.open("POST", path, body) as answer:
            if answer.status == 200 and draw.random() < 1 / 3:
                answer.read(draw.randrange(1, 600))
                self.left += 1
            else:
                self.judge(answer.status, answer.read())

    def stream(self, draw, model, prompt):
        with self.open("POST", TEXT, self.greedy(model, prompt, stream=True)) as answer:
            if answer.status == 200 and draw.random() < 1 / 3:
                answer.read(draw.randrange(1, 2000))
                self.left += 1
                return
            data = answer.read()
            if not self.judge(answer.status, data):
                return
        text = "".join(json.loads(line[6:])["choices"][0]["text"] for line in data.decode().split("\n\n")[:-2])
        if text == self.alone[model, prompt]:
            self.finished += 1
        elif self.alone[model, prompt].startswith(text.rstrip("\ufffd")):
            self.cut += 1
        else:
            self.wrong.append((prompt, text))

    def result(self):
        for thread in self.threads:
            thread.join()
        print(f"{self.finished} texts finished, {self.left} left, {self.cut} cut, {self.broken} broken, refused: {self.refused}", file=sys.stderr)
        return self.wrong


class StormTest(unittest.TestCase):
    flags = ["--api-key", "secret", "--max-sequences", "4", "--max-queue", "10", "--cache-tokens", "512",
             "--sequence-length", "256", "--stop-time", "2"]

    def finish(self, server, storm):
        """SIGTERM while clients go on."""
        time.sleep(max(0, storm.end - 2 - time.monotonic()))
        self.assertEqual(server.stop(), 0)
        storm.end = 0
        self.assertEqual(storm.result(), [])
        self.assertGreater(min(storm.finished, storm.left), 0)

    def test_models_and_configurations_come_and_go(self):
        models = [str(Q8_0), str(MODELS / "gguf" / "q4_0.gguf")]
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config.yaml")

            def configure(turn):
                text = "endpoints:\n"
                for number, model in enumerate(models):
                    text += f"  - {{name: m{number}, route: /r{number}_{turn % 2}, task: text_generation, model: {model}}}\n"
                config.write_text(text)

            configure(0)
            with Server("--config-file", config, "--hot-reload", "--unload-after", "1", *self.flags, model=None) as server:
                storm = Storm(server, models)
                turn, unloaded = 0, 0
                while time.monotonic() < storm.end - 4:
                    time.sleep(0.5)
                    slots = [each["loaded"] for each in json.loads(storm.ask("GET", "/slots")[1])]
                    unloaded += not all(slots)
                    said = server.lines.count("The new configuration is in use\n")
                    if said == turn:
                        turn += 1
                        configure(turn)
                lost = storm.refused[503] + storm.broken
                self.finish(server, storm)
                self.assertEqual(lost, 0)  # by a change of the configuration
                self.assertGreater(turn, 1)
                self.assertGreater(unloaded, 0)

    @unittest.skipUnless(shutil.which("openssl"), "this machine has no openssl to make a certificate with")
    def test_https(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = make_certificate(folder)
            with Server("--ssl-cert", certificate, "--ssl-key", key, "--draft-model", "self:i8", *self.flags) as server:
                self.finish(server, Storm(server, [str(Q8_0)], ssl.create_default_context(cafile=certificate)))


if __name__ == "__main__":
    unittest.main()
