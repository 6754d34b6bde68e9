# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with prompts and files: one line on stderr that says what, where and what to do; status 1."""

import json
import random
import shutil
import struct
import unittest

from command import CONTEXT, MODELS, Q8_0, CommandTest, chat_model, run


class PromptTest(CommandTest):
    def test_empty_prompts(self):
        empty = self.folder / "empty"
        empty.write_bytes(b"")
        for flags, stdin in [(["--prompt", ""], ""), (["--prompt="], ""), (["--prompt-file", empty], ""), ([], "")]:
            self.refuse(1, "generate", "--model", Q8_0, *flags, stdin=stdin, saying=["prompt is empty", "--prompt"])

    def test_prompts_that_are_not_utf8(self):
        path = self.folder / "latin1"
        path.write_bytes("caf\u00e9 au lait".encode("latin-1"))
        for text, offset in [
            (b"ab\xff", 2),
            (b"\xc3", 0),
            (b"abc\xe2\x82", 3),
            (b"\xed\xa0\x80", 0),
            (b"a\xc0\x80", 1),
        ]:
            for arguments in [["--prompt", text], []]:
                self.refuse(
                    1, "generate", "--model", Q8_0, *arguments, stdin=text, saying=["not valid UTF-8", f"byte {offset}"]
                )
        self.refuse(1, "generate", "--model", Q8_0, "--prompt-file", path, saying="byte 3")

    def test_prompts_longer_than_the_context(self):
        for prompt in ["a b " * CONTEXT, "x" * 100_000]:
            self.refuse(1, "generate", "--model", Q8_0, stdin=prompt, saying=["prompt has", f"{CONTEXT}", "shorten"])
        self.refuse(
            1,
            "generate",
            "--model",
            Q8_0,
            "--prompt",
            "some words",
            "--sequence-length",
            3,
            saying=["prompt has", "is 3"],
        )

    def test_prompt_files_that_cannot_be_read(self):
        self.refuse(
            1, "generate", "--model", Q8_0, "--prompt-file", self.folder / "none", saying=["none", "No such file"]
        )
        self.refuse(
            1, "generate", "--model", Q8_0, "--prompt-file", self.folder, saying=[str(self.folder), "directory"]
        )


    def test_schemas_and_grammars_are_named(self):
        path = self.folder / "wrong"
        path.write_text('{"type": "nothing"')
        flags = ["generate", "--model", Q8_0, "--prompt", "a"]
        for flag in ("--json-schema", "--grammar"):
            self.refuse(1, *flags, flag, path, saying=f"{path}: ")
            self.refuse(1, *flags, flag, self.folder / "none", saying=["none", "No such file"])


class FileTest(CommandTest):
    def refuse_model(self, path, saying=()):
        for command in [
            ["logits", "--tokens", "1", "-o", self.folder / "x.npy"],
            ["inspect"],
            ["generate", "--prompt", "a"],
        ]:
            self.refuse(1, *command, "--model", path, saying=saying)

    def copy(self, name):
        return shutil.copytree(MODELS / name, self.folder / name)

    def edit_config(self, name, **changes):
        folder = self.copy(name)
        config = json.loads((folder / "config.json").read_text())
        config.update(changes)
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def test_paths_without_a_model(self):
        self.refuse_model("/nonexistent/model", ["/nonexistent/model", "no such file"])
        self.refuse_model(self.folder, [str(self.folder), "no model", "config.json"])
        (self.folder / "config.json").write_text("{}")
        self.refuse_model(self.folder, "no weights")
        (self.folder / "notes.txt").write_text("text")
        self.refuse_model(self.folder / "notes.txt", "neither")

    def test_a_model_without_a_tokenizer(self):
        self.refuse(
            1,
            "generate",
            "--model",
            MODELS / "llama-tiny-gqa",
            "--prompt",
            "a",
            saying=["no tokenizer", "tokenizer.json"],
        )

    def test_configs_that_cannot_be_run(self):
        for changes, words in [
            ({"model_type": "mamba"}, ["model_type", "mamba", "codegen, falcon"]),
            ({"hidden_size": 0}, "hidden size"),
            ({"hidden_size": "wide"}, ["hidden_size", "type"]),
            ({"num_hidden_layers": 3}, ["model.layers.2", "no tensor"]),
            ({"num_hidden_layers": 10**9}, "layers"),
            ({"vocab_size": 10**12}, "vocabulary"),
            ({"vocab_size": 271}, ["shape", "271"]),
            ({"num_key_value_heads": 3}, "key-value"),
            ({"intermediate_size": 81}, ["shape", "81"]),
            ({"hidden_act": "gelu"}, "hidden_act"),
            ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ]:
            self.refuse_model(self.edit_config("llama-tiny-gqa", **changes), words)
            shutil.rmtree(self.folder / "llama-tiny-gqa")
        folder = self.copy("llama-tiny-gqa")
        for text in [b"", b"{", b"[]", b"\xff{}", b'{"a": 1, "a": 2}', b'{"model_type": "llama"', b"{}" + b"\0"]:
            (folder / "config.json").write_bytes(text)
            self.refuse_model(folder, "config.json" if text != b"{}" else ())

    def test_truncated_and_corrupt_safetensors(self):
        folder = self.copy("llama-tiny-linear")
        file = folder / "model.safetensors"
        whole = file.read_bytes()
        header = int.from_bytes(whole[:8], "little")
        for size in [0, 1, 7, 8, 9, 8 + header // 2, 8 + header, len(whole) // 2, len(whole) - 1]:
            file.write_bytes(whole[:size])
            self.refuse_model(folder, "model.safetensors")
        for size in [0, 2**31, 2**62, 2**64 - 1, header + 1, header - 1]:
            file.write_bytes(struct.pack("<Q", size) + whole[8:])
            self.refuse_model(folder, "model.safetensors")
        text = whole[8 : 8 + header]
        for old, new in [
            (b'"F32"', b'"F99"'),
            (b'"data_offsets":[0,', b'"data_offsets":[9,'),
            (b'"shape":[', b'"shape":[-'),
        ]:
            self.assertIn(old, text)
            file.write_bytes(
                struct.pack("<Q", len(text.replace(old, new, 1))) + text.replace(old, new, 1) + whole[8 + header :]
            )
            self.refuse_model(folder)

    def test_missing_tensors_and_shards(self):
        folder = self.copy("llama-tiny-gqa")
        (folder / "model-00002-of-00002.safetensors").unlink()
        self.refuse_model(folder, "model-00002-of-00002.safetensors")
        (folder / "model.safetensors.index.json").unlink()
        self.refuse_model(folder, "no weights")
        folder = self.copy("llama-tiny-linear")
        file = folder / "model.safetensors"
        file.write_bytes(
            file.read_bytes().replace(b"model.layers.1.mlp.down_proj.weight", b"model.layers.1.mlp.down_porj.weight")
        )
        self.refuse_model(folder, ["model.layers.1.mlp.down_proj.weight", "complete?"])

    def test_truncated_and_corrupt_gguf_files(self):
        whole, path = Q8_0.read_bytes(), self.folder / "model.gguf"
        for size in [4, 8, 12, 23, 24, 100, 1000, len(whole) // 4, len(whole) // 2, len(whole) - 1]:
            path.write_bytes(whole[:size])
            self.refuse_model(path, "model.gguf")
        for at, count in [(4, 4), (8, 8), (16, 8)]:  # version, tensors, key-value pairs
            path.write_bytes(whole[:at] + b"\xff" * count + whole[at + count :])
            self.refuse_model(path, "model.gguf")
        path.write_bytes(
            whole.replace(
                b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama",
                b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0mamba",
            )
        )
        self.refuse_model(path, "mamba")

    def test_damaged_files_never_crash(self):
        whole, path, chance = Q8_0.read_bytes(), self.folder / "model.gguf", random.Random(7)
        for _ in range(60):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(6000)] = chance.randrange(256)
            path.write_bytes(damaged)
            done = run("generate", "--model", str(path), "--prompt", "the answer", "--max-new-tokens", "2")
            self.assertIn(done.returncode, [0, 1], done.stderr)
            if done.returncode:
                self.assertRegex(done.stderr.decode(errors="replace"), r"\Atulle: [^\n]+\n\Z")

    def test_pickles_of_other_things_than_tensors(self):
        model = self.copy("codegen-tiny-bin")
        for name, saying in [("reducer", "posix.system"), ("legacy", "before 1.6"), ("deflated", "compressed")]:
            shutil.copyfile(MODELS.parent / "pytorch" / "hostile" / f"{name}.bin", model / "pytorch_model.bin")
            self.refuse_model(model, saying)

    def test_chat_templates(self):
        model = chat_model(self.folder / "none", template=None)
        self.refuse(1, "chat", "--model", model, stdin="hello\n", saying="no chat template")
        model = chat_model(self.folder / "broken", template="{% for x in %}")
        self.refuse(1, "chat", "--model", model, stdin="hello\n", saying="template")
        model = chat_model(self.folder / "raising", template="{{ raise_exception('only on Sundays') }}")
        self.refuse(1, "chat", "--model", model, stdin="hello\n", saying="only on Sundays")

    def test_memory_that_is_not_there(self):
        self.refuse(
            1,
            "generate",
            "--model",
            Q8_0,
            "--prompt",
            "a",
            "--sequence-length",
            2**30,
            "--num-return-sequences",
            1024,
            "--cache",
            "paged",
            saying="",
        )


if __name__ == "__main__":
    unittest.main()
