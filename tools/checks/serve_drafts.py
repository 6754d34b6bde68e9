# SPDX-License-Identifier: Apache-2.0
import statistics
import threading
import time
from functools import partial

from _commands import build
from _server import Server

MINUTES = 8
ABOUT = "tulle serve with and without drafts: what 1 client gains, and that 8 lose nothing"
ROUNDS, TOKENS = 5, 128
STORY = "<|im_start|>user\nTell me a story about number {}.<|im_end|>\n<|im_start|>assistant\n"
COPY = "<|im_start|>user\nRepeat this text:\n{}<|im_end|>\n<|im_start|>assistant\n"
TEXT = ("The harbour master keeps a list of all ships that enter the bay, with the hour of their arrival, the weight of "
        "their cargo and the name of the captain. In the evening the list goes to the customs office. ")
PROMPTS = {"story": [STORY.format(number) for number in range(8)],
           "copy": [COPY.format(f"{number}. {TEXT}") for number in range(8)]}
CASES = [("story", "i8", "ngram"), ("copy", "i8", "ngram"), ("story", "dense_f32", "self:i8")]


def tokens_per_second(server, prompts, seen):
    """Of all clients together, who ask at the same time. `seen`: the text of each prompt; a second one is an error."""
    texts = {}

    def ask(prompt):
        body = {"prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
        texts[prompt] = server.complete(body)["choices"][0]["text"]

    clients = [threading.Thread(target=ask, args=[prompt]) for prompt in prompts]
    begin = time.monotonic()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    seconds = time.monotonic() - begin
    for prompt in prompts:
        assert seen.setdefault(prompt, texts[prompt]) == texts[prompt], prompt
    return len(prompts) * TOKENS / seconds


def compare(kind, kernel, draft, clients):
    """A server with drafts and one without answer the same clients, one after the other."""
    build("release", "tulle_command", "tulle_serve_command")
    servers = [Server("--kernel", kernel), Server("--kernel", kernel, "--draft-model", draft)]
    prompts, seen, rounds = PROMPTS[kind][:clients], {}, []
    try:
        for _ in range(ROUNDS + 1):
            rounds.append([tokens_per_second(server, prompts, seen) for server in servers])
    finally:
        for server in servers:
            server.stop()
    gains = [drafted / plain for plain, drafted in rounds[1:]]  # the first round fills caches
    gain = statistics.median(gains)
    return {"passed": gain >= 0.97, "speed_up": f"{gain:.2f} ({min(gains):.2f}-{max(gains):.2f})",
            "plain_tokens_per_second": round(statistics.median(plain for plain, _ in rounds[1:]))}


def cells():
    return {f"{kind}_{kernel}_{draft.replace(':', '_')}_{clients}": partial(compare, kind, kernel, draft, clients)
            for kind, kernel, draft in CASES for clients in (1, 8)}
