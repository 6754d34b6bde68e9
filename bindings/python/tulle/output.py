# SPDX-License-Identifier: Apache-2.0
"""The results of a call of a pipeline."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np


@dataclass
class GeneratedText:
    """One generation, or one piece of it when streaming."""

    text: str
    score: np.ndarray | None = field(default=None, compare=False)  # [tokens, vocabulary]: raw logits, if requested
    finished: bool = True
    finished_reason: str | None = None  # "stop", "length", "capacity", "callback"
    tokens: list[int] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    index: int = 0  # number of the generation, over all prompts


class TextGenerationOutput:
    """Of DeepSparse 1.6 nightly: sequences, logits, session_id. Of 1.8: created, prompts, generations, input_tokens,
    session_ids. Ours: timings."""

    __slots__ = ("created", "prompts", "generations", "input_tokens", "session_ids", "timings", "__dict__")

    def __init__(self, prompts: Any, generations: list[Any], *, logits: bool = False, input_tokens: Any = None,
                 session_ids: Any = None, timings: dict[str, float] | None = None) -> None:
        flat = [text for each in generations for text in (each if isinstance(each, list) else [each])]
        self.created = datetime.now()
        self.prompts = prompts
        self.generations = generations
        self.input_tokens = input_tokens
        self.session_ids = session_ids
        self.timings = timings or {}
        self.sequences = [text.text for text in flat]
        self.logits = stacked([text.score for text in flat]) if logits else None
        self.session_id = None

    def __repr__(self) -> str:
        return f"TextGenerationOutput(prompts={self.prompts!r}, generations={self.generations!r})"


def stacked(scores: list[Any]) -> Any:
    """[generations, tokens, vocabulary]; a list of matrices where their lengths differ, as nothing is padded."""
    if len(scores) == 1 and scores[0] is not None:
        return scores[0][np.newaxis]
    if any(score is None or score.shape != scores[0].shape for score in scores):
        return scores
    return np.stack(scores)
