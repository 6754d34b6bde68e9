# SPDX-License-Identifier: Apache-2.0
"""`tulle serve` and llama-server on one file, interleaved: streamed tokens per second, seconds to the first token, and a
long prompt that arrives among streams."""

import argparse
import http.client
import json
import random
import socket
import statistics
import subprocess
import sys
import threading
import time

import random_gguf
from llama_cpp import DEFAULT_MODEL, model_file
from peers import PEERS, TULLE, processor, ratio, spread, table, usable_cores

COUNTS = [1, 2, 4, 8, 16, 32]
TOKENS, LONG_PROMPT, LENGTH = 64, 2000, 2304
READY = {"tulle": "/ready", "llama-server": "/health"}  # status 200 once the model is loaded


class Server:
    def __init__(self, command, model, threads):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        arguments = {
            "tulle": [TULLE, "serve", model, "--max-sequences", max(COUNTS), "--sequence-length", LENGTH, "--threads", threads],
            "llama-server": [PEERS / "llama-native" / "bin" / "llama-server", "--model", model, "--parallel", max(COUNTS),
                             "--ctx-size", LENGTH * max(COUNTS), "--threads", threads],
        }[command]
        self.process = subprocess.Popen([*map(str, arguments), "--port", str(self.port)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        while not self.answers(READY[command]):
            if self.process.poll() is not None:
                sys.exit(f"servers: {command} ended with status {self.process.returncode}")
            time.sleep(0.2)
        self.stream([1000, 1001], 4)  # the first text after a start is slower

    def answers(self, path):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def stream(self, prompt, tokens=TOKENS):
        """Seconds from the request to each piece of text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        began = time.monotonic()
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                "stream_options": {"include_usage": True}}
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        times, generated = [], None
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            if event.get("choices"):
                times.append(time.monotonic() - began)
            generated = (event.get("usage") or {}).get("completion_tokens", generated)
        connection.close()
        assert generated == tokens, f"{generated} tokens of {tokens}"
        return times


def together(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def prompt(draw, length=48):
    """Ids, so that both read the same and no prompt begins as another."""
    return [draw.randrange(1000, 30000) for _ in range(length)]


def load(server, clients, seed):
    """Tokens per second, and seconds to each first token."""
    draw = random.Random(seed)
    firsts = []
    began = time.monotonic()
    together([lambda ids=prompt(draw): firsts.append(server.stream(ids)[0]) for _ in range(clients)])
    return clients * TOKENS / (time.monotonic() - began), firsts


def long_prompt_among_streams(server, seed):
    """Seconds to the first token of the long prompt, and the longest pause of a stream meanwhile."""
    draw = random.Random(seed)
    pauses, first = [], []

    def stream(ids):
        times = server.stream(ids, 4 * TOKENS)
        pauses.append(max(later - earlier for earlier, later in zip(times, times[1:])))

    def arrive(ids):
        time.sleep(1)
        first.append(server.stream(ids, 8)[0])

    together([lambda ids=prompt(draw): stream(ids) for _ in range(7)] + [lambda ids=prompt(draw, LONG_PROMPT): arrive(ids)])
    return first[0], max(pauses)


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def measure(model, kind, threads, rounds, counts):
    """[clients, engine] -> tokens per second, a value a round; and first tokens, all of them. Then the long prompt's."""
    file = model_file(model, kind)
    servers = {name: Server(name, file, threads) for name in ("tulle", "llama-server")}
    speeds = {(count, name): [] for count in counts for name in servers}
    firsts = {(count, name): [] for count in counts for name in servers}
    long_prompts = {name: [] for name in servers}
    for turn in range(rounds):
        for name, server in servers.items():
            for count in counts:
                speed, seconds = load(server, count, f"{turn} {count}")
                speeds[count, name].append(speed)
                firsts[count, name] += seconds
            long_prompts[name].append(long_prompt_among_streams(server, turn))
    for server in servers.values():
        server.stop()
    return speeds, firsts, long_prompts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server (default 3)")
    parser.add_argument("--clients", type=int, nargs="+", choices=COUNTS, default=COUNTS)
    parser.add_argument("--model", choices=[DEFAULT_MODEL, *random_gguf.SHAPES], default=DEFAULT_MODEL,
                        help="all but the first have random weights (default %(default)s)")
    parser.add_argument("--type", choices=["Q8_0", "Q4_0"], default="Q8_0", help="default %(default)s")
    parser.add_argument("--json", action="store_true", help="the medians as JSON")
    options = parser.parse_args()
    speeds, firsts, long_prompts = measure(options.model, options.type, options.threads, options.rounds, options.clients)

    ratios = {count: ratio(speeds[count, "tulle"], speeds[count, "llama-server"]) for count in options.clients}
    if options.json:
        report = {"processor": processor()}
        for (count, name), values in speeds.items():
            report[f"{name}_{count}"] = round(statistics.median(values), 1)
        report.update({f"ratio_{count}": float(value) for count, value in ratios.items()})
        print(json.dumps(report))
        return
    print(f"{options.model} {options.type}, {processor()}, {options.threads} thread(s), {options.rounds} rounds, interleaved;")
    print(f"prompts of 48 tokens, texts of {TOKENS}, median (min-max)\n")
    rows = [["clients", "server", "tokens/s", "x llama-server", "first token p50, s", "p99, s"]]
    for (count, name), values in speeds.items():
        waited = firsts[count, name]
        rows.append([str(count), name, spread(values, 1), ratios[count] if name == "tulle" else "",
                     f"{percentile(waited, 50):.2f}", f"{percentile(waited, 99):.2f}"])
    print(table(rows))
    print(f"\nA prompt of {LONG_PROMPT:,} tokens among 7 streams:\n")
    rows = [["server", "its first token, s", "longest pause of a stream, s"]]
    rows += [[name, *(spread(column, 2) for column in zip(*values))] for name, values in long_prompts.items()]
    print(table(rows))


if __name__ == "__main__":
    main()
