# SPDX-License-Identifier: Apache-2.0
"""Files for the program `tulle`, out of Python's objects: models, tokenizers, datasets and recipes."""
from __future__ import annotations

import difflib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOKENIZER_FILES = ("tokenizer", "vocab.", "merges.", "special_tokens_map", "added_tokens", "chat_template")
HUMANEVAL = "openai_humaneval"


def notes_of(function: str, known: Iterable[str], noted: Mapping[str, str], others: Mapping[str, Any]) -> list[str]:
    """A note for each argument that changes nothing here. Errors: TypeError for one that is not known."""
    for name in others:
        if name in noted:
            continue
        near = difflib.get_close_matches(name, [*known, *noted], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
    return [f"{name}: changes nothing, {noted[name]}" for name, value in others.items() if value is not None]


@contextmanager
def folder_for_inputs(output: Any) -> Iterator[Path]:
    """A folder beside `output`, removed at the end. Its name is always the same, so that interrupted work can be taken
    up again."""
    path = Path(output).absolute()
    folder = path.with_name(f".{path.name}.inputs")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def is_tokenizer_file(path: Path) -> bool:
    return path.name.startswith(TOKENIZER_FILES)


def model_file(model: Any, tokenizer: Any, folder: Path) -> str:
    """The path of a model with this tokenizer. `model`: a path, or an object with save_pretrained, which is saved to
    `folder`. `tokenizer`: None (the model's own), a path, or an object with save_pretrained.
    Errors: TypeError, ValueError."""
    if not is_path(model) and not hasattr(model, "save_pretrained"):
        raise TypeError(f"model must be a path or have save_pretrained, not {type(model).__name__}")
    if is_path(tokenizer) and is_path(model) and Path(tokenizer).resolve() == Path(model).resolve():
        tokenizer = None
    if is_path(model) and tokenizer is None:
        return os.fspath(model)
    if is_path(model) and not Path(model).is_dir():
        raise ValueError(f"{model} is no directory, so no other tokenizer can be given; leave tokenizer out")
    saved = folder / "model"
    saved.mkdir(parents=True, exist_ok=True)
    if is_path(model):
        for file in Path(model).resolve().iterdir():
            if file.is_file() and not is_tokenizer_file(file):
                (saved / file.name).unlink(missing_ok=True)
                (saved / file.name).symlink_to(file)
    else:
        model.save_pretrained(str(saved))
    if is_path(tokenizer):
        source = Path(tokenizer)
        files = [file for file in source.iterdir() if is_tokenizer_file(file)] if source.is_dir() else []
        if not files:
            raise ValueError(f"{tokenizer} is no directory with a tokenizer")
        for file in files:
            shutil.copy(file, saved / file.name)
    elif hasattr(tokenizer, "save_pretrained"):
        tokenizer.save_pretrained(str(saved))
    elif tokenizer is not None:
        raise TypeError(f"tokenizer must be a path or have save_pretrained, not {type(tokenizer).__name__}")
    return str(saved)


def dataset_file(dataset: Any, folder: Path, splits: tuple[str, ...]) -> str:
    """The path of a dataset. `dataset`: a path, a known name, an iterable of rows (mappings, or strings, which become
    the column "text"), or a mapping of splits to such, of which the first of `splits` that is there is taken. Rows are
    written to `folder`. Errors: TypeError, ValueError."""
    if is_path(dataset):
        return os.fspath(dataset)
    if isinstance(dataset, Mapping):
        names = [name for name in splits if name in dataset] or (list(dataset) if len(dataset) == 1 else [])
        if not names:
            raise ValueError(f"the dataset has the splits {', '.join(map(str, dataset))}; give one of them")
        return dataset_file(dataset[names[0]], folder, splits)
    if not isinstance(dataset, Iterable):
        raise TypeError(f"a dataset is a path or an iterable of mappings, not {type(dataset).__name__}")
    if isinstance(dataset, (list, tuple)) and dataset and all(map(names_dataset, dataset)):
        if len(dataset) > 1:
            raise ValueError(f"{len(dataset)} datasets were given; call once for each")
        return os.fspath(dataset[0])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "dataset.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in dataset:
            if not isinstance(row, (str, Mapping)):
                raise TypeError(f"a row of a dataset is a mapping or a string, not {type(row).__name__}")
            row = {"text": row} if isinstance(row, str) else dict(row)
            file.write(json.dumps(row, ensure_ascii=True, default=str) + "\n")
    return str(path)


def names_dataset(value: Any) -> bool:
    """Whether an entry of a list is the name or path of a dataset, and no text."""
    if not isinstance(value, str):
        return hasattr(value, "__fspath__")
    return value == HUMANEVAL or (len(value) < 4096 and "\n" not in value and "\0" not in value and
                                  os.path.isfile(value))


def recipe_file(recipe: Any, folder: Path) -> str:
    """The path of a recipe. `recipe`: a path, the text (with a line end, or in braces) or a mapping."""
    if isinstance(recipe, Mapping):
        recipe = json.dumps(recipe)  # JSON is YAML
    elif not is_path(recipe):
        raise TypeError(f"recipe must be a path, text or a dict, not {type(recipe).__name__}")
    if not isinstance(recipe, str) or not ("\n" in recipe or recipe.lstrip().startswith("{")):
        return os.fspath(recipe)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "recipe.yaml"
    path.write_text(recipe, encoding="utf-8")
    return str(path)


def joined_columns(columns: Any) -> str | None:
    return columns if columns is None or isinstance(columns, str) else "+".join(columns)
