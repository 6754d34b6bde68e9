#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write prompts.txt: of smollm2.json what every language can read, a prompt a line: its text (with \\n for a line end), a
tab, and the greedy tokens that follow it.      usage: make_prompts.py"""
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent


def lines():
    for prompt in json.loads((HERE / "smollm2.json").read_text(encoding="utf-8"))["prompts"]:
        assert not set("\\\t") & set(prompt["text"]), "a backslash or a tab in a prompt would be read as something else"
        yield prompt["text"].replace("\n", "\\n") + "\t" + " ".join(map(str, prompt["greedy"])) + "\n"


if __name__ == "__main__":
    (HERE / "prompts.txt").write_text("".join(lines()), encoding="utf-8")
