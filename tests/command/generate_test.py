# SPDX-License-Identifier: Apache-2.0
"""tulle generate on tiny models."""

import json
import math
import os
import signal
import subprocess
import sys
import time
import unittest

from command import COMMAND, CONTEXT, Q8_0, CommandTest, argmax, chat_model, environment, rows_of, run, start

PROMPT = "the answer is 42"
SHORT = ["--model", str(Q8_0), "--prompt", PROMPT, "--max-new-tokens", "24", "--force-max-tokens"]
DRAWN = SHORT + ["--temperature", "0.9", "--seed", "11"]


class GenerateTest(CommandTest):
    def test_json(self):
        result = self.generate(*SHORT)
        self.assertEqual(set(result), {"text", "tokens", "finish_reason", "prompt_tokens", "timings"})
        self.assertEqual(len(result["tokens"]), 24)
        self.assertEqual(result["finish_reason"], "length")
        timings = result["timings"]
        self.assertEqual(
            set(timings),
            {
                "load_seconds",
                "prefill_seconds",
                "decode_seconds",
                "prefill_tokens_per_second",
                "decode_tokens_per_second",
                "prompt_tokens",
                "generated_tokens",
            },
        )
        self.assertTrue(all(value > 0 for value in timings.values()), timings)
        self.assertEqual(timings["generated_tokens"], 24)
        ids = json.loads(self.succeed("tokenize", "--model", Q8_0, "--add-special-tokens", stdin=PROMPT))
        self.assertEqual(result["prompt_tokens"], len(ids))
        self.assertEqual(timings["prompt_tokens"], len(ids))
        self.assertEqual(
            result["text"].encode() + b"\n",
            self.succeed("detokenize", "--model", Q8_0, "--skip-special-tokens", stdin=json.dumps(result["tokens"])),
        )

    def test_greedy_tokens_are_the_largest_logits(self):
        prompt = json.loads(self.succeed("tokenize", "--model", Q8_0, "--add-special-tokens", stdin=PROMPT))
        for kernel in ["auto", "dense_f32", "dense_f16", "dense_i8", "dense_i4"]:
            tokens = self.generate(*SHORT, "--kernel", kernel, "--logprobs")
            logits = rows_of(*self.logits(Q8_0, prompt + tokens["tokens"][:-1], "--kernel", kernel))[len(prompt) - 1 :]
            self.assertEqual(tokens["tokens"], [argmax(row) for row in logits], kernel)
            for row, token, logprob in zip(logits, tokens["tokens"], tokens["logprobs"]):
                highest = max(row)
                expected = row[token] - highest - math.log(sum(math.exp(x - highest) for x in row))
                self.assertAlmostEqual(logprob, expected, places=4)

    @unittest.skipUnless(sys.platform == "linux", "threads are bound to cores on Linux alone")
    def test_packed_weights_and_prompts_are_kept(self):
        plain = self.generate(*SHORT)
        packed, prompt = self.folder / "packed", self.folder / "prompt"
        self.succeed("pack", Q8_0, "-o", packed)
        for flags in (["--packed-cache", packed, "--verify-packed"], ["--packed-cache", "off"]):
            result = self.generate(*SHORT, "--prompt-cache", prompt, *flags)
            for key in ("text", "tokens", "prompt_tokens"):
                self.assertEqual(result[key], plain[key])
        self.assertEqual(result["timings"]["prompt_tokens"], 0)
        packed.write_bytes(packed.read_bytes()[:-1])
        self.refuse(1, "generate", *SHORT, "--packed-cache", packed, saying="not complete")
        self.refuse(1, "pack", Q8_0, "-o", prompt, saying="another kind")
        self.refuse(1, "generate", *SHORT, "--prompt-cache", packed, saying="another kind")
        self.refuse(2, "generate", *SHORT, "--prompt-cache", prompt, "--cache", "sliding", saying="sliding")
        link, pipe = self.folder / "link", self.folder / "pipe"
        link.symlink_to(self.folder / "behind")
        self.succeed("pack", Q8_0, "-o", link)
        self.assertTrue(link.is_symlink() and (self.folder / "behind").stat().st_size > 0)
        os.mkfifo(pipe)
        self.refuse(1, "generate", *SHORT, "--packed-cache", pipe, saying="not a regular file")
        self.refuse(1, "generate", "-m", pipe, "--prompt", "a", saying="no regular file and no directory")
        nowhere = self.folder / "none" / "kept"
        self.refuse(1, "generate", *SHORT, "--prompt-cache", nowhere, saying=[str(nowhere), "folder does not exist"])
        self.refuse(1, "pack", Q8_0, "-o", nowhere, saying=[str(nowhere), "folder does not exist"])

    def test_pinned_threads_generate_the_same(self):
        cores = len(os.sched_getaffinity(0))
        self.assertEqual(
            self.generate(*SHORT, "--pin", "--threads", cores)["tokens"],
            self.generate(*SHORT, "--threads", 1)["tokens"],
        )
        self.refuse(
            1, "generate", *SHORT, "--pin", "--threads", 1000, saying=["1000 threads", f"the process may use {cores};"]
        )

    def test_the_text_streams_to_stdout_as_it_stands(self):
        text = self.generate(*SHORT)["text"]
        self.assertEqual(self.succeed("generate", *SHORT).decode(), text)

    def test_pieces_come_while_it_generates(self):
        process = start(
            "generate",
            "--model",
            str(Q8_0),
            "--prompt",
            PROMPT,
            "--cache",
            "sliding",
            "--window",
            "64",
            "--max-new-tokens",
            "100000000",
            "--force-max-tokens",
        )
        self.assertTrue(process.stdout.read(20))
        process.stdout.close()  # the reader leaves: the command ends without a word
        self.assertIn(process.wait(timeout=300), [-signal.SIGPIPE, 0])
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        process.stdin.close()

    def test_prompts_from_everywhere(self):
        expected = self.generate(*SHORT)["tokens"]
        rest = ["--model", Q8_0, "--max-new-tokens", 24, "--force-max-tokens"]
        path = self.folder / "prompt.txt"
        path.write_text(PROMPT)
        self.assertEqual(self.generate(*rest, "--prompt-file", path)["tokens"], expected)
        self.assertEqual(self.generate(*rest, stdin=PROMPT)["tokens"], expected)
        self.assertEqual(self.generate(*rest, "--prompt-file", "-", stdin=PROMPT)["tokens"], expected)
        self.assertEqual(self.generate(*rest, "--prompt=" + PROMPT)["tokens"], expected)
        longer = self.generate(*rest, stdin=PROMPT + "\n")
        self.assertEqual(
            longer["prompt_tokens"], self.generate(*SHORT)["prompt_tokens"] + 1
        )  # a line end is part of it

    def test_prompts_of_one_file(self):
        path = self.folder / "prompts.txt"
        path.write_text(f"\n{PROMPT} :<endofprompt>\none two<endofprompt>\n")
        rest = ["--model", Q8_0, "--max-new-tokens", 6, "--force-max-tokens", "--pl", 32, "--cl", 64]
        lines = self.succeed("generate", *rest, "--json", "--prompt-file", path).splitlines()
        expected = [self.generate(*rest, "--prompt", prompt) for prompt in (PROMPT + " :", "one two")]
        self.assertEqual([json.loads(line)["tokens"] for line in lines], [each["tokens"] for each in expected])
        text = self.succeed("generate", *rest, "--prompt-file", path).decode()
        self.assertEqual(text, "\n---\n".join(each["text"] for each in expected))

    def test_drafts_leave_the_text_as_it_is(self):
        path = self.folder / "prediction.txt"
        path.write_text(self.generate(*SHORT)["text"])
        drafts = [["--draft-model", name] for name in ("ngram", "self:i4", str(Q8_0), "ngram+self:i4")]
        for flags in [*drafts, ["--prediction", path, "--spec-length", 16]]:
            for given in (SHORT, DRAWN):
                found = self.generate(*given, *flags, "--spec-fixed", "--compare-plain")
                self.assertEqual(found["tokens"], self.generate(*given)["tokens"], flags)
                speculation = found["speculation"]
                self.assertTrue(speculation["same_text"])
                self.assertEqual(speculation["tokens"], 24)
                self.assertGreaterEqual(speculation["drafted"], speculation["accepted"])
                self.assertGreater(speculation["speed_up"], 0)
        accepted = self.generate(*SHORT, "--prediction", path, "--spec-fixed")["speculation"]["accepted"]
        self.assertGreater(accepted, 0)
        self.assertEqual(len(self.generate(*DRAWN, "--draft-model", "self:i8", "--verify", "rejection")["tokens"]), 24)
        reported = run("generate", *SHORT, "--draft-model", "ngram", "--verbose").stderr.decode()
        self.assertIn("[accepted in a pass:", reported)

    def test_drafters_that_cannot_be_made_are_refused(self):
        self.refuse(1, "generate", *SHORT, "--draft-model", "self:i5", saying=['unknown kernel "i5"'])
        self.refuse(2, "generate", *SHORT, "--draft-model", "ngram", "--prediction", "x", saying=["--prediction"])
        self.refuse(2, "generate", *SHORT, "--compare-plain", saying=["--compare-plain needs"])
        self.refuse(2, "generate", *SHORT, "--draft-model", "prediction", saying=["--prediction FILE"])

    def test_a_grammar_of_llama_cpp(self):
        rules = self.folder / "ws.gbnf"
        rules.write_text('root ::= "x" ws .\nws ::= | " " | "\\n" [ \\t]{0,20}\n')
        self.assertRegex(self.generate("--model", Q8_0, "--prompt", "a", "--grammar", rules)["text"], r"(?s)\Ax( |\n[ \t]{0,20})?.?\Z")

        rules.write_text('root ::= y x\nx ::= "c" |\ny ::= "d"\n')
        self.assertIn(self.generate("--model", Q8_0, "--prompt", "a", "--grammar", rules)["text"], ("d", "dc"))
        rules.write_text('root ::= root "a"\n')
        self.refuse(1, "generate", *SHORT, "--grammar", rules, saying=["no text of this vocabulary"])

    def test_prompts_that_look_like_something_else(self):
        for prompt in ["-x", "--help", "{}", "[a,b]", "%%", "a,b", '"q"', 'B"(x)"', " ", "\n", "'"]:
            with_flag = self.generate("--model", Q8_0, "--prompt=" + prompt, "--max-new-tokens", 1)
            from_stdin = self.generate("--model", Q8_0, "--max-new-tokens", 1, stdin=prompt)
            self.assertEqual(with_flag["prompt_tokens"], from_stdin["prompt_tokens"], prompt)
        self.assertEqual(
            self.generate("--model", Q8_0, "--prompt", "--model", "--max-new-tokens", 1)["prompt_tokens"],
            self.generate("--model", Q8_0, "--max-new-tokens", 1, stdin="--model")["prompt_tokens"],
        )

    def test_drawing_depends_on_the_seed_alone(self):
        reference = self.generate(*DRAWN)
        self.assertNotEqual(reference["tokens"], self.generate(*SHORT)["tokens"])
        for flags in [
            ["--threads", 2],
            ["--prompt-sequence-length", 3],
            ["--cache", "paged"],
            ["--cache", "sliding"],
            ["--prompt_sequence_length", 1, "--num_cores", 1],
        ]:
            self.assertEqual(self.generate(*DRAWN, *flags)["tokens"], reference["tokens"], flags)
        self.assertNotEqual(
            self.generate(*SHORT, "--temperature", "0.9", "--seed", "12")["tokens"], reference["tokens"]
        )

    def test_when_text_is_drawn(self):
        greedy = self.generate(*SHORT)["tokens"]
        for flags in [
            ["--temperature", 0],
            ["--temperature", 0, "--seed", 5],
            ["--top-k", 1],
            ["--top-p", 1e-6],
            ["--sampler-order", "llama_cpp"],
        ]:
            self.assertEqual(self.generate(*SHORT, *flags)["tokens"], greedy, flags)
        for flags in [
            ["--temperature", 3],
            ["--top-k", 200],
            ["--top-p", 1.0],
            ["--min-p", 0.0001],
            ["--typical-p", 0.99],
            ["--seed", 4],
        ]:
            drawn = [
                self.generate(*SHORT, *flags, *(["--seed", seed] if flags[0] != "--seed" else []))["tokens"]
                for seed in [4, 5]
            ]
            self.assertTrue(any(tokens != greedy for tokens in drawn), flags)

    def test_penalties_change_greedy_text(self):
        greedy = self.generate(*SHORT)["tokens"]
        self.assertNotEqual(self.generate(*SHORT, "--repetition-penalty", 5)["tokens"], greedy)
        self.assertNotEqual(self.generate(*SHORT, "--presence-penalty", 20, "--frequency_penalty", 5)["tokens"], greedy)
        tokens = self.generate(*SHORT, "--no-repeat-ngram", 1)["tokens"]
        self.assertEqual(len(tokens), len(set(tokens)))

    def test_several_sequences(self):
        result = self.generate(*DRAWN, "--num-return-sequences", 3, "--logprobs")
        self.assertEqual(len(result["generations"]), 3)
        self.assertEqual(len({tuple(each["tokens"]) for each in result["generations"]}), 3)
        for each in result["generations"]:
            self.assertEqual(set(each), {"text", "tokens", "finish_reason", "prompt_tokens", "logprobs"})
            self.assertEqual(len(each["logprobs"]), 24)
        self.assertEqual(result["text"], result["generations"][0]["text"])
        self.assertEqual(result["tokens"], self.generate(*DRAWN)["tokens"])
        texts = self.succeed("generate", *DRAWN, "--num-return-sequences", 3).decode()
        self.assertEqual(texts, "\n---\n".join(each["text"] for each in result["generations"]))

    def test_stop_strings(self):
        whole = self.generate(*SHORT)["text"]
        for stop in [whole[5:8], whole[10:11], whole[3:12]]:
            flags = SHORT + ["--stop", "never in it!", "--stop", stop]
            result = self.generate(*flags)
            self.assertEqual(result["text"], whole[: whole.index(stop)])
            self.assertEqual(result["finish_reason"], "stop")
            self.assertEqual(self.succeed("generate", *flags).decode(), result["text"])
        self.assertEqual(self.generate(*SHORT, "--stop", "[a,b]")["text"], whole)
        broken = subprocess.run([os.fsencode(COMMAND), b"generate", b"-m", os.fsencode(Q8_0), b"-p", b"a", b"--stop", b"\xbd"],
                                capture_output=True, env=environment())
        self.assertIn(b"--stop is not valid UTF-8", broken.stderr)

    def test_ends(self):
        model = chat_model(self.folder / "model")
        flags = ["--model", model, "--prompt", "ab"]
        full = self.generate(*flags, "--max-new-tokens", 100000, "--force-max-tokens")
        self.assertEqual(full["finish_reason"], "capacity")
        self.assertEqual(full["prompt_tokens"] + len(full["tokens"]), CONTEXT + 1)
        small = self.generate(*flags, "--max-new-tokens", 100, "--force-max-tokens", "--sequence-length", 10)
        self.assertEqual((small["finish_reason"], len(small["tokens"])), ("capacity", 9))
        self.assertEqual(small["tokens"], full["tokens"][:9])
        cut = run("generate", *map(str, flags), "--max-new-tokens", "100", "--force-max-tokens", "--sequence-length", "10")
        self.assertIn(b"the text ended at the sequence length", cut.stderr)
        nothing = self.generate(*flags, "--max-new-tokens", 0)
        self.assertEqual((nothing["tokens"], nothing["text"], nothing["finish_reason"]), ([], "", "length"))
        endless = self.generate(
            *flags, "--cache", "sliding", "--window", 32, "--max-new-tokens", 600, "--force-max-tokens"
        )
        self.assertEqual((endless["finish_reason"], len(endless["tokens"])), ("length", 600))

    def test_an_end_of_text_token_ends_the_text_and_may_be_shown(self):
        model = chat_model(self.folder / "model")
        settings = json.loads((model / "config.json").read_text())
        flags = ["--model", model, "--prompt", "ab", "--max-new-tokens", 20]
        tokens = self.generate(*flags, "--force-max-tokens")["tokens"]
        settings["eos_token_id"] = tokens[3]
        (model / "config.json").write_text(json.dumps(settings))
        (model / "generation_config.json").unlink()
        ended = self.generate(*flags)
        self.assertEqual(ended["finish_reason"], "stop")
        self.assertEqual(ended["tokens"], tokens[: tokens.index(tokens[3]) + 1])
        self.assertEqual(self.generate(*flags, "--force-max-tokens")["tokens"], tokens)
        longer = self.generate(*flags, "--min-new-tokens", 10)["tokens"]
        self.assertNotIn(tokens[3], longer[:10])

    def test_special_tokens(self):
        folder = chat_model(self.folder / "model")
        flags = ["--model", folder, "--prompt", "a<|im_end|>", "--max-new-tokens", 1]
        self.assertEqual(self.generate(*flags)["prompt_tokens"], 2)
        file = json.loads((folder / "tokenizer.json").read_text())
        file["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [],
            "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [1], "tokens": ["<|im_start|>"]}},
        }
        (folder / "tokenizer.json").write_text(json.dumps(file))
        self.assertEqual(self.generate(*flags)["prompt_tokens"], 3)
        self.assertEqual(self.generate(*flags, "--no-special-tokens")["prompt_tokens"], 2)

    def test_models_are_found(self):
        expected = self.generate(*SHORT)["tokens"]
        rest = SHORT[2:]
        self.assertEqual(self.generate(*rest, env=environment(TULLE_MODEL=str(Q8_0)))["tokens"], expected)
        cache = self.folder / "tulle" / "models"
        cache.mkdir(parents=True)
        (cache / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(Q8_0)
        self.assertEqual(self.generate(*rest, env=environment(XDG_CACHE_HOME=str(self.folder)))["tokens"], expected)
        (self.folder / ".cache").symlink_to(self.folder)
        self.assertEqual(self.generate(*rest, env=environment(HOME=str(self.folder)))["tokens"], expected)
        self.refuse(1, "generate", *rest, saying=["--model", "TULLE_MODEL", "tools/run"])

    def test_verbose_tells_the_speed(self):
        done = run("generate", *SHORT, "--verbose")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stderr.decode(),
            r"\A\[load: [\d.]+ s\] \[prefill: \d+ tokens, [\d.]+ tokens/s\] "
            r"\[decode: 24 tokens, [\d.]+ tokens/s\]\n\Z",
        )

    def test_names_of_deepsparse(self):
        self.assertEqual(
            self.generate(
                "--model_path",
                Q8_0,
                "--prompt",
                PROMPT,
                "--max_generated_tokens",
                24,
                "--force_max_tokens",
                "--sequence_length",
                128,
                "--prompt_processing_sequence_length",
                16,
                "--sampling_temperature",
                0.9,
                "--seed",
                11,
            )["tokens"],
            self.generate(*DRAWN)["tokens"],
        )

    def test_control_c_ends_the_text_cleanly(self):
        endless = [
            "generate",
            "--model",
            str(Q8_0),
            "--prompt",
            PROMPT,
            "--cache",
            "sliding",
            "--window",
            "64",
            "--max-new-tokens",
            "100000000",
            "--force-max-tokens",
        ]
        process = start(*endless)
        process.stdin.close()
        self.assertTrue(process.stdout.read(20))
        process.send_signal(signal.SIGINT)
        text = process.stdout.read()
        self.assertEqual(process.wait(timeout=300), 130)
        text.decode()  # whole code points
        self.assertEqual(process.stderr.read(), b"")
        process.stdout.close()
        process.stderr.close()

        process = start(*endless, "--json")
        process.stdin.close()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output = process.stdout.read()
        self.assertEqual(process.wait(timeout=300), 130)
        if output:  # nothing when it was still loading
            self.assertEqual(json.loads(output)["finish_reason"], "cancelled")
        process.stdout.close()
        process.stderr.close()

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            for command in [["generate", *SHORT], ["generate", *SHORT, "--json"]]:
                done = subprocess.run(
                    [COMMAND, *command],
                    stdin=subprocess.DEVNULL,
                    stdout=full,
                    stderr=subprocess.PIPE,
                    env=environment(),
                )
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rb"\Atulle: cannot write to standard output: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
