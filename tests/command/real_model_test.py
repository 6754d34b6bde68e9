# SPDX-License-Identifier: Apache-2.0
"""SmolLM2-135M-Instruct from its GGUF, where TULLE_TEST_MODEL names it."""

import json
import os
import platform
import sys
import time
import unittest

from command import GOLDEN, CommandTest
import tokenize_test

MODEL = os.environ.get("TULLE_TEST_MODEL", "")
FACTS = json.loads((GOLDEN / "smollm2.json").read_text())


class RealModelTest(CommandTest):
    def greedy(self, prompt, *flags):
        flags = ["--max-new-tokens", 64, "--force-max-tokens", "--show-special-tokens", *flags]
        return self.generate("--model", MODEL, "--prompt", prompt["text"], *flags)

    def test_greedy_tokens_are_those_of_transformers(self):
        for prompt in FACTS["prompts"][:1]:  # the others: tests/real_model
            result = self.greedy(prompt, "--kernel", "dense_f32")
            self.assertEqual(result["prompt_tokens"], len(prompt["ids"]))
            self.assertEqual(result["tokens"], prompt["greedy"], prompt["text"])
            self.assertEqual(result["text"], prompt["greedy_text"])

    @unittest.skipUnless(platform.machine() == "x86_64", "the golden tokens are those of SSE4.1")
    def test_int8_gives_the_tokens_that_webassembly_gives(self):
        native = json.loads((GOLDEN / "smollm2_i8.json").read_text())
        for prompt, tokens in list(zip(FACTS["prompts"], native, strict=True))[:3]:
            result = self.greedy(prompt, "--kernel", "dense_i8", "--isa", "sse4.1")
            self.assertEqual(result["tokens"], tokens, prompt["text"])

    def test_logits(self):
        top = FACTS["top20"]
        shape, values = self.logits(MODEL, top["ids"], "--kernel", "dense_f32")
        self.assertEqual(shape, (len(top["ids"]), 49152))
        for row, position in enumerate(top["positions"]):
            for token, logit in zip(position["ids"], position["logits"]):
                self.assertAlmostEqual(values[row * shape[1] + token], logit, delta=2e-3)

    def test_chat(self):
        [user] = FACTS["chat_messages"]
        answer = FACTS["prompts"][4]["greedy_text"].split("<|im_end|>")[0]
        output = self.succeed("chat", "--model", MODEL, "--kernel", "dense_f32", stdin=user["content"] + "\n")
        self.assertEqual(output.decode(), answer + "\n")

    def test_tokenizer(self):
        comparison = tokenize_test.TokenizeTest
        comparison.check_texts(self, "smollm2", MODEL, *comparison.check_ids(self, "smollm2", MODEL))
        begin = time.monotonic()
        self.succeed("tokenize", "--model", MODEL, stdin="word " * 200_000)
        self.assertLess(time.monotonic() - begin, 30)

    def test_inspect(self):
        report = json.loads(self.succeed("inspect", "--model", MODEL, "--json"))
        self.assertEqual(report["architecture"]["layers"], 30)
        self.assertIn("dense_i4", {matrix["kernel"] for matrix in report["matrices"]})


if __name__ == "__main__":
    if not MODEL:
        print("skipped: TULLE_TEST_MODEL does not name the default model")
        sys.exit(77)
    unittest.main()
