# SPDX-License-Identifier: Apache-2.0
# Lesson 8: text in, text out, in Python.     usage: 08_generate.py MODEL PROMPT
import sys

from tulle import TextGeneration

generate = TextGeneration(sys.argv[1])
for piece in generate(sys.argv[2], streaming=True, max_new_tokens=64):
    print(piece.generations[0].text, end="", flush=True)
