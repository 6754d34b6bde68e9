# SPDX-License-Identifier: Apache-2.0
"""Microseconds that a token takes on one thread, streamed; the least of several runs. bindings/overhead.py compares it.
    usage: token_cost.py MODEL TOKENS"""
import sys
import time

from tulle import TextGeneration


def main():
    tokens = int(sys.argv[2])
    generate = TextGeneration(sys.argv[1], num_cores=1)
    least = float("inf")
    for _ in range(5):
        stream = generate("Once upon a time", streaming=True, max_new_tokens=tokens, force_max_tokens=True)
        next(stream)
        first = time.perf_counter()
        for _ in stream:
            pass
        least = min(least, (time.perf_counter() - first) * 1e6 / (tokens - 1))
    print(f"{least:.3f}")


main()
