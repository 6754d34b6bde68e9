# SPDX-License-Identifier: Apache-2.0
"""One turn of CTranslate2.      usage: ctranslate2_turn.py FOLDER THREADS PROMPT,TEXT...

Prints for each pair of lengths the seconds to the first token and of each later one, as JSON.
"""

import json
import random
import sys
import time

import ctranslate2


def main():
    model, threads, *pairs = sys.argv[1:]
    generator = ctranslate2.Generator(model, compute_type="int8", inter_threads=1, intra_threads=int(threads))
    draw = random.Random(1)
    seconds = []
    for prompt, text in (map(int, pair.split(",")) for pair in pairs):
        moments = []
        words = [f"<{draw.randrange(50000)}>" for _ in range(prompt)]
        began = time.perf_counter()
        generator.generate_batch([words], max_length=text, end_token=[], include_prompt_in_result=False,
                                 callback=lambda _: moments.append(time.perf_counter()))  # fmt: skip
        assert len(moments) == text, f"{len(moments)} tokens of {text}"
        seconds.append([moments[0] - began, (moments[-1] - moments[0]) / (text - 1) if text > 1 else None])
    print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
