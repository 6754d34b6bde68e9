#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does speculative decoding gain on a real model? Each case generates 160 tokens with and without drafts in one
process, one after the other, and the cases take turns; prints a table of medians with minimum and maximum. A text that
differs from the one without drafts is an error.
    usage: speculation.py COMMAND MODEL [ROUNDS]        COMMAND is bin/tulle of a release build"""
import json
import statistics
import subprocess
import sys
from pathlib import Path

PROMPTS = Path(__file__).resolve().parent / "prompts"
CASES = [("story", "dense_f32", "self:i8"), ("story", "dense_f32", "self:i4"), ("story", "dense_f16", "self:i8"),
         ("story", "dense_f16", "self:i4"), ("story", "i8", "ngram"), ("proofread", "i8", "ngram"),
         ("edit", "i8", "ngram"), ("summarize", "i8", "ngram")]


def generate(command, model, prompt, kernel, *flags):
    done = subprocess.run([command, "generate", "-m", model, "--kernel", kernel, "--prompt-file",
                           PROMPTS / f"{prompt}.txt", "-n", "160", "--json", *flags],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(command, model, rounds="5"):
    found = {}
    for _ in range(int(rounds)):
        for case in CASES:
            prompt, kernel, draft = case
            result = generate(command, model, prompt, kernel, "--draft-model", draft, "--compare-plain")
            figures = result["speculation"]
            assert figures["same_text"], case
            copy = 0
            if draft.startswith("self:"):
                copy = generate(command, model, prompt, draft[5:])["timings"]["decode_tokens_per_second"]
            found.setdefault(case, []).append((figures["speed_up"], figures["plain_tokens_per_second"], copy, figures))
    print("| prompt | model | draft | speed-up (min-max) | without: tokens/s | accepted of examined | accepted a pass | "
          "the copy alone: tokens/s |")
    print("|---|---|---|---|---|---|---|---|")
    for (prompt, kernel, draft), runs in found.items():
        gains = [run[0] for run in runs]
        plain, copy = (statistics.median(run[i] for run in runs) for i in (1, 2))
        figures = runs[-1][3]
        print(f"| {prompt} | {kernel} | {draft} | {statistics.median(gains):.2f} ({min(gains):.2f}-{max(gains):.2f}) | "
              f"{plain:.0f} | {figures['acceptance']:.2f} | {figures['mean_accepted']:.2f} | "
              f"{f'{copy:.0f}' if copy else ''} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
