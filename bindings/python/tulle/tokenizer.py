# SPDX-License-Identifier: Apache-2.0
"""The model's tokenizer, with the common calls of a Hugging Face tokenizer."""
from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np


class Tokenizer:
    """Immutable; may be shared between threads."""

    def __init__(self, core: Any, chat_template: str) -> None:
        self._core = core
        self.chat_template = chat_template or None
        self.bos_token_id: int | None = core.bos_token_id
        self.eos_token_id: int | None = core.eos_token_id

    def __len__(self) -> int:
        return self._core.vocabulary_size

    @property
    def vocab_size(self) -> int:
        return self._core.vocabulary_size

    def __call__(self, text: str | list[str], add_special_tokens: bool = True) -> dict[str, Any]:
        """Ids and a mask of ones; nothing is padded."""
        if isinstance(text, str):
            ids = self.encode(text, add_special_tokens)
            return {"input_ids": ids, "attention_mask": [1] * len(ids)}
        all_ids = [self.encode(each, add_special_tokens) for each in text]
        return {"input_ids": all_ids, "attention_mask": [[1] * len(ids) for ids in all_ids]}

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return self._core.encode(text, add_special_tokens)

    def decode(self, token_ids: int | Iterable[int], skip_special_tokens: bool = False,
               clean_up_tokenization_spaces: bool | None = None) -> str:
        """Text of ids; U+FFFD where their bytes are not UTF-8. Spaces are never cleaned up."""
        if isinstance(token_ids, (int, np.integer)):
            token_ids = [token_ids]
        ids = [operator.index(token) for token in token_ids]
        if any(not 0 <= token < 2**31 for token in ids):
            raise ValueError("ids of tokens are whole numbers from 0 on")
        return self._core.decode(ids, skip_special_tokens)

    def batch_decode(self, sequences: Iterable[Iterable[int]], **arguments: Any) -> list[str]:
        return [self.decode(each, **arguments) for each in sequences]

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> Any:
        return self._core.find(tokens) if isinstance(tokens, str) else [self._core.find(each) for each in tokens]

    def apply_chat_template(self, conversation: list[dict[str, str]], add_generation_prompt: bool = False,
                            tokenize: bool = True) -> Any:
        """The prompt of the model's own template, or its ids."""
        messages = [(message["role"], message["content"]) for message in conversation]
        prompt = self._core.chat_prompt(self.chat_template or "", messages, add_generation_prompt)
        return self.encode(prompt, add_special_tokens=False) if tokenize else prompt
