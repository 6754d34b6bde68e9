# SPDX-License-Identifier: Apache-2.0
"""One turn of OpenVINO GenAI.      usage: openvino_turn.py FILE.gguf THREADS PROMPT,TEXT...

Prints for each pair of lengths the seconds to the first token and of each later one, as JSON.
"""

import json
import sys

import numpy
import openvino
import openvino_genai


def main():
    model, threads, *pairs = sys.argv[1:]
    pipeline = openvino_genai.LLMPipeline(model, "CPU", INFERENCE_NUM_THREADS=int(threads))
    draw = numpy.random.default_rng(1)
    seconds = []
    for prompt, text in (map(int, pair.split(",")) for pair in pairs):
        ids = openvino.Tensor(draw.integers(1000, 30000, (1, prompt)))
        metrics = pipeline.generate(ids, max_new_tokens=text, do_sample=False, ignore_eos=True).perf_metrics
        later = metrics.get_tpot().mean / 1e3 if text > 1 else None
        seconds.append([metrics.get_ttft().mean / 1e3, later])
    print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
