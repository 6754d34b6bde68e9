# SPDX-License-Identifier: Apache-2.0
"""Help, version, and command lines that make no sense."""

import subprocess
import unittest

from command import COMMAND, Q8_0, CommandTest, environment

SUBCOMMANDS = ["generate", "chat", "tokenize", "detokenize", "logits", "inspect", "benchmark", "evaluate", "compress", "export",
               "serve"]


class UsageTest(CommandTest):
    def test_version(self):
        self.assertRegex(self.succeed("--version"), rb"\Atulle \d+\.\d+\.\d+\n\Z")

    def test_help(self):
        main = self.succeed("--help").decode()
        self.assertEqual(main, self.succeed("-h").decode())
        for name in SUBCOMMANDS:
            self.assertIn(name, main)
            text = self.succeed(name, "--help").decode()
            self.assertIn("Examples:\n  ", text, name)
            self.assertIn("tulle " + name, text, name)
            self.assertIn("--model", text, name)
            self.assertNotIn("--model_path", text, name)
        generate = self.succeed("generate", "--help").decode()
        for word in [
            "--max-new-tokens N [100]",
            "--kernel auto|i8|i4|dense_f32|dense_f16|dense_i8|dense_i4",
            "contiguous|sliding|paged",
            "auto|f32|f16|i8",
            "0: greedy",
        ]:
            self.assertIn(word, generate)

    def test_unknown_flags_and_missing_ones(self):
        self.refuse(2, saying="subcommand")
        self.refuse(2, "translate", saying="translate")
        self.refuse(2, "--model", Q8_0)
        for name in SUBCOMMANDS:
            self.refuse(2, name, "--model", Q8_0, "--no-such-flag", saying=["--no-such-flag", f"tulle {name} --help"])
            self.refuse(2, name, "--model", saying="--model")
        self.refuse(
            2, "generate", "--model", Q8_0, "--prompt", "a", "--prompt-file", "b", saying=["--prompt", "--prompt-file"]
        )
        self.refuse(2, "generate", "--model", Q8_0, "--prompt", "a", "--logprobs", saying=["--logprobs", "--json"])
        self.refuse(2, "generate", "--model", Q8_0, "--prompt", "a", "b", saying="unexpected argument b")
        for wrong, near in [(["generat"], "generate"), (["generate", "--promt", "a"], "--prompt"),
                            (["chat", "--max_new_token=5"], "--max-new-tokens"), (["--vresion"], "--version")]:
            self.refuse(2, *wrong, saying=["unknown", f"did you mean {near}"])

    def test_help_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            for flags in (["--help"], ["--version"], ["generate", "--help"]):
                done = subprocess.run([COMMAND, *flags], stdout=full, stderr=subprocess.PIPE, env=environment())
                self.assertEqual((done.returncode, done.stderr), (1, b"tulle: cannot write to standard output\n"))

    def test_values_out_of_range(self):
        for flag, values in {
            "--kernel": ["bogus", "", "DENSE_F32"],
            "--cache": ["ring", ""],
            "--cache-dtype": ["f64"],
            "--isa": ["mmx"],
            "--threads": ["-1", "x", "5000", "1.5"],
            "--prompt-sequence-length": ["0", "-3"],
            "--sequence-length": ["-1", "1e99"],
            "--window": ["-1", "5"],
            "--sinks": ["-1", "5"],
        }.items():
            for value in values:
                for command in [
                    ["generate", "--prompt", "a"],
                    ["logits", "--tokens", "1", "-o", self.folder / "x"],
                    ["inspect"],
                ]:
                    self.refuse(2, *command, "--model", Q8_0, flag, value, saying=flag)
        for flag, values in {
            "--max-new-tokens": ["-1", "many"],
            "--temperature": ["-1", "nan", "inf", "warm"],
            "--top-k": ["-1"],
            "--top-p": ["-0.1", "1.5"],
            "--min-p": ["-0.1", "2"],
            "--typical-p": ["0", "1.1"],
            "--repetition-penalty": ["0", "-1"],
            "--presence-penalty": ["nan"],
            "--frequency-penalty": ["inf"],
            "--no-repeat-ngram": ["-1"],
            "--min-new-tokens": ["-1"],
            "--seed": ["-1", "x"],
            "--sampler-order": ["random"],
            "--stop": [""],
        }.items():
            for value in values:
                for command in [["generate", "--prompt", "a"], ["chat"]]:
                    self.refuse(2, *command, "--model", Q8_0, flag, value, stdin="a")
        for value in ["0", "-1", "2000"]:
            self.refuse(2, "generate", "--model", Q8_0, "--prompt", "a", "--num-return-sequences", value)

        for flag in ["--max-new-tokens", "--seed"]:
            self.refuse(2, "generate", flag, "-1", saying=[flag, "-1 not in range [0 - "])

    def test_flags_of_drafts_without_a_draft(self):
        for flags in (["--spec-length", 3], ["--spec-fixed"], ["--verify", "rejection"]):
            for command in (["generate", "--prompt", "a"], ["chat"]):
                self.refuse(2, *command, "--model", Q8_0, *flags, stdin="a", saying=[flags[0], "--draft-model"])

    def test_values_that_are_empty(self):
        for command, flag in [("inspect", "--model"), ("chat", "--model"), ("generate", "--prompt-file"),
                              ("generate", "--regex"), ("generate", "--grammar"), ("generate", "--json-schema"),
                              ("generate", "--prompt-cache"), ("pack", "--output"), ("serve", "--config-file")]:
            for arguments in [[flag, ""], [flag + "="]]:
                self.refuse(2, command, *arguments, saying=f"{flag} must not be empty")

    def test_wrong_values_in_the_environment(self):
        self.refuse(1, "inspect", "--model", Q8_0, env=environment(TULLE_ISA="mmx"), saying=["TULLE_ISA", "mmx", "scalar"])
        self.succeed("inspect", "--model", Q8_0, "--isa", "scalar", env=environment(TULLE_ISA="mmx"))


if __name__ == "__main__":
    unittest.main()
