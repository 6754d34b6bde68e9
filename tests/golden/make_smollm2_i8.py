#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write smollm2_i8.json: the greedy tokens of dense int8 after each prompt of smollm2.json, on the instruction set that rounds as
WebAssembly does (SSE4.1: products and sums of floats are rounded apart).

usage: make_smollm2_i8.py build/release/bin/tulle "$(tools/fetch-model)"
"""
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def tokens(command, model, prompt):
    run = [command, "generate", "--model", model, "--prompt", prompt, "--max-new-tokens", "64", "--force-max-tokens",
           "--kernel", "dense_i8", "--json"]
    output = subprocess.run(run, check=True, capture_output=True, env=dict(os.environ, TULLE_ISA="sse4.1")).stdout
    return json.loads(output)["tokens"]


if __name__ == "__main__":
    command, model = sys.argv[1:]
    prompts = json.loads((HERE / "smollm2.json").read_text(encoding="utf-8"))["prompts"]
    lines = [json.dumps(tokens(command, model, prompt["text"])) for prompt in prompts]
    (HERE / "smollm2_i8.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
