# SPDX-License-Identifier: Apache-2.0
"""tulle logits against the golden logits of the tiny models."""

import json
import math
import shutil
import signal
import time
import unittest

from command import CONTEXT, MODELS, Q8_0, CommandTest, argmax, environment, read_npy, rows_of, start

TOLERANCE = 2e-4  # tests/golden/README.md

DIRECTORIES = [
    "codegen-tiny",
    "llama-tiny-gqa",
    "llama-tiny-tied",
    "llama-tiny-llama3",
    "llama-tiny-linear",
    "llama-tiny-int8",
]
FILES = ["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1"]


def golden(name):
    """(model, facts, logits)"""
    if name in FILES:
        folder, stem = MODELS / "gguf", name + "."
        return (
            folder / f"{name}.gguf",
            json.loads((folder / f"{stem}golden.json").read_text()),
            read_npy(folder / f"{stem}logits.npy"),
        )
    folder = MODELS / name
    return folder, json.loads((folder / "golden.json").read_text()), read_npy(folder / "logits.npy")


def largest_difference(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


class LogitsTest(CommandTest):
    def test_every_golden_model_in_f32(self):
        for name in DIRECTORIES + FILES:
            model, facts, (shape, expected) = golden(name)
            for flags in [[], ["--prompt-sequence-length", "7", "--threads", "2"]]:
                actual_shape, actual = self.logits(model, facts["tokens"], "--kernel", "dense_f32", *flags)
                self.assertEqual(actual_shape, shape)
                self.assertLess(largest_difference(actual, expected), TOLERANCE, (name, flags))

    def test_lora_adapters_are_merged_with_their_scales(self):
        for folder in [MODELS.parent / "lora" / name for name in ("llama", "two")]:
            facts = json.loads((folder / "case.json").read_text())
            flags = [f"--lora={folder / each['path']}={each['scale']}" for each in facts["adapters"]]
            _, actual = self.logits(MODELS / facts["model"], facts["tokens"], "--kernel", "dense_f32", *flags)
            self.assertLess(largest_difference(actual, read_npy(folder / "logits.npy")[1]), TOLERANCE, folder)

    def test_the_golden_continuation_is_the_argmax(self):
        for name in DIRECTORIES + FILES:
            model, facts, _ = golden(name)
            first = facts["greedy_prompt_tokens"]
            tokens = facts["tokens"][:first] + facts["greedy"][:-1]
            logits = rows_of(*self.logits(model, tokens, "--kernel", "dense_f32"))
            self.assertEqual([argmax(row) for row in logits[first - 1 :]], facts["greedy"], name)

    def test_auto_keeps_the_values_of_a_file(self):
        for name in DIRECTORIES + FILES:
            model, facts, (shape, expected) = golden(name)
            _, actual = self.logits(model, facts["tokens"])
            scale = math.sqrt(sum(x * x for x in expected) / len(expected))
            error = math.sqrt(sum((x - y) ** 2 for x, y in zip(actual, expected)) / len(expected))
            self.assertLess(error, 0.03 * scale, name)

    def test_activations_per_token_where_the_checkpoint_says_so(self):
        facts = json.loads((MODELS / "llama-tiny-int8" / "golden.json").read_text())
        shape, expected = read_npy(MODELS / "llama-tiny-int8" / "logits_w8a8_127.npy")
        # On AVX2 `auto` takes sliced ELL for half of this model, whose activations have 14 bits.
        actual_shape, actual = self.logits(
            MODELS / "llama-tiny-int8", facts["w8a8_127_tokens"], "--cache-dtype", "f32", env=environment(TULLE_ISA="scalar")
        )
        self.assertEqual(actual_shape, shape)
        self.assertLess(largest_difference(actual, expected), 1e-3)

    def test_chunks_threads_and_caches_do_not_change_a_bit(self):
        tokens = golden("q4_0")[1]["tokens"]
        for kernel in ["auto", "dense_f32", "dense_i8", "dense_i4"]:
            for dtype in ["f32", "f16", "i8"]:
                reference = None
                for cache in ["contiguous", "sliding", "paged"]:
                    for chunk, threads in [(256, 1), (1, 1), (5, 2), (16, 3)]:
                        result = self.logits(
                            MODELS / "gguf" / "q4_0.gguf",
                            tokens,
                            "--kernel",
                            kernel,
                            "--cache",
                            cache,
                            "--cache-dtype",
                            dtype,
                            "--prompt-sequence-length",
                            chunk,
                            "--threads",
                            threads,
                        )
                        reference = reference or result
                        self.assertEqual(result, reference, (kernel, dtype, cache, chunk, threads))

    def test_a_small_window_forgets(self):
        model, facts, (_, expected) = golden("llama-tiny-gqa")
        shape, actual = self.logits(
            model, facts["tokens"], "--cache", "sliding", "--window", 16, "--sinks", 2, "--kernel", "dense_f32"
        )
        self.assertLess(largest_difference(actual[: 10 * shape[1]], expected[: 10 * shape[1]]), TOLERANCE)
        self.assertGreater(largest_difference(actual[-shape[1] :], expected[-shape[1] :]), 0.1)

    def test_tokens_from_a_file(self):
        tokens, path = golden("q8_0")[1]["tokens"], self.folder / "ids"
        path.write_text("[" + ", ".join(map(str, tokens[:20])) + "]\n" + "\t".join(map(str, tokens[20:])) + "\n")
        self.succeed("logits", "--model", Q8_0, "--tokens-file", path, "-o", self.folder / "a.npy")
        self.assertEqual(read_npy(self.folder / "a.npy"), self.logits(Q8_0, tokens))

    def test_the_whole_context_fits_and_no_more(self):
        shape, _ = self.logits(Q8_0, [3] * CONTEXT)
        self.assertEqual(shape[0], CONTEXT)
        self.refuse(
            1,
            "logits",
            "--model",
            Q8_0,
            "--tokens",
            ",".join(["3"] * (CONTEXT + 1)),
            "-o",
            self.folder / "x.npy",
            saying=[str(CONTEXT + 1), str(CONTEXT), "sequence length"],
        )

    def test_errors_leave_no_file(self):
        path = self.folder / "x.npy"
        flags = ["logits", "--model", Q8_0, "-o", path, "--tokens"]
        for tokens in ["288", "-1", "1,2,999999"]:
            self.refuse(1, *flags, tokens, saying=[tokens.split(",")[-1], "vocabulary of 288"])
        for tokens in [",", "  "]:
            self.refuse(1, *flags, tokens, saying="no tokens")
        for tokens in ["a", "1;2", "1.5", "0x10", "99999999999"]:
            self.refuse(2, *flags, tokens, saying="no token id")
        self.refuse(2, "logits", "--model", Q8_0, "-o", path, saying="--tokens")
        self.refuse(2, "logits", "--model", Q8_0, "--tokens", "1", saying="--output")
        self.refuse(
            1,
            "logits",
            "--model",
            Q8_0,
            "-o",
            path,
            "--tokens-file",
            self.folder / "none",
            saying=["none", "No such file"],
        )
        self.assertFalse(path.exists())
        self.refuse(
            1, "logits", "--model", Q8_0, "--tokens", "1", "-o", self.folder / "no" / "x.npy", saying="cannot create"
        )
        self.refuse(1, "logits", "--model", Q8_0, "--tokens", "1", "-o", "/dev/full", saying=["/dev/full", "No space"])
        self.refuse(1, "logits", "--model", Q8_0, "--tokens", "1", "-o", self.folder, saying="cannot create")
        path.symlink_to(path)
        self.refuse(1, "logits", "--model", Q8_0, "--tokens", "1", "-o", path, saying=["cannot create", "back to itself"])

    def test_files_of_another_kind_are_left_as_they_are(self):
        model = shutil.copyfile(Q8_0, self.folder / "model.gguf")
        text = self.folder / "notes.txt"
        text.write_text("text")
        for path in (model, text):
            before = path.read_bytes()
            self.refuse(1, "logits", "--model", model, "--tokens", "1", "-o", path,
                        saying=[str(path), "another kind", "left as it is"])
            self.assertEqual(path.read_bytes(), before)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"model.gguf", "notes.txt"})

    def test_a_numpy_file_an_empty_one_and_the_file_behind_a_link_are_replaced(self):
        command = ["logits", "--model", Q8_0, "--tokens", "1,2", "-o"]
        path, link = self.folder / "x.npy", self.folder / "link"
        link.symlink_to(path)
        for before in (b"", b"\x93NUMPY\x02\x00 of another version"):
            path.write_bytes(before)
            self.succeed(*command, path)
            expected = read_npy(path)
            self.assertEqual(expected[0], (2, 288))
            path.write_bytes(before)
            self.succeed(*command, link)
            self.assertEqual(read_npy(path), expected)
        self.assertTrue(link.is_symlink())
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"x.npy", "link"})

    def test_standard_output_and_devices_are_written_in_place(self):
        command = ["logits", "--model", Q8_0, "--tokens", "1,2", "-o"]
        self.succeed(*command, self.folder / "x.npy")
        self.assertEqual(self.succeed(*command, "/dev/stdout"), (self.folder / "x.npy").read_bytes())
        self.assertEqual(self.succeed(*command, "/dev/null"), b"")

    def test_an_interrupt_leaves_the_earlier_file(self):
        path, ids, count = self.folder / "x.npy", self.folder / "ids", 500_000
        self.succeed("logits", "--model", Q8_0, "--tokens", "1,2", "-o", path)
        earlier = path.read_bytes()
        ids.write_text("1 " * count)
        slow = ["--cache", "sliding", "--window", "64", "--prompt-sequence-length", "1"]
        process = start("logits", "--model", str(Q8_0), "--tokens-file", str(ids), "-o", str(path), *slow,
                        "--sequence-length", str(count))
        end = time.monotonic() + 300
        while not any(self.folder.glob("x.npy.*.part")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=300), (b"", b""))
        self.assertEqual(process.returncode, 130)
        self.assertEqual(path.read_bytes(), earlier)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"x.npy", "ids"})


if __name__ == "__main__":
    unittest.main()
