# SPDX-License-Identifier: Apache-2.0
"""Text generation with sparse, quantized language models.

    from tulle import TextGeneration
    generate = TextGeneration("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(generate("The capital of France is", max_new_tokens=16).generations[0].text)

Programs written for DeepSparse run after a change of the import: both generations of its argument names work.
compress, evaluate and export make a small model out of a dense one, with the names of SparseML.
"""
from .compression import compress, evaluate, export
from .output import GeneratedText, TextGenerationOutput
from .pipeline import Pipeline, TextGeneration
from .programs import Error
from .tokenizer import Tokenizer

__all__ = ["Error", "GeneratedText", "Pipeline", "TextGeneration", "TextGenerationOutput", "Tokenizer", "compress",
           "evaluate", "export"]
__version__ = "0.1.0"
