# SPDX-License-Identifier: Apache-2.0
"""Pipelines with DeepSparse's interface. Arguments go to the C++ library as JSON, which checks their names and values
(COMPATIBILITY.md). What JSON cannot hold (streamers, callbacks, config objects) is handled here."""
from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from .output import GeneratedText, TextGenerationOutput
from .tokenizer import Tokenizer


def plain(value: Any) -> Any:
    """JSON values of paths, numpy's numbers and objects such as transformers' GenerationConfig."""
    if hasattr(value, "to_diff_dict"):
        return value.to_diff_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no argument of a pipeline")


def rows_of(prompts: Any) -> Any:
    """Prompts, of which an array [prompts, tokens] becomes a list of arrays. Errors: ValueError for other arrays of ids."""
    if not isinstance(prompts, np.ndarray) or prompts.ndim == 1:
        return prompts
    if prompts.ndim != 2:
        raise ValueError(f"an array of ids is [tokens] or [prompts, tokens], not of shape {prompts.shape}")
    return list(prompts)


def ids_of(prompts: Any) -> list[list[int]]:
    """The prompts as ids, where they were given as ids; otherwise nothing. Errors: ValueError for what is no id."""
    if is_ids(prompts):
        return [whole_ids(prompts)]
    if isinstance(prompts, list) and all(map(is_ids, prompts)):
        return [whole_ids(each) for each in prompts]
    return []


def whole_ids(prompt: Any) -> list[int]:
    ids = np.asarray(prompt)
    if ids.ndim != 1 or ids.dtype.kind not in "iu" or (ids.size and not 0 <= ids.min() <= ids.max() < 2**31):
        raise ValueError(f"ids of tokens are whole numbers from 0 on, one dimension of them, not {prompt!r:.60}")
    return ids.tolist()


def scales_of(adapters: Any) -> list[tuple[str, float]]:
    """Paths and scales of adapters."""
    if adapters is None:
        return []
    if isinstance(adapters, dict):
        return [(os.fspath(path), float(scale)) for path, scale in adapters.items()]
    return [(os.fspath(path), 1.0) for path in (adapters if isinstance(adapters, (list, tuple)) else [adapters])]


def rules_of(json_schema: Any, json_object: bool, grammar: str | None, regex: str | None) -> tuple[str, str]:
    """The kind and text of what a text must be; empty where it may be anything."""
    schema = json_schema if json_schema is None or isinstance(json_schema, str) else json.dumps(json_schema)
    kinds = {"json_schema": schema, "json_object": "" if json_object else None, "grammar": grammar, "regex": regex}
    given = [(kind, text) for kind, text in kinds.items() if text is not None]
    if len(given) > 1:
        raise ValueError("give one of json_schema, json_object, grammar and regex")
    return given[0] if given else ("", "")


def is_ids(prompt: Any) -> bool:
    return isinstance(prompt, np.ndarray) or (isinstance(prompt, list) and bool(prompt) and
                                              all(isinstance(each, (int, np.integer)) for each in prompt))


def as_json(arguments: dict[str, Any]) -> str:
    """Errors: ValueError for NaN, infinities and text that has no UTF-8."""
    for name, value in arguments.items():
        if isinstance(value, (float, np.floating)) and not np.isfinite(value):
            raise ValueError(f"{name} is {value}; a number that is finite is needed")
    text = json.dumps(arguments, default=plain, allow_nan=False, ensure_ascii=False)
    text.encode()
    return text


class TextGeneration:
    """A model, its tokenizer and an engine: TextGeneration("MODEL")("a prompt").generations[0].text

    `adapters`: a LoRA adapter that PEFT saved (a directory), a list of them, or a dict from each to its scale; they are
    merged into the weights.

    `draft_model`: what guesses up to `spec_length` tokens, which one pass of the model checks, without another text:
    "ngram", "self:KERNEL" ("self:i4"), the path of a smaller model with the same tokens, or A+B for A that guesses for B.

    Threads: calls from several threads wait for each other; the GIL is free meanwhile, and Ctrl-C ends a call. A stream
    holds the others up for a piece at a time, whichever thread reads it, so calls may be made while it is half read.
    """

    def __init__(self, model: Any = None, *, model_path: Any = None, adapters: Any = None,
                 draft_model: Any = None, spec_length: int = 7, **arguments: Any) -> None:
        path = model if model_path is None else model_path
        if path is not None:
            if "\0" in str(path):
                raise ValueError("the path of a model holds a byte 0")
            arguments["model_path"] = path
        self._core = _core.Pipeline(as_json(arguments), scales_of(adapters),
                                    "" if draft_model is None else os.fspath(draft_model), spec_length)
        self._turn = threading.RLock()  # whoever holds it may change the engine; a callback may call again
        self.tokenizer = Tokenizer(self._core.tokenizer, self._core.chat_template)
        self.sequence_length: int = self._core.sequence_length

    def __call__(self, sequences: Any = None, *, prompt: Any = None, streamer: Any = None, callback: Any = None,
                 progress: Any = None, streaming: bool = False, return_input_tokens: bool = False,
                 generation_config: Any = None, json_schema: Any = None, json_object: bool = False,
                 grammar: str | None = None, regex: str | None = None, log_probabilities: bool = False,
                 **arguments: Any) -> Any:
        """Generates. `sequences` (or `prompt`): a text or a list of texts; a list or array of ids, or several,
        bypasses the tokenizer. `streamer`: an object with put(ids) and end(), such as transformers' TextStreamer.
        `callback(id)`: False ends a text. `progress(fraction)`: how much of the prompts has been read, after each pass
        over them. `streaming`: a generator of outputs that hold one piece each.
        `json_schema` (a dict, or JSON as text), `json_object`, `grammar` (EBNF) or `regex`: what every text must be; it
        ends where it is complete. `log_probabilities`: those of the tokens under the raw logits, in the generations' field
        of that name. All other names: COMPATIBILITY.md."""
        if (sequences is None) == (prompt is None):
            raise ValueError("give the prompts as sequences or as prompt, one of the two")
        if streaming and (streamer is not None or return_input_tokens):
            raise ValueError("streamer and return_input_tokens are for a call without streaming=True")
        prompts = rows_of(sequences if prompt is None else prompt)
        ids = ids_of(prompts)
        if ids and not {"session_id", "session_ids"}.isdisjoint(arguments):
            raise ValueError("the prompts of sessions are texts: give texts, not ids")
        if not ids:
            arguments["sequences"] = prompts
        if generation_config is not None:
            arguments["generation_config"] = read_config(generation_config)
        run = self._core.start(as_json(arguments), ids, callback, progress,
                               *rules_of(json_schema, json_object, grammar, regex), log_probabilities)
        if streaming:
            return self._stream(run, prompts, (callback, progress))
        with self._turn:
            try:
                if streamer is None:
                    run.finish()
                else:
                    of_prompts = ids or [self.tokenizer.encode(each) for each in as_list(prompts)]
                    self._feed(run, streamer, [each for each in of_prompts for _ in range(run.copies)])
            finally:
                run.stop()  # now: an exception may keep it alive
        results = [GeneratedText(facts["text"], facts["logits"], True, facts["finish_reason"], facts["tokens"],
                                 facts["log_probabilities"], number) for number, facts in enumerate(run.take_results())]
        inputs = self.tokenizer(as_list(prompts)) if return_input_tokens and not ids else None
        return TextGenerationOutput(prompts, grouped(results, 1 if ids and is_ids(prompts) else len(as_list(prompts))),
                                    logits=any(text.score is not None for text in results), input_tokens=inputs,
                                    session_ids=arguments.get("session_ids", arguments.get("session_id")),
                                    timings=run.timings())

    def end_session(self, session_id: str) -> None:
        """Forgets a session; its next call begins anew. Unknown ones are none."""
        with self._turn:
            self._core.end_session(session_id)

    def _stream(self, run: Any, prompts: Any, borrowed: Any) -> Iterator[TextGenerationOutput]:
        """`borrowed`: what the run calls; the generator keeps it alive."""
        try:
            while True:
                with self._turn:
                    piece = run.next()
                if piece is None:
                    return
                reason = None if piece.finish_reason == "none" else piece.finish_reason
                tokens = [piece.token] if piece.token >= 0 else []
                probabilities = [piece.log_probability] if tokens and run.log_probabilities else []
                text = GeneratedText(piece.text, None, reason is not None, reason, tokens, probabilities,
                                     piece.generation)
                yield TextGenerationOutput(prompts, [text])
        finally:
            self._stop(run)

    def _stop(self, run: Any) -> None:
        """Ends it in its turn, also where the wait for that is interrupted."""
        interrupt = None
        while True:
            try:
                with self._turn:
                    run.stop()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _feed(self, run: Any, streamer: Any, ids: list[list[int]]) -> None:
        """`ids`: the prompt of every text. Texts one after the other, because a streamer handles one at a time: each
        prompt with its first new token, then token by token, then the end. Tokens of later texts are kept meanwhile."""
        waiting: dict[int, list[int]] = {number: list(prompt) for number, prompt in enumerate(ids)}
        begun: set[int] = set()
        ended: set[int] = set()
        shown = 0
        while (piece := run.next()) is not None:
            number = piece.generation
            if piece.token >= 0:
                waiting.setdefault(number, []).append(piece.token)
                begun.add(number)
            if piece.finish_reason != "none":
                ended.add(number)
            while True:
                if shown in begun and waiting.get(shown):
                    streamer.put(np.array(waiting.pop(shown)))
                if shown not in ended:
                    break
                streamer.end()
                shown += 1


class Pipeline:
    """DeepSparse's entry: Pipeline.create(task="text-generation", model_path=...)."""

    @staticmethod
    def create(task: str, **arguments: Any) -> TextGeneration:
        return TextGeneration(task=task, **arguments)


def as_list(prompts: Any) -> list[Any]:
    return list(prompts) if isinstance(prompts, (list, tuple)) else [prompts]


def grouped(results: list[GeneratedText], prompts: int) -> list[Any]:
    """One text for every prompt; a list of texts for each where several were asked for."""
    each = len(results) // max(prompts, 1)
    return results if each <= 1 else [results[i:i + each] for i in range(0, len(results), each)]


def read_config(config: Any) -> Any:
    """The path of a generation config (its file or folder) is read; all other values are unchanged."""
    if not isinstance(config, (str, Path)):
        return config
    path = Path(config)
    return json.loads((path / "generation_config.json" if path.is_dir() else path).read_text(encoding="utf-8"))
