#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make sampling.json: what transformers' own logits processors make of a few rows of logits.

The file holds named rows of logits, token histories, and cases. A case names a row and a history, gives options by
the names of tulle::SamplingOptions, and holds

  scores  the row after transformers' processors for these options, in the order of its generate()
  token   their argmax (only where do_sample is false)

The processors are not listed here: a model's own _get_logits_processor picks and orders them, as generate() does.
transformers leaves the order of equal scores to torch.sort, which promises none; here it is told to be stable, so
that of equal scores the lower id is the smaller one.
A number that JSON cannot say (-inf) is null. Numbers are float32, printed with nine digits.

usage: make_sampling.py [--out FILE]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0, numpy 2.4.6, on the CPU.
"""
import argparse
import functools
import json
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers

EOS = [2, 7]
torch.sort = functools.partial(torch.sort, stable=True)


def rows():
    """Rows that differ in size and shape; each is float32."""
    generator = np.random.Generator(np.random.PCG64(20240607))
    normal = lambda size, spread: (generator.standard_normal(size) * spread).astype(np.float32)
    result = {
        "wide": normal(300, 3.0),
        "flat": normal(120, 0.3),
        "peaked": normal(80, 1.0),
        "coarse": np.round(normal(150, 2.0) * 2) / 2,  # many ties
        "equal": np.zeros(10, np.float32),
        "banned": normal(90, 2.0),
        "low": normal(60, 2.0) - 40,
    }
    result["peaked"][17] += 9
    result["banned"][::3] = -np.inf
    return {name: row.astype(np.float32) for name, row in result.items()}


def histories(generator):
    repeats = [3, 5, 3, 5, 8, 3, 5]
    return {
        "short": {"tokens": [4, 1, 9, 4], "prompt_length": 2},
        "repeats": {"tokens": repeats, "prompt_length": 3},
        "long": {"tokens": generator.integers(0, 10, 64).tolist(), "prompt_length": 40},
        "prompt": {"tokens": [6], "prompt_length": 1},
    }


def settings():
    """Options of the cases, each run on several rows. transformers has no presence and no frequency penalty."""
    single = []
    single += [{"temperature": value} for value in (0.1, 0.7, 1.7)]
    single += [{"top_k": value} for value in (1, 5, 40, 1000)]
    single += [{"top_p": value} for value in (0.0, 0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.999)]
    single += [{"min_p": value} for value in (0.01, 0.1, 0.5, 1.0)]
    single += [{"typical_p": value} for value in (0.05, 0.2, 0.5, 0.9, 0.99)]
    single += [{"repetition_penalty": value} for value in (0.8, 1.1, 2.0)]
    single += [{"no_repeat_ngram": value} for value in (1, 2, 3)]
    single += [{"min_new_tokens": value} for value in (2, 30)]
    joined = [
        {"temperature": 0.7, "top_k": 20, "top_p": 0.9},
        {"temperature": 1.4, "top_p": 0.7, "min_p": 0.02},
        {"temperature": 0.9, "top_k": 30, "typical_p": 0.8, "repetition_penalty": 1.2},
        {"repetition_penalty": 1.3, "no_repeat_ngram": 2, "min_new_tokens": 30, "temperature": 0.8, "top_k": 12,
         "top_p": 0.85, "min_p": 0.05, "typical_p": 0.95},
    ]
    greedy = [{}, {"temperature": 0.3, "top_k": 3, "top_p": 0.1}, {"repetition_penalty": 1.5, "no_repeat_ngram": 2},
              {"min_new_tokens": 30}]
    return [{"do_sample": True, **s} for s in single + joined] + [{"do_sample": False, **s} for s in greedy]


def processors(model, options, history):
    """The list that generate() would use."""
    names = {"no_repeat_ngram": "no_repeat_ngram_size"}
    given = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "eos_token_id": EOS, "pad_token_id": 0}
    given.update({names.get(name, name): value for name, value in options.items()})
    config = transformers.GenerationConfig(**given)
    model._prepare_special_tokens(config, device="cpu")
    return model._get_logits_processor(config, input_ids_seq_length=history["prompt_length"],
                                       logits_processor=transformers.LogitsProcessorList())


def numbers(row):
    """Float32 values as JSON: nine digits tell every float32 apart, null stands for -inf."""
    return [None if value == -np.inf else float(f"{value:.9g}") for value in row]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "sampling.json")
    out = parser.parse_args().out

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=16, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1))
    all_rows = rows()
    all_histories = histories(np.random.Generator(np.random.PCG64(7)))
    cases = []
    for index, options in enumerate(settings()):
        others = [name for name in all_rows if name not in ("equal", "coarse")]
        chosen = ["equal", "coarse", others[index % len(others)], others[(index + 2) % len(others)]]
        for shift, row in enumerate(chosen):  # every setting sees the rows with ties and two others
            history_name = list(all_histories)[(index + shift) % len(all_histories)]
            history = all_histories[history_name]
            ids = torch.tensor([history["tokens"]])
            scores = processors(model, options, history)(ids, torch.tensor(all_rows[row]).unsqueeze(0))[0]
            case = {"row": row, "history": history_name, "options": options, "scores": numbers(scores.numpy())}
            if bool((scores == -torch.inf).all()):
                continue  # transformers has no answer here
            if not options["do_sample"]:
                case["token"] = int(scores.argmax())
            cases.append(case)

    text = json.dumps({"eos": EOS, "rows": {name: numbers(row) for name, row in all_rows.items()},
                       "histories": all_histories, "cases": cases}, separators=(",", ":"))
    out.write_text(text.replace('{"row":', '\n{"row":') + "\n")
    print(f"{out}: {len(cases)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main()
