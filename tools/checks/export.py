# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from _commands import ROOT, build, model, output, reference_script
from _wiki_text import wiki_texts

MINUTES = 30
ABOUT = "the default model, compressed and exported, in transformers: logits, greedy texts; the flow of the one-shot guide"
WORK = ROOT / "build" / "export"
TULLE = ROOT / "build" / "release" / "bin" / "tulle"
NEW_TOKENS = 24
PROMPTS = ["The capital of France is", "Once upon a time, in a small village by the sea,",
           "def fibonacci(n): # returns the n-th Fibonacci number",
           "Water boils at 100 degrees Celsius because", "The three primary colours are"]
# SparseML's guide to one-shot compression, as it was published.
GUIDE = r"""
compression_stage:
    run_type: oneshot
    oneshot_modifiers:
        QuantizationModifier:
            ignore:
                - LlamaRotaryEmbedding
                - LlamaRMSNorm
                - SiLUActivation
            post_oneshot_calibration: true
            scheme_overrides:
                Linear:
                    weights:
                        num_bits: 8
                        symmetric: true
                        strategy: channel
                Embedding:
                    input_activations: null
                    weights:
                        num_bits: 8
                        symmetric: false
        SparseGPTModifier:
            sparsity: 0.5
            quantize: True
            targets: ['re:model.layers.\d*$']
"""
ASYMMETRIC = """
compression_stage:
    quantization_modifiers:
        DescentModifier: {scheme: {weights: {num_bits: 4, group_size: 32, symmetric: false}}, ignore: [lm_head]}
"""
# cell: how the model is compressed
CELLS = {
    "int8": ["--bits", "8"],
    "int4": ["--bits", "4"],
    "half_int8": ["--sparsity", "0.5", "--bits", "8"],
    "guide": ["--recipe", WORK / "guide.yaml"],
    "int4_zero_points": ["--recipe", WORK / "asymmetric.yaml"],
}
# Activations stay floats, here and in transformers: with 8 bits and a scale per token the logits of two correct programs
# differ as much as those of either from floats (their cosine falls to 0.9).
FLOATS = ["--kernel", "dense_f32", "--cache-dtype", "f32"]


def rows(text):
    """Rows of instruction and output, as the guide's dataset has them."""
    paragraphs = [line for line in Path(text).read_text().split("\n") if len(line) > 200]
    path = WORK / f"{Path(text).stem}.jsonl"
    path.write_text("".join(json.dumps({"instruction": line[:100], "output": line[100:]}) + "\n" for line in paragraphs[:64]))
    return path


def tulle_texts(directory):
    """For each prompt its tokens, how many they are, those that Tulle appends, and a file of the prompt's logits."""
    texts = []
    for number, prompt in enumerate(PROMPTS):
        text = json.loads(output(TULLE, "generate", "-m", directory, *FLOATS, "--prompt", prompt, "--json",
                                 "--max-new-tokens", NEW_TOKENS, "--force-max-tokens"))
        ids = json.loads(subprocess.run([TULLE, "tokenize", "--add-special-tokens", "-m", directory], input=prompt, text=True,
                                        check=True, stdout=subprocess.PIPE).stdout)
        file = WORK / f"logits_{number}.npy"
        output(TULLE, "logits", "-m", directory, *FLOATS, "--tokens", ",".join(map(str, ids)), "-o", file)
        texts.append({"tokens": ids + text["tokens"], "prompt_tokens": len(ids), "logits": str(file)})
    return texts


def measure(cell):
    build("release", "tulle_command", "tulle_compress_command")
    folder = WORK / cell
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (WORK / "guide.yaml").write_text(GUIDE)
    (WORK / "asymmetric.yaml").write_text(ASYMMETRIC)
    calibration, evaluation = (rows(text) for text in wiki_texts())
    columns = ["--text-column", "instruction+output"]
    report = json.loads(output(TULLE, "compress", model(), "--dataset", calibration, *columns, "-o", folder / "compressed",
                               "--num-samples", 40, "--max-seq-length", 256, "--quiet", "--json", *CELLS[cell]))
    found = json.loads(output(TULLE, "evaluate", report["directory"], "--dataset", evaluation, *columns, "--limit", 16,
                              "--json"))
    exported = json.loads(output(TULLE, "export", report["directory"], "-o", folder, "--json"))["directory"]
    texts = tulle_texts(exported)
    answer = subprocess.run([*reference_script("_transformers_texts.py", "torch", "transformers", "compressed-tensors", "accelerate"), exported,
                             *["--dequantize"] * (cell == "int4_zero_points")],  # see compressed_tensors_form.hpp
                            input=json.dumps(texts), text=True, check=True, stdout=subprocess.PIPE,
                            env={**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"})
    reference = json.loads(answer.stdout)
    least = min(other["least_cosine"] for other in reference)
    equal = sum(text["tokens"][text["prompt_tokens"]:] == other["greedy"] for text, other in zip(texts, reference))
    largest_gap = max(max(other["gaps"]) for other in reference)
    shutil.rmtree(folder)
    return {"passed": least >= 0.9999 and largest_gap <= 0.01, "least_cosine": round(least, 6),
            "equal_texts": f"{equal} of {len(PROMPTS)}", "largest_gap": round(largest_gap, 4),
            "perplexity": round(found["perplexity"], 3)}


def cells():
    return {cell: lambda cell=cell: measure(cell) for cell in CELLS}
