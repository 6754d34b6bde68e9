# SPDX-License-Identifier: Apache-2.0
"""Runs the `tulle` command (environment variable TULLE_COMMAND) and reads what it and the golden files hold."""

import array
import ast
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["TULLE_COMMAND"]
GOLDEN = Path(__file__).resolve().parent.parent / "golden"
MODELS = GOLDEN / "models"
Q8_0 = MODELS / "gguf" / "q8_0.gguf"  # tiny, and with a tokenizer
CONTEXT = 256  # of the tiny models


def environment(**changes):
    """Without models and settings of the machine the tests run on."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("TULLE_", "XDG_"))}
    return {**kept, "HOME": "/nonexistent", **changes}


def run(*arguments, stdin=b"", env=None, timeout=600):
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run(
        [COMMAND, *arguments], input=stdin, capture_output=True, env=env or environment(), timeout=timeout
    )


def start(*arguments):
    return subprocess.Popen(
        [COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )


def read_npy(path):
    """(shape, array of floats) of a NumPy 1.0 file of little-endian float32."""
    data = Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    end = 10 + int.from_bytes(data[8:10], "little")
    assert end % 64 == 0 and data[end - 1 : end] == b"\n"
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<f4" and header["fortran_order"] is False, header
    values = array.array("f", data[end:])
    assert len(values) == header["shape"][0] * header["shape"][1]
    return header["shape"], values


def rows_of(shape, values):
    return [values[row * shape[1] : (row + 1) * shape[1]] for row in range(shape[0])]


def argmax(values):
    return max(range(len(values)), key=values.__getitem__)


def byte_alphabet():
    """GPT-2's printable stand-ins for the 256 bytes (bytes_to_unicode)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(spare)) for byte in range(256)]


CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def chat_model(folder, template=CHATML):
    """A tiny Llama with a tokenizer of single bytes (id = byte + 3) and a chat template."""
    shutil.copytree(MODELS / "llama-tiny-gqa", folder, dirs_exist_ok=True)
    vocabulary = {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}
    added = [
        {
            "id": number,
            "content": token,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for token, number in vocabulary.items()
    ]
    vocabulary.update({mark: 3 + byte for byte, mark in enumerate(byte_alphabet())})
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": added,
                "normalizer": None,
                "pre_tokenizer": {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": True,
                },
                "post_processor": None,
                "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                "model": {
                    "type": "BPE",
                    "dropout": None,
                    "unk_token": None,
                    "continuing_subword_prefix": None,
                    "end_of_word_suffix": None,
                    "fuse_unk": False,
                    "byte_fallback": False,
                    "vocab": vocabulary,
                    "merges": [],
                },
            }
        )
    )
    settings = {"eos_token": "<|endoftext|>"}
    if template is not None:
        settings["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


class CommandTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def succeed(self, *arguments, **options):
        """The command's stdout; it must not say anything on stderr."""
        done = run(*map(str, arguments), **options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def generate(self, *arguments, **options):
        return json.loads(self.succeed("generate", *arguments, "--json", **options))

    def logits(self, model, tokens, *flags, **options):
        path = self.folder / "logits.npy"
        arguments = ["logits", "--model", model, "--tokens", ",".join(map(str, tokens)), "-o", path, *flags]
        self.assertEqual(self.succeed(*arguments, **options), b"")
        return read_npy(path)

    def refuse(self, status, *arguments, saying=(), **options):
        """The command must end with `status` and one line on stderr that holds every word of `saying`."""
        arguments = [argument if isinstance(argument, bytes) else str(argument) for argument in arguments]
        done = run(*arguments, **options)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, status, (arguments, message))
        self.assertRegex(message, r"\Atulle: [^\n]+\n\Z", arguments)
        for word in [saying] if isinstance(saying, str) else saying:
            self.assertIn(word, message)
        return message
