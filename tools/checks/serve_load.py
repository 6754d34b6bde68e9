# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import threading
import time

from _commands import build
from _server import Server

MINUTES = 12
ABOUT = "tulle serve under 64 streaming clients, of which a third leave; and shared prompts"
PROMPTS = [f"Write about the number {number}:" for number in range(16)]


def request(prompt, tokens):
    return {"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True}


def load():
    """Every finished text equals the text alone; memory is flat; all sequences come back."""
    build("release", "tulle_command", "tulle_serve_command")
    seconds = float(os.environ.get("TULLE_LOAD_SECONDS", 300))
    server = Server("--max-sequences", "32", "--max-queue", "128", "--sequence-length", "512")
    alone = [server.complete(request(prompt, 48))["choices"][0]["text"] for prompt in PROMPTS]
    wrong, finished, left = [], [0], [0]
    end = time.monotonic() + seconds

    def client(number):
        draw = random.Random(number)
        while time.monotonic() < end:
            which = draw.randrange(len(PROMPTS))
            connection, answer = server.open({**request(PROMPTS[which], 48), "stream": True})
            if answer.status != 200:
                wrong.append((answer.status, answer.read()[:200].decode()))
            elif draw.random() < 1 / 3:
                answer.read(draw.randrange(1, 4000))
                left[0] += 1
            else:
                events = answer.read().decode().split("\n\n")
                text = "".join(json.loads(event[6:])["choices"][0]["text"] for event in events[:-2])
                if events[-2:] != ["data: [DONE]", ""] or text != alone[which]:
                    wrong.append((PROMPTS[which], text))
                finished[0] += 1
            connection.close()

    threads = [threading.Thread(target=client, args=[number]) for number in range(64)]
    for thread in threads:
        thread.start()
    memory = []
    while time.monotonic() < end:
        time.sleep(min(10, seconds / 10))
        memory.append(server.kilobytes())
    for thread in threads:
        thread.join()
    until = time.monotonic() + 60
    while json.loads(server.get("/slots")[1])[0]["requests"] and time.monotonic() < until:
        time.sleep(0.1)
    idle = not json.loads(server.get("/slots")[1])[0]["requests"]
    status = server.stop()
    half = memory[len(memory) // 2]
    return {"passed": not wrong and idle and status == 0 and memory[-1] <= 1.05 * half, "finished_texts": finished[0],
            "left_texts": left[0], "wrong": wrong[:3], "megabytes_in_the_middle": half // 1024,
            "megabytes_at_the_end": memory[-1] // 1024}


def shared_prompt():
    """A system prompt of 1,000 tokens: the second request's first token comes in a tenth of the first's time."""
    build("release", "tulle_command", "tulle_serve_command")
    server = Server("--sequence-length", "2048")
    ids = list(range(1000, 2000))
    times = []
    for last in (5, 6):
        began = time.monotonic()
        connection, answer = server.open({**request(ids + [last], 8), "stream": True})
        answer.readline()
        times.append(time.monotonic() - began)
        answer.read()
        connection.close()
    server.stop()
    return {"passed": times[1] <= times[0] / 10, "first_seconds": round(times[0], 3), "second_seconds": round(times[1], 3)}


def killed():
    """kill -9 in the middle of texts, then a new server: it serves the same texts."""
    build("release", "tulle_command", "tulle_serve_command")
    server = Server()
    before = server.complete(request(PROMPTS[0], 32))["choices"][0]["text"]
    connection, answer = server.open({**request(PROMPTS[1], 400), "stream": True})
    answer.readline()
    server.process.kill()
    server.process.wait()
    connection.close()
    again = Server()
    after = again.complete(request(PROMPTS[0], 32))["choices"][0]["text"]
    return {"passed": before == after and again.stop() == 0}


def cells():
    return {"load": load, "shared_prompt": shared_prompt, "killed": killed}
