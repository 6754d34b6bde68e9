# SPDX-License-Identifier: Apache-2.0
import json
import shutil

from _commands import ROOT, build, model, output
from _wiki_text import wiki_texts

MINUTES = 420
ABOUT = "perplexity over dense of the default model after every kind of compression, and the time that takes"
WORK = ROOT / "build" / "compression"
WINDOW = 512
EVERY = 4  # of the 128 windows of the evaluation text: 32


def classic(modifier, sparsity, structure="0:0", **others):
    arguments = {"sparsity": sparsity, "mask_structure": structure, "targets": ["re:model.layers.\\d*$"],
                 "sequential_update": False, **others}
    return {"compression_stage": {"pruning_modifiers": {modifier: arguments}}}


def quantized(modifier):
    weights = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32, "observer": "mse"}
    return {"compression_stage": {"quant_modifiers": {modifier: {
        "ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}}}}


# cell: (calibration sequences, flags or a recipe, least and largest ratio of perplexities)
# Known methods lie within 5 % of what a PyTorch reference measured with the same text; ours below a target.
CELLS = {
    "sparsegpt_50": (128, classic("SparseGPTModifier", 0.5), 1.87 * 0.95, 1.87 * 1.05),
    "sparsegpt_8_16": (32, classic("SparseGPTModifier", 0.5, "8:16"), 2.30 * 0.95, 2.30 * 1.05),
    "sparsegpt_2_4": (32, classic("SparseGPTModifier", 0.5, "2:4"), 3.62 * 0.95, 3.62 * 1.05),
    "sparsegpt_60": (32, classic("SparseGPTModifier", 0.6), 3.66 * 0.95, 3.66 * 1.05),
    "nearest_int4": (32, quantized("QuantizationModifier"), 1.262 * 0.95, 1.262 * 1.05),
    "gptq_int4": (32, quantized("GPTQModifier"), 1.250 * 0.95, 1.250 * 1.05),
    "default_50": (128, ["--sparsity", "0.5"], 1, 1.42),
    "default_8_16": (128, ["--structure", "8:16"], 1, 1.58),
    "default_2_4": (128, ["--structure", "2:4"], 1, 2.0),
    "default_60": (128, ["--sparsity", "0.6"], 1, 2.2),
    "default_int8": (128, ["--bits", "8"], 0.99, 1.004),
    "default_int4": (128, ["--bits", "4"], 1, 1.065),
    "default_8_16_gap4_int4": (128, ["--structure", "8:16-gap4", "--bits", "4"], 1, 1.75),
    "refined_50": (128, ["--sparsity", "0.5", "--refine"], 1, 1.37),
    "refined_8_16": (128, ["--structure", "8:16", "--refine"], 1, 1.53),
    "refined_2_4": (128, ["--structure", "2:4", "--refine"], 1, 1.93),
    "refined_60": (128, ["--sparsity", "0.6", "--refine"], 1, 2.12),
    "refined_int4": (128, ["--bits", "4", "--refine"], 1, 1.045),
    "refined_8_16_gap4_int4": (128, ["--structure", "8:16-gap4", "--bits", "4", "--refine"], 1, 1.62),
}


def measure(cell):
    samples, what, least, most = CELLS[cell]
    build("release", "tulle_command", "tulle_compress_command")
    tulle = ROOT / "build" / "release" / "bin" / "tulle"
    calibration, evaluation = wiki_texts()
    folder = WORK / cell
    for old in (folder, folder.with_name(cell + ".unfinished")):  # the seconds are to be those of the whole
        shutil.rmtree(old, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    flags = what
    if isinstance(what, dict):
        recipe = WORK / f"{cell}.yaml"
        recipe.write_text(json.dumps(what))
        flags = ["--recipe", recipe]
    report = json.loads(output(tulle, "compress", model(), "--dataset", calibration, "-o", folder, "--num-samples", samples,
                               "--max-seq-length", WINDOW, "--held-out", 0, "--quiet", "--json", *flags))
    # The weights alone: activations in 32 bits.
    found = json.loads(output(tulle, "evaluate", report["directory"], "--dataset", evaluation, "--window", WINDOW, "--every",
                              EVERY, "--kernel", "dense_f32", "--reference", model(), "--json"))
    ratio, error = (found["reference"]["perplexity_ratio" + part] for part in ("", "_standard_error"))
    shutil.rmtree(folder)
    return {"passed": least <= ratio <= most, "samples": samples, "ratio": round(ratio, 4),
            "standard_error": round(error, 4), "wanted": f"{least:.3f} to {most:.3f}",
            "compression_seconds": round(report["seconds"]), "megabytes": round(report["peak_memory_bytes"] / 1e6)}


def cells():
    return {cell: lambda cell=cell: measure(cell) for cell in CELLS}
