# SPDX-License-Identifier: Apache-2.0
"""tulle serve under wrong, hostile and too many requests: the right status, and it goes on."""
import json
import os
import re
import resource
import shutil
import socket
import ssl
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest.mock import patch

from server import Q8_0, Server, ServeTest, environment, make_certificate

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
LONG = {"prompt": "Once upon a time", "max_tokens": 200, "temperature": 0, "ignore_eos": True}


END = b"\r\n\r\n"
# (status, the parts of a request): a body that is refused must not be taken for a request.
MISREAD = [(status, [start + b" HTTP/1.1\r\nHost: x\r\n" + head + END, b"0" + END + b"GET /slots HTTP/1.1\r\nHost: x" + END])
           for status, start, head in [
               (b"400", b"POST /v1/completions", b"Content-Length: 2\r\nTransfer-Encoding: chunked"),
               (b"400", b"POST /v1/completions", b"Content-Length: 2\r\nContent-Length: 3"),
               (b"400", b"POST /v1/completions", b"Transfer-Encoding: gzip, chunked"),
               (b"411", b"POST /v1/completions", b"Accept: */*"), (b"200", b"GET /health", b"Content-Length: 37"),
               (b"400", b"POST /nowhere", b"Content-Length: x"), (b"416", b"POST /v1/completions", b"Content-Length: 4\r\nRange: x"),
               (b"400", b"GET /health", b"Transfer-Encoding: chunked"), (b"400", b"DELETE /", b"Transfer-Encoding: chunked"),
               (b"400", b"POST /v1/completions", b"Transfer-Encoding : chunked\r\nContent-Length: 2"),
               (b"400", b"POST /v1/completions", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip"),
               (b"400", b"POST /v1/completions", b"Content-Length: +2"), (b"400", b"GET /health", b"Host: y"),
               (b"413", b"POST /v1/completions", b"Content-Length: 99999999999999999999"),
               (b"414", b"POST /" + b"a" * 9000, b"Content-Length: 4"),
               (b"415", b"POST /v1/completions", b"Content-Length: 4\r\nContent-Type: multipart/form-data; boundary=x")]]


def soon(holds):
    """Whether this holds within a minute."""
    until = time.monotonic() + 60
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.01)
    return bool(held)


class WrongRequestsTest(ServeTest):
    flags = ["--sequence-length", "256", "--max-body", "1"]

    def test_values_out_of_range(self):
        for body, param in [({"temperature": 999999}, "temperature"), ({"temperature": -1}, "temperature"),
                            ({"max_tokens": -1}, "max_tokens"), ({"max_tokens": 0}, "max_tokens"),
                            ({"max_tokens": 1.5}, "max_tokens"), ({"top_p": 2}, "top_p"), ({"n": 0}, "n"),
                            ({"n": 100}, "n"), ({"seed": "x"}, "seed"), ({"stop": 3}, "stop"),
                            ({"logit_bias": {"x": 1}}, "logit_bias"), ({"logit_bias": {"1": 101}}, "logit_bias"),
                            ({"logit_bias": {"99999999": 1}}, "logit_bias"),
                            ({"logprobs": 21}, "logprobs"), ({"stream": 1}, "stream"), ({"prompt": None}, "prompt"),
                            ({"prompt": [-1]}, "prompt"), ({"prompt": [100000]}, "prompt"), ({"prompt": []}, "prompt"),
                            ({"prompt": "word " * 300}, "prompt"), ({"prompt": {}}, "prompt"), ({"model": 3}, "model"),
                            ({"best_of": 5}, "best_of"), ({"suffix": "x"}, "suffix")]:
            with self.subTest(body):
                self.assertEqual(self.refuse(400, TEXT, {"prompt": "Once", **body}, "")["param"], param)
        error = self.refuse(404, TEXT, {"model": "none", "prompt": "Once"}, "does not exist")
        self.assertEqual((error["type"], error["code"]), ("invalid_request_error", "model_not_found"))
        error = self.refuse(404, "/v1/messages", {"model": "none", "messages": "x", "max_tokens": 1}, "does not exist")
        self.assertEqual(error["type"], "not_found_error")
        for body in [{}, {"messages": []}, {"messages": [3]}, {"messages": [{"content": "x"}]},
                     {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, {"messages": 3}]:
            with self.subTest(body):
                self.refuse(400, CHAT, body, "")
                self.refuse(400, CHAT, {**body, "tools": [{"type": "function", "function": {"name": "f"}}]}, "messages")
        self.refuse(400, "/predict", {}, "missing")
        # What the engine alone finds is a status, too, and not an event of a stream that has begun.
        self.refuse(400, "/predict", {"prompt": "x", "top_p": 7, "streaming": True}, "top_p")
        self.refuse(400, "/predict", {"prompt": "x", "temperatur": 1}, "did you mean")
        self.refuse(400, "/predict", {"prompt": "x", "session_ids": "a"}, "sessions are not kept")
        self.refuse(400, "/predict", {"prompt": ["x"] * 257}, "at most 256 prompts")
        self.refuse(400, "/predict", {"prompt": "x", "stop": [str(number) for number in range(65)]}, "at most 64")
        self.refuse(400, "/v1/messages", {"messages": "x", "max_tokens": 1, "tools": [{"name": "f"}]}, "chat/completions")

    def test_bodies_that_are_no_request(self):
        self.assertNotIn("file", self.refuse(400, CHAT, b"{", "not valid JSON")["message"])
        for body, saying in [(b"", "JSON"), (b"{", "JSON"), (b"[]", "object"), (b"\xff", "JSON"),
                             (b'{"a":' * 60000 + b"1" + b"}" * 60000, "nested"), (b'{"a":1,"a":2}', "twice")]:
            with self.subTest(body[:20]):
                self.refuse(400, CHAT, body, saying)
        self.refuse(413, CHAT, b"x" * 3_000_000, "longer than")
        self.refuse(415, CHAT, b"--x--", "JSON", headers={"Content-Type": "multipart/form-data; boundary=x"})
        for method, path, status in [("GET", CHAT, 405), ("POST", "/nowhere", 404), ("GET", "/../../etc/passwd", 404),
                                     ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
                                     ("GET", "/v1/models/" + "a" * 8000, 404), ("GET", "/" + "a" * 9000, 414),
                                     ("PUT", CHAT, 405), ("DELETE", "/", 405)]:
            with self.subTest(path):
                found, headers, answer = self.server.request(method, path, b"{}" if method != "GET" else None)
                self.assertEqual(found, status, answer)
                self.assertIn("error", json.loads(answer))

    def test_requests_that_proxies_could_misread(self):
        for status, request in MISREAD:
            with self.subTest(request[0][-99:]):
                answer = self.server.raw(*request)
                self.assertEqual((answer.split()[1], answer.count(b"HTTP/1.1 ")), (status, 1))

    def test_a_request_names_its_host(self):
        for version, host, status in [(b"1.1", b"", b"400"), (b"1.0", b"", b"200"), (b"1.1", b"Host: x\r\n", b"200"),
                                      (b"1.0", b"Host: x\r\nHost: y\r\n", b"400")]:
            with self.subTest((version, host)):
                answer = self.server.raw(b"GET /health HTTP/" + version + b"\r\n" + host + b"Connection: close" + END)
                self.assertEqual(answer.split()[1], status)

    def test_a_body_that_is_too_long_is_refused_before_it_comes(self):
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000"
        for more in (b"", b"\r\nExpect: 100-continue"):
            with self.subTest(more), self.server.socket() as connection:
                begin = time.monotonic()
                connection.sendall(head + more + END)
                self.assertEqual(connection.recv(12), b"HTTP/1.1 413")
                self.assertLess(time.monotonic() - begin, 4)

    def test_a_body_may_wait_until_it_is_expected(self):
        body = json.dumps({"prompt": "Once", "max_tokens": 1}).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d"
        with self.server.socket() as connection, connection.makefile("rb") as file:
            connection.sendall(head % len(body) + END)
            self.assertEqual((file.readline(), file.readline()), (b"HTTP/1.1 100 Continue\r\n", b"\r\n"))
            connection.sendall(body)
            self.assertEqual(file.readline(), b"HTTP/1.1 200 OK\r\n")

    def test_requests_in_one_write_are_answered_in_turn(self):
        def post(body):
            return b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: %d" % len(body) + END + body

        body = json.dumps({"prompt": "Once"}).encode()
        last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close" + END
        self.assertEqual(self.server.raw(post(body) * 3 + last).count(b"HTTP/1.1 200"), 4)
        # A body is no request, where the first 4096 bytes of a connection end in it, either.
        hidden = b"GET /slots HTTP/1.1\r\nHost: x" + END
        first, second = post(body), post(b" " * 4000 + hidden)
        before = 4096 - len(first) - second.index(END) - len(END)
        answer = self.server.raw(first + post(b" " * before + hidden))
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", answer), [b"200", b"400"])

    def test_an_old_client_gets_a_stream_without_chunks(self):
        body = json.dumps({"prompt": "Once", "max_tokens": 4, "stream": True}).encode()
        head = b"POST /v1/completions HTTP/1.0\r\nHost: x\r\nContent-Length: %d" % len(body) + END
        answer = self.server.raw(head, body)
        self.assertNotIn(b"Transfer-Encoding", answer)
        self.assertTrue(answer.split(END, 1)[1].startswith(b"data: {"), answer)
        self.assertTrue(answer.endswith(b"data: [DONE]\n\n"), answer)

    def test_fields_that_would_change_the_answer_are_refused(self):
        turn = {"messages": "x", "max_tokens": 1}
        for path, fields in [(CHAT, {"guided_json": {"type": "object"}}), (CHAT, {"grammar": "root ::= \"a\""}),
                             (CHAT, {"stop_token_ids": [1]}), ("/v1/messages", {"output_config": {"format": {"type": "x"}}}),
                             ("/v1/responses", {"input": "x", "conversation": "a"}), ("/v1/responses", {"input": "x", "background": True})]:
            with self.subTest(fields):
                self.assertEqual(self.server.post(path, {**turn, **fields})[0], 400)
        self.succeed("/v1/responses", {"input": "x", "background": False, "conversation": None, "max_output_tokens": 1})
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}
        self.refuse(400, CHAT, {**turn, "tools": [tool]}, "not \"object\"")
        self.refuse(415, TEXT, b"x", "compressed", headers={"Content-Encoding": "gzip"})

    def test_headers_do_not_come_back(self):
        status, headers, _ = self.server.request("GET", "/health", headers={"X-Request-Id": "a b\tc"})
        self.assertRegex(headers["X-Request-Id"], r"\Areq_[0-9a-z]{24}\Z")
        self.assertEqual(self.server.request("GET", "/health", headers={"X-Request-Id": "abc-1"})[1]["X-Request-Id"], "abc-1")

    def test_endless_heads_are_ended(self):
        for head in (b"GET /health HTTP/1.1\r\nA: " + b"a" * 200_000 + END, b"GET /health HTTP/1.1\r\n" + b"A: a\r\n" * 40_000):
            begin = time.monotonic()
            self.assertNotIn(b"HTTP/1.1 200", self.server.raw(head))
            self.assertLess(time.monotonic() - begin, 20)  # it does not wait for the rest

    def test_an_object_of_many_keys_costs_no_more_than_its_bytes(self):
        many = {str(number): 0 for number in range(60_000)}  # each searched for among all before: minutes
        begin = time.monotonic()
        self.refuse(400, CHAT, {**many, "messages": 3, "tools": []}, "messages")
        self.assertLess(time.monotonic() - begin, 20)

    def test_chunked_bodies_are_read_and_limited(self):
        head = b"POST /tokenize HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: Chunked" + END
        self.assertTrue(self.server.raw(head, b'12\r\n{"content": "One"}\r\n0' + END).startswith(b"HTTP/1.1 200"))
        connection = self.server.connect()
        connection.request("POST", TEXT, iter([b'{"prompt": "Once",', b'"max_tokens": 2}']), {"Transfer-Encoding": "chunked"},
                           encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        connection = self.server.connect()
        connection.request("POST", TEXT, (b"x" * 65536 for _ in range(64)), {"Transfer-Encoding": "chunked"},
                           encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 413)  # what is sent behind the limit does not lose the answer
        connection.close()
        self.assertEqual(self.server.get("/health")[0], 200)


class ManyRequestsTest(ServeTest):
    flags = ["--sequence-length", "256", "--max-sequences", "4", "--max-queue", "6", "--max-connections", "40"]

    def test_texts_do_not_depend_on_their_neighbours(self):
        """A short form of `tools/check serve-load`: streams, of which a third leave."""
        prompts = [f"{number} is the number of" for number in range(6)]
        alone = [self.succeed(TEXT, {**LONG, "prompt": prompt, "max_tokens": 40})["choices"][0]["text"] for prompt in prompts]
        failures = []

        def client(number):
            for turn in range(4):
                which = (number + turn) % len(prompts)
                connection = self.server.connect()
                body = {**LONG, "prompt": prompts[which], "max_tokens": 40, "stream": True}
                connection.request("POST", TEXT, json.dumps(body), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                if answer.status == 429:
                    answer.read()
                    connection.close()
                    continue
                if (number + turn) % 3 == 0:
                    answer.read(300)
                    connection.close()
                    continue
                lines = [line for line in answer.read().decode().split("\n\n") if line]
                text = "".join(json.loads(line[6:])["choices"][0]["text"] for line in lines[:-1])
                if (lines[-1], text) != ("data: [DONE]", alone[which]):
                    failures.append((number, turn, text))
                connection.close()

        threads = [threading.Thread(target=client, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        until = time.monotonic() + 60
        while any(model["requests"] for model in self.server.get("/slots")[1]) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([model["requests"] for model in self.server.get("/slots")[1]], [[]])

    def test_a_full_queue_says_so(self):
        statuses = []

        def client():
            status, headers, _ = self.server.request("POST", TEXT, {**LONG, "n": 4})  # all sequences for one
            statuses.append((status, headers.get("Retry-After")))

        threads = [threading.Thread(target=client) for _ in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for status in statuses}, {(200, None), (429, "1")})

    def test_slow_and_silent_clients_do_not_keep_others_out(self):
        slow = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(40)]
        for connection in slow:
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nX: ")
        began = time.monotonic()
        status, _ = self.server.get("/health")
        self.assertEqual(status, 200)
        self.assertLess(time.monotonic() - began, 30)
        for connection in slow:
            connection.close()


    def test_as_many_connections_wait_as_are_served(self):
        with Server("--max-connections", "32") as server:
            ask = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            connections = [socket.create_connection(("127.0.0.1", server.port), timeout=300) for _ in range(64)]
            with socket.create_connection(("127.0.0.1", server.port), timeout=300) as beyond:
                self.assertEqual(beyond.recv(1), b"")
            for connection in connections:
                connection.sendall(ask)
            for connection in connections:
                with connection:
                    self.assertEqual(connection.recv(15), b"HTTP/1.1 200 OK")


class SmallCacheTest(ServeTest):
    flags = ["--sequence-length", "256", "--max-sequences", "4", "--cache-tokens", "256"]

    def test_texts_that_give_way_to_earlier_ones_are_the_same(self):
        prompts = [f"{number} is the number of" for number in range(4)]
        ask = lambda prompt: self.succeed(TEXT, {**LONG, "prompt": prompt, "max_tokens": 150})["choices"]  # noqa: E731
        alone = [ask(prompt)[0]["text"] for prompt in prompts]
        self.assertEqual([choice["text"] for choice in ask(prompts)], alone)  # one request, so they surely run at once
        metrics = self.server.request("GET", "/metrics")[2].decode()
        self.assertGreater(float(re.search(r"^tulle_preemptions_total\{.*\} (.*)$", metrics, re.MULTILINE)[1]), 0)


class OperationTest(unittest.TestCase):
    def test_keys_and_origins(self):
        with Server("--api-key", "secret", "--cors-origin", "https://page.example") as server:
            self.assertEqual(server.get("/health")[0], 200)
            self.assertEqual(server.get("/v1/models")[0], 401)
            self.assertEqual(server.post("/v1/messages", {})[1]["error"]["type"], "authentication_error")
            for headers in [{"Authorization": "Bearer secret"}, {"Authorization": "bearer secret"}, {"X-Api-Key": "secret"}]:
                self.assertEqual(server.get("/v1/models", headers=headers)[0], 200)
            for key in ["", "secre", "secret2", "Secret"]:
                self.assertEqual(server.get("/v1/models", headers={"Authorization": "Bearer " + key})[0], 401)
            found = server.request("OPTIONS", CHAT, headers={"Origin": "https://page.example"})
            self.assertEqual((found[0], found[1]["Access-Control-Allow-Origin"]), (204, "https://page.example"))
            self.assertNotIn("Access-Control-Allow-Origin", server.request("OPTIONS", CHAT, headers={"Origin": "https://b"})[1])
            for wanted, allowed in [("authorization, x-stainless-os,anthropic-version", True), ("a: b", False), ("a\tb", False)]:
                found = server.request("OPTIONS", CHAT, headers={"Origin": "https://page.example",
                                                                 "Access-Control-Request-Headers": wanted})
                self.assertEqual(found[1]["Access-Control-Allow-Headers"] == wanted, allowed)

    def test_pages_of_other_origins_cannot_ask_without_a_key(self):
        body = {"prompt": "Once", "max_tokens": 1}
        with Server("--cors-origin", "https://page.example") as server:
            own = f"http://127.0.0.1:{server.port}"
            for origin, status in [("https://page.example", 200), (own, 200), ("https://other.example", 403), ("null", 403)]:
                found = server.request("POST", TEXT, body, headers={"Origin": origin, "Content-Type": "text/plain"})
                self.assertEqual(found[0], status, origin)
            self.assertEqual(server.post(TEXT, body)[0], 200)
            long = {"X-Long": "x" * 20000}
            self.assertEqual(server.post(TEXT, body, headers=long)[0], 200)

    def test_flags_come_twice_and_before_the_model_which_is_not_that_of_the_environment(self):
        others = {**environment(), "TULLE_MODEL": "/no/such/model"}
        flags = ("--host", "::1", "--host", "127.0.0.1", "--cors-origin", "*", "--api-key", "secret", Q8_0)
        with patch("server.environment", lambda: others), Server(*flags, model=None) as server:
            [model] = server.get("/v1/models", headers={"X-Api-Key": "secret"})[1]["data"]
            self.assertEqual(model["id"], str(Q8_0))
            self.assertEqual(server.get("/v1/models", headers={"X-Api-Key": str(Q8_0)})[0], 401)
        with self.assertRaisesRegex(RuntimeError, "At Most 1"):
            Server("--model", Q8_0, model=Q8_0)

    def test_it_stops_gracefully_under_load(self):
        with Server("--sequence-length", "256", "--stop-time", "60") as server:
            answers = []
            thread = threading.Thread(target=lambda: answers.append(server.post(TEXT, {**LONG, "max_tokens": 60})))
            thread.start()
            while not any(model["requests"] for model in server.get("/slots")[1]) and thread.is_alive():
                time.sleep(0.01)
            self.assertEqual(server.stop(), 0)
            thread.join()
            self.assertEqual(answers[0][1]["usage"]["completion_tokens"], 60)
            logged = [json.loads(line) for line in server.lines if line.startswith("{")]
            self.assertEqual((logged[0]["status"], logged[0]["generated_tokens"]), (200, 60))

    def test_what_is_generated_is_sent_before_it_stops(self):
        with Server("--sequence-length", "4096", "--stop-time", "10") as server, socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that most of the answer waits
            connection.connect(("127.0.0.1", server.port))
            body = json.dumps({**LONG, "max_tokens": 1500, "n": 2, "logprobs": 5, "stream": True}).encode()
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            connection.recv(1)
            while any(model["requests"] for model in server.get("/slots")[1]):
                time.sleep(0.01)
            server.process.terminate()
            time.sleep(0.3)
            with connection.makefile("rb") as file:
                self.assertIn(b"data: [DONE]", file.read()[-40:])
            self.assertEqual(server.wait(), 0)

    @unittest.skipUnless(shutil.which("openssl"), "this machine has no openssl to make a certificate with")
    def test_https(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = make_certificate(folder)
            with Server("--ssl-cert", certificate, "--ssl-key", key, "--sequence-length", "100000",
                        context=ssl.create_default_context(cafile=certificate)) as server:
                self.assertEqual(server.post(TEXT, {**LONG, "max_tokens": 3})[1]["usage"]["completion_tokens"], 3)
                self.leave(server)
                for status, request in MISREAD:
                    with self.subTest(request[0][-99:]):
                        answer = server.raw(*request)
                        self.assertEqual((answer.split()[1], answer.count(b"HTTP/1.1 ")), (status, 1))
            with self.assertRaisesRegex(RuntimeError, "no certificate that fits its key"):
                Server("--ssl-cert", certificate, "--ssl-key", certificate)

    def leave(self, server):
        """Two clients that leave end their texts, and the log says how long these were."""
        for stream in (False, True):
            body = json.dumps({**LONG, "max_tokens": 90000, "stream": stream}).encode()
            with server.socket() as connection:
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                self.assertTrue(soon(lambda: server.get("/slots")[1][0]["requests"]))
                if stream:
                    connection.recv(300)
            self.assertTrue(soon(lambda: not server.get("/slots")[1][0]["requests"]))
        left = lambda: [line for line in server.lines if '"status":499' in line]  # noqa: E731
        self.assertTrue(soon(lambda: len(left()) == 2))
        for line in left():
            self.assertTrue(0 < json.loads(line)["generated_tokens"] < 90000, line)

    def test_a_client_that_leaves_ends_its_text(self):
        with Server("--sequence-length", "100000") as server:
            self.leave(server)

    @unittest.skipUnless(resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 4096, "this machine has few file descriptors")
    def test_more_than_1024_descriptors(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, limits[1]))
        with open(os.devnull, "rb") as file:
            held = [os.dup(file.fileno()) for _ in range(1100)]  # the server inherits them
        try:
            with Server(pass_fds=held) as server:
                connections = [server.connect() for _ in range(16)]  # some may have numbers that were free
                for connection in connections:
                    connection.request("POST", TEXT, json.dumps({"prompt": "Once", "max_tokens": 1}))
                    self.assertEqual(connection.getresponse().status, 200)
                for connection in connections:
                    connection.close()
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    def test_no_model_takes_a_request_while_another_one_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config.yaml")
            endpoint = f"task: text_generation, model: {Q8_0}, kwargs: {{{{sequence_length: {{}}}}}}}}}}\n"
            config.write_text("endpoints:\n  - {route: /one, " + endpoint.format(100000) +
                              "  - {route: /two, " + endpoint.format(64))
            with Server("--config-file", config, model=None) as server:
                with socket.create_connection(("127.0.0.1", server.port)) as connection:
                    body = json.dumps({"prompt": "Once", "max_new_tokens": 90000, "force_max_tokens": True}).encode()
                    connection.sendall(b"POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                    self.assertTrue(soon(lambda: server.get("/slots")[1][0]["requests"]))
                    server.process.terminate()
                    self.assertTrue(soon(lambda: server.get("/ready")[0] == 503))
                    self.assertEqual(server.post("/two", {"prompt": "Once", "max_new_tokens": 1})[0], 503)
                self.assertEqual(server.wait(), 0)

    def test_a_text_ends_when_its_time_is_up(self):
        with Server("--request-time", "1", "--sequence-length", "100000") as server:
            status, answer = server.post(TEXT, {**LONG, "max_tokens": 90000})
            self.assertEqual((status, answer["choices"][0]["finish_reason"]), (200, "length"))
            self.assertLess(answer["usage"]["completion_tokens"], 90000)

    def test_an_idle_model_is_unloaded_and_loaded_again(self):
        with Server("--unload-after", "1") as server:
            body = {"prompt": "Once", "max_tokens": 5, "temperature": 0}
            first = server.post(TEXT, body)
            until = time.monotonic() + 120
            while server.get("/slots")[1][0]["loaded"] and time.monotonic() < until:
                time.sleep(0.1)
            self.assertFalse(server.get("/slots")[1][0]["loaded"])
            self.assertEqual(server.post(TEXT, body)[1]["choices"], first[1]["choices"])

    def test_configurations(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config.yaml")
            endpoint = f"  - name: {{}}\n    route: {{}}\n    task: text_generation\n    model: {Q8_0}\n"
            config.write_text("num_cores: 1\nloggers: {}\nendpoints:\n" + endpoint.format("one", "/generate") +
                              endpoint.format("two", "predict2") + "    kwargs: {max_new_tokens: 3, sequence_length: 64, do_sample: true, seed: 5}\n")
            with Server("--config-file", config, "--hot-reload", model=None) as server:
                body = {"prompt": "Once", "force_max_tokens": True}
                self.assertEqual(server.post("/generate", {**body, "max_new_tokens": 5})[0], 200)
                two = server.post("/predict2", {**body, "return_input_tokens": True})
                self.assertEqual(two[0], 200, two)
                self.assertEqual(server.post("/v2/models/two/infer", body)[1]["generations"], two[1]["generations"])
                self.assertEqual(server.post("/predict", body)[0], 404)
                config.write_text("endpoints:\n" + endpoint.format("three", "/third"))
                until = time.monotonic() + 120
                while "The new configuration is in use\n" not in server.lines and time.monotonic() < until:
                    time.sleep(0.1)
                self.assertEqual(server.post("/third", body)[0], 200)
                # What cannot be served changes nothing.
                missing = endpoint.format("four", "/fourth").replace(str(Q8_0), "/nowhere.gguf")
                for text, saying in [("endpoint: []\n", "did you mean endpoints"),
                                     ("endpoints:\n" + missing, "no such file")]:
                    config.write_text(text)
                    until = time.monotonic() + 60
                    while not any(saying in line for line in server.lines) and time.monotonic() < until:
                        time.sleep(0.1)
                    (line,) = [line for line in server.lines if saying in line]
                    self.assertIn("the old configuration stays", line)
                    self.assertEqual(server.post("/third", body)[0], 200)

    def test_no_request_is_refused_while_configurations_change(self):
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder, "config.yaml")
            endpoint = f"task: text_generation, model: {Q8_0}, kwargs: {{sequence_length: 100000}}}}\n"
            config.write_text("endpoints:\n  - {route: /one, " + endpoint)
            with Server("--config-file", config, "--hot-reload", "--stop-time", "1", model=None) as server:
                self.assertEqual(server.get("/health")[0], 200)
                routes = []
                kept = server.connect()  # as the pools of clients keep them
                long = threading.Thread(target=server.post, args=[TEXT, {**LONG, "max_tokens": 90000}])  # the old one waits
                long.start()
                config.write_text("endpoints:\n  - {route: /two, " + endpoint)
                until = time.monotonic() + 120
                while "The new configuration is in use\n" not in server.lines and time.monotonic() < until:
                    self.assertEqual(server.post(TEXT, {"prompt": "Once", "max_tokens": 1})[0], 200)
                    kept.request("GET", "/endpoints")
                    answer = kept.getresponse()
                    self.assertEqual(answer.status, 200)
                    routes.append(json.loads(answer.read())[0]["route"])
                self.assertEqual(routes[-1], "/two")
                kept.close()
                self.assertEqual(server.post("/two", {"prompt": "Once", "max_new_tokens": 1})[0], 200)
                long.join()

    def test_what_cannot_be_served_is_said(self):
        for arguments, saying in [(["--task", "image"], "--task"), (["--hot-reload"], "--config-file"),
                                  (["--max-queue", "-1"], "--max-queue")]:
            with self.assertRaisesRegex(RuntimeError, saying):
                Server(*arguments)
        with self.assertRaisesRegex(RuntimeError, "no such file"):
            with Server(model="/nowhere.gguf") as server:
                server.process.wait(timeout=300)
                server.reader.join()
                raise RuntimeError("".join(server.lines))
        with Server() as server, self.assertRaisesRegex(RuntimeError, "in use"):
            Server(port=server.port)


if __name__ == "__main__":
    unittest.main()
