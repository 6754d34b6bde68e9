# SPDX-License-Identifier: Apache-2.0
"""tulle tokenize and tulle detokenize against the golden ids of tests/golden/tokenizers."""

import json
import subprocess
import time
import unittest

from command import COMMAND, GOLDEN, Q8_0, CommandTest, environment, run

TOKENIZERS = GOLDEN / "tokenizers"


def corpus():
    data, texts, at = (TOKENIZERS / "corpus.bin").read_bytes(), [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        texts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return texts


def fnv1a(ids):
    value = 2166136261
    for number in ids:
        for byte in number.to_bytes(4, "little"):
            value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


class TokenizeTest(CommandTest):
    def test_json_lines_hold_line_ends(self):
        model = TOKENIZERS / "qwen-style" / "tokenizer.json"
        self.assertEqual(self.succeed("tokenize", "--model", model, "--json", stdin=b'"one two"\n'),
                         self.succeed("tokenize", "--model", model, stdin=b"one two\n"))
        ids = self.succeed("tokenize", "--model", model, "--json", stdin=json.dumps("a\n\tb").encode() + b"\n")
        self.assertEqual(self.succeed("detokenize", "--model", model, "--json", stdin=ids), json.dumps("a\n\tb").encode() + b"\n")

    def check_ids(self, name, model, unknown=()):
        """Every corpus text that is one line becomes the ids that the reference made of it.
        `unknown`: special tokens that the reference did not look for in a text."""
        texts = corpus()
        hashes = (TOKENIZERS / name / "hashes.bin").read_bytes()
        listed = (TOKENIZERS / name / "ids.txt").read_text().split("\n")
        left_out = [b"\n", *unknown]
        numbers = [n for n in range(len(hashes) // 4) if not any(word in texts[n] for word in left_out)]
        self.assertGreater(len(numbers), len(hashes) // 4 * 0.6)
        output = self.succeed("tokenize", "--model", model, stdin=b"".join(texts[number] + b"\n" for number in numbers))
        lines = output.decode().splitlines()
        self.assertEqual(len(lines), len(numbers))
        for number, line in zip(numbers, lines):
            ids = json.loads(line)
            self.assertEqual(fnv1a(ids), int.from_bytes(hashes[number * 4 : number * 4 + 4], "little"), (name, number))
            if number < 300:
                self.assertEqual(ids, [int(word) for word in listed[number].split()], (name, number))
        return texts, numbers, output

    def check_texts(self, name, model, texts, numbers, ids):
        """Ids become the text again, but where the reference's decoding differs from it."""
        facts = json.loads((TOKENIZERS / name / "golden.json").read_text())
        decoded = {item["text"]: item["decoded"] for item in facts["decoded_differently"]}
        known = [number for number in numbers if number < facts["decoded_texts"]]
        lines = b"".join(ids.splitlines(keepends=True)[: len(known)])
        output = self.succeed("detokenize", "--model", model, "--json", stdin=lines).splitlines()
        self.assertEqual(len(output), len(known))
        for number, line in zip(known, output):
            self.assertEqual(json.loads(line), decoded.get(number, texts[number].decode()), (name, number))

    def test_a_folder_with_only_a_tokenizer_is_enough(self):
        for name in ["llama2-style", "llama3-style", "metaspace", "qwen-style"]:
            folder = TOKENIZERS / name
            self.check_texts(name, folder, *self.check_ids(name, folder))

    def test_sentencepiece_models(self):
        for name in ["spm-bpe", "spm-unigram"]:
            model = TOKENIZERS / name / "tokenizer.model"
            self.check_texts(name, model, *self.check_ids(name, model, [b"<s>", b"</s>", b"<ctl>"]))

    def test_the_tokenizer_inside_a_gguf_file(self):
        texts = json.loads((GOLDEN / "models" / "gguf" / "q8_0.golden.json").read_text())["texts"]
        lines = [text for text in texts if "\n" not in text["text"]]
        self.assertGreater(len(lines), 3)
        output = self.succeed("tokenize", "--model", Q8_0, stdin="".join(text["text"] + "\n" for text in lines))
        self.assertEqual([json.loads(line) for line in output.splitlines()], [text["ids"] for text in lines])
        decoded = self.succeed("detokenize", "--model", Q8_0, "--json", stdin=output)
        self.assertEqual([json.loads(line) for line in decoded.splitlines()], [text["decoded"] for text in lines])

    def test_a_path_to_tokenizer_json_works_like_its_folder(self):
        folder = TOKENIZERS / "llama3-style"
        self.assertEqual(
            self.succeed("tokenize", "--model", folder / "tokenizer.json", stdin="some text\n"),
            self.succeed("tokenize", "--model", folder, stdin="some text\n"),
        )

    def test_lines(self):
        ids = lambda text: self.succeed("tokenize", "--model", Q8_0, stdin=text).decode().splitlines()
        self.assertEqual(ids(""), [])
        self.assertEqual(ids("\n"), ["[]"])
        self.assertEqual(len(ids("a\n\nb\n")), 3)
        self.assertEqual(ids("a\nb"), ids("a\nb\n"))
        self.assertNotEqual(ids("a\r\n"), ids("a\n"))
        self.assertEqual(len(json.loads(ids("a\0b\n")[0])), 3)

    def test_special_tokens(self):
        folder = TOKENIZERS / "llama3-style"
        bos = json.loads((folder / "golden.json").read_text())["added_by_default"]
        plain = json.loads(self.succeed("tokenize", "--model", folder, stdin="text\n"))
        added = json.loads(self.succeed("tokenize", "--model", folder, "--add-special-tokens", stdin="text\n"))
        self.assertEqual(added, bos + plain)
        for flag in ["--skip-special-tokens", "--skip_special_tokens"]:
            self.assertEqual(self.succeed("detokenize", "--model", folder, flag, stdin=json.dumps(added)), b"text\n")
        kept = self.succeed("detokenize", "--model", folder, stdin=json.dumps(added)).decode()
        self.assertTrue(kept.endswith("text\n") and len(kept) > 5, kept)
        self.assertEqual(json.loads(self.succeed("tokenize", "--model", folder, stdin=kept)), added)

    def test_line_ends_inside_a_text_are_written_as_they_are(self):
        vocabulary = json.loads((TOKENIZERS / "llama3-style" / "tokenizer.json").read_text())["model"]["vocab"]
        line_end = json.dumps([vocabulary["a"], vocabulary["\u010a"], vocabulary["b"]])
        self.assertEqual(self.succeed("detokenize", "--model", TOKENIZERS / "llama3-style", stdin=line_end), b"a\nb\n")
        self.assertEqual(
            self.succeed("detokenize", "--model", TOKENIZERS / "llama3-style", "--json", stdin=line_end), b'"a\\nb"\n'
        )

    def test_a_conversation_line_by_line(self):
        process = subprocess.Popen(
            [COMMAND, "tokenize", "--model", str(Q8_0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        for text, size in [(b"a", 1), (b"ab cd", 1), (b"", 0)]:
            process.stdin.write(text + b"\n")
            process.stdin.flush()
            self.assertGreaterEqual(len(json.loads(process.stdout.readline())), size)
        process.stdin.close()
        self.assertEqual(process.wait(timeout=300), 0)
        process.stdout.close()

    def test_long_lines_are_quick(self):
        for model in [Q8_0, TOKENIZERS / "llama2-style"]:
            for text in ["a" * 1_000_000, "the quick brown fox " * 50_000, " " * 1_000_000]:
                begin = time.monotonic()
                ids = self.succeed("tokenize", "--model", model, stdin=text)
                decoded = self.succeed("detokenize", "--model", model, "--json", stdin=ids)
                self.assertEqual(len(json.loads(decoded)), len(text))
                self.assertLess(time.monotonic() - begin, 30)

    def test_errors(self):
        self.refuse(1, "tokenize", "--model", Q8_0, stdin=b"good\nab\xff\n", saying=["line 2", "UTF-8", "byte 2"])
        self.refuse(1, "tokenize", "--model", Q8_0, stdin=b"\xe2\x82", saying=["line 1", "byte 0"])
        self.refuse(1, "tokenize", "--model", "/nonexistent", saying=["/nonexistent", "no such file"])
        self.refuse(
            1, "tokenize", "--model", GOLDEN / "models" / "llama-tiny-gqa", saying=["no tokenizer", "tokenizer.json"]
        )
        for line, words in [
            ("[1,", "line 1"),
            ("", "line 1"),
            ("5", "array"),
            ('["a"]', "no token id"),
            ("[1.5]", "1.5"),
            ("[-1]", "outside"),
            ("[288]", "vocabulary of 288"),
            ("[99999999999999999999999]", "no token id"),
            ("[[1]]", "no token id"),
            ("[" * 100 + "]" * 100, "nested"),
            ("[1] [2]", "not valid JSON"),
        ]:
            self.refuse(1, "detokenize", "--model", Q8_0, stdin=line + "\n", saying=words)
        message = self.refuse(1, "detokenize", "--model", Q8_0, stdin="[1]\n[2]\n[]\nx\n")
        self.assertIn("line 4", message)


if __name__ == "__main__":
    unittest.main()
