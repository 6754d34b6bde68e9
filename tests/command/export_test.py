# SPDX-License-Identifier: Apache-2.0
"""tulle export: what is written is read again, here and by the reader of the documentation."""

import array
import json
import re
import struct
import unittest
from pathlib import Path

from command import MODELS, Q8_0, CommandTest

INT8 = MODELS / "llama-tiny-int8"
TOKENS = [1, 181, 214, 149, 168, 22, 51, 220]
TEXTS = ["Hello world! 123", "  multiple   spaces", "x =    12\n", "caf\u00e9 \u00bd"]
FORMAT_README = Path(__file__).resolve().parent.parent.parent / "include" / "tulle" / "format" / "README.md"


def read_safetensors(path):
    """name -> (dtype, shape, bytes)."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, tensor in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in tensor["data_offsets"])
            tensors[name] = (tensor["dtype"], tensor["shape"], data[begin:end])
    return tensors


def int8_matrices(tensors):
    """layer -> rows of floats, of the I8 matrices with a scale per row."""
    matrices = {}
    for name, (dtype, shape, data) in tensors.items():
        if dtype == "I8" and name.endswith(".weight"):
            codes, scales = array.array("b", data), array.array("f", tensors[name + "_scale"][2])
            matrices[name.removesuffix(".weight")] = [
                [scales[row] * code for code in codes[row * shape[1] : (row + 1) * shape[1]]] for row in range(shape[0])
            ]
    return matrices


class ExportTest(CommandTest):
    def export(self, model, *flags, name="out"):
        """The directory with the model, and the report."""
        report = json.loads(self.succeed("export", model, "-o", self.folder / name, "--json", *flags))
        self.assertEqual(Path(report["directory"]), self.folder / name / "deployment")
        self.assertEqual(set(report["files"]), {path.name for path in (self.folder / name / "deployment").iterdir()})
        return self.folder / name / "deployment", report

    def test_compressed_tensors_and_bitmask_keep_every_bit(self):
        source = self.logits(INT8, TOKENS)
        sizes = {}
        for form in ["compressed-tensors", "bitmask"]:
            directory, report = self.export(INT8, "--format", form, name=form)
            self.assertEqual(report["notes"], [])
            self.assertIn("generation_config.json", report["files"])
            self.assertEqual(self.logits(directory, TOKENS), source)
            sizes[form] = sum(
                len(data)
                for name, (_, _, data) in read_safetensors(directory / "model.safetensors").items()
                if ".layers." in name and "norm" not in name
            )
        weights = sum(len(rows) * len(rows[0]) for rows in int8_matrices(read_safetensors(INT8 / "model.safetensors")).values())
        self.assertLess(sizes["bitmask"], 0.7 * weights)
        self.assertGreater(sizes["compressed-tensors"], weights)
        config = json.loads((self.folder / "bitmask" / "deployment" / "config.json").read_text())
        self.assertEqual(config["quantization_config"]["quant_method"], "tulle-bitmask")
        config = json.loads((self.folder / "compressed-tensors" / "deployment" / "config.json").read_text())
        self.assertEqual(config["quantization_config"]["format"], "int-quantized")
        self.assertIn("lm_head", config["quantization_config"]["ignore"])

    def test_the_documented_reader_gives_the_weights(self):
        directory, _ = self.export(INT8, "--format", "bitmask")
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("this machine has no numpy")
        (code,) = re.findall(r"```python\n(.*?)```", FORMAT_README.read_text(encoding="utf-8"), re.DOTALL)
        names = {}
        exec(code, names)
        found = names["read_bitmask"](directory / "model.safetensors")
        expected = int8_matrices(read_safetensors(INT8 / "model.safetensors"))
        self.assertEqual(set(found), set(expected))
        for layer, rows in expected.items():
            self.assertEqual(found[layer].tolist(), [list(array.array("f", row)) for row in rows])

    def test_a_gguf_file_becomes_a_directory_with_its_tokenizer(self):
        for form in ["compressed-tensors", "bitmask"]:
            directory, _ = self.export(Q8_0, "--format", form, name=form)
            files = {path.name for path in directory.iterdir()}
            self.assertLessEqual({"tokenizer.json", "tokenizer_config.json", "config.json"}, files)
            for text in TEXTS:
                self.assertEqual(
                    self.succeed("tokenize", "--model", directory, stdin=text),
                    self.succeed("tokenize", "--model", Q8_0, stdin=text),
                )
        self.assertEqual(self.logits(self.folder / "bitmask" / "deployment", TOKENS), self.logits(Q8_0, TOKENS))

    def test_gguf_files_keep_codes_and_tokens(self):
        directory, report = self.export(Q8_0, "--format", "gguf")
        self.assertEqual(report["files"], ["model.gguf"])
        self.assertEqual(self.logits(directory / "model.gguf", TOKENS), self.logits(Q8_0, TOKENS))
        again, _ = self.export(self.export(Q8_0, name="hf")[0], "--format", "gguf", "--type", "F16", name="again")
        for text in TEXTS:
            self.assertEqual(
                self.succeed("tokenize", "--model", again / "model.gguf", stdin=text),
                self.succeed("tokenize", "--model", Q8_0, stdin=text),
            )
        small, _ = self.export(Q8_0, "--format", "gguf", "--type", "Q4_0", name="small")
        self.assertLess((small / "model.gguf").stat().st_size, (directory / "model.gguf").stat().st_size)
        self.assertEqual(len(self.logits(small, TOKENS)[1]), len(self.logits(Q8_0, TOKENS)[1]))

    def test_what_differs_is_said(self):
        text = self.succeed("export", "-m", MODELS / "gguf" / "q4_1.gguf", "-o", self.folder / "q").decode()
        self.assertRegex(text, r"deployment: \d+ files, \d+ bytes\n")
        self.assertRegex(text, r"note: .* and \d+ more: codes of 4 bits became F16: this form has zero points, not minimums\n")

    def test_directories_and_flags(self):
        out = self.folder / "out"
        (out / "deployment").mkdir(parents=True)
        (out / "deployment" / "mine").write_text("x")
        self.refuse(1, "export", INT8, "-o", out, saying=["deployment", "not empty"])
        self.assertEqual([path.name for path in (out / "deployment").iterdir()], ["mine"])
        self.succeed("export", INT8, "-o", out, "--force")
        self.assertEqual(len(list((out / "deployment").iterdir())), 4)
        self.refuse(2, "export", INT8, saying="--output")
        self.refuse(2, "export", INT8, "-o", out, "--format", "onnx", saying="onnx")
        self.refuse(2, "export", INT8, "-o", out, "--type", "Q8_0", saying="--format gguf")
        self.refuse(1, "export", self.folder / "none", "-o", out, saying="none")
        other = self.folder / "other"
        self.refuse(1, "export", MODELS / "gemma-tiny", "-o", other, "--format", "gguf", saying=["gemma", "another format"])
        self.assertFalse((other / "deployment").exists())


if __name__ == "__main__":
    unittest.main()
