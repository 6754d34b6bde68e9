# SPDX-License-Identifier: Apache-2.0
"""A `tulle serve` of the release build, and requests to it."""
import http.client
import json
import re
import signal
import subprocess
import time

from _commands import ROOT, model

TULLE = ROOT / "build" / "release" / "bin" / "tulle"


class Server:
    def __init__(self, *flags):
        self.process = subprocess.Popen([TULLE, "serve", model(), "--port", "0", "--name", "m", "--log-level", "warn", *flags],
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+) ", self.process.stderr.readline())[1])
        while self.get("/ready")[0] != 200:
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def open(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def complete(self, body):
        connection, answer = self.open(body)
        data = json.loads(answer.read())
        connection.close()
        return data

    def kilobytes(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
