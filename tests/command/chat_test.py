# SPDX-License-Identifier: Apache-2.0
"""tulle chat with piped standard input, and on a terminal."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import unittest

from command import COMMAND, CONTEXT, Q8_0, CommandTest, chat_model, environment, start

ENDLESS = ["--cache", "sliding", "--window", "64", "--max-new-tokens", "100000000", "--force-max-tokens"]


class ChatTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = chat_model(self.folder / "model")

    def chat(self, lines, *flags):
        return self.succeed(
            "chat", "--model", self.model, "--max-new-tokens", 6, "--force-max-tokens", *flags, stdin=lines
        ).decode()

    def continuation(self, text):
        """What generate makes of a rendered conversation."""
        return self.generate("--model", self.model, "--prompt", text, "--max-new-tokens", 6, "--force-max-tokens")[
            "text"
        ]

    def expected(self, turns, system=None):
        text = f"<|im_start|>system\n{system}<|im_end|>\n" if system is not None else ""
        answers = []
        for turn in turns:
            text += f"<|im_start|>user\n{turn}<|im_end|>\n<|im_start|>assistant\n"
            answers.append(self.continuation(text))
            text += answers[-1] + "<|im_end|>\n"
        return answers

    def test_every_line_is_a_turn_and_the_history_counts(self):
        turns = ["Hello", "How are you?", "Bye"]
        answers = self.expected(turns)
        self.assertEqual(self.chat("\n".join(turns) + "\n"), "".join(answer + "\n" for answer in answers))
        self.assertEqual(self.chat("\n\n".join(turns)), "".join(answer + "\n" for answer in answers))
        self.assertEqual(self.chat("\r\n".join([*turns, "/exit", "no"])), "".join(answer + "\n" for answer in answers))

    def test_special_tokens_that_are_shown_are_not_read_again(self):
        flags = ["--model", Q8_0, "--max-new-tokens", 60, "--temperature", 4, "--seed", 3]
        plain, shown = (self.succeed("chat", *flags, *more, stdin="hi\nthere\n").decode(errors="replace")
                        for more in ([], ["--show-special-tokens"]))
        self.assertIn("<|im_end|>", shown)
        self.assertEqual(re.sub(r"<\|\w+\|>", "", shown), plain)

    def test_history_and_cache_layouts(self):
        lines = "one\ntwo\nthree\n"
        expected = self.chat(lines)
        for flags in [
            ["--cache", "paged"],
            ["--cache", "sliding"],
            ["--cache", "sliding", "--window", 200],
            ["--prompt-sequence-length", 3],
        ]:
            self.assertEqual(self.chat(lines, *flags), expected, flags)
        self.assertEqual(len(self.chat("one\ntwo\nthree\nfour\n", "--cache", "sliding", "--window", 24)) > 4, True)

    def test_system(self):
        self.assertEqual(self.chat("Hello\n", "--system", "Be brief."), self.expected(["Hello"], "Be brief.")[0] + "\n")

    def test_commands(self):
        first = self.expected(["Hello"], "Be brief.")[0] + "\n"
        self.assertEqual(self.chat("Hello\n/reset\nHello\n/exit\nHello\n", "--system", "Be brief."), first + first)
        self.assertIn("/reset", self.chat("/help\n"))

    def test_the_end_of_a_turn_is_that_of_the_template(self):
        """config.json names another end of text; the template's <|im_end|> ends an answer all the same."""
        settings = json.loads((self.model / "config.json").read_text())
        settings["eos_token_id"] = 0
        (self.model / "config.json").write_text(json.dumps(settings))
        (self.model / "generation_config.json").unlink()
        flags = ["chat", "--model", self.model, "--max-new-tokens", 200, "--temperature", 1.5, "--show-special-tokens"]
        ended = 0
        for seed in range(12):
            text = self.succeed(*flags, "--seed", seed, stdin="Hello\n").decode()
            self.assertLessEqual(text.count("<|im_end|>"), 1)
            ended += text.endswith("<|im_end|>\n")
        self.assertGreater(ended, 0)

    def test_a_full_context(self):
        self.refuse(
            1, "chat", "--model", self.model, stdin="x" * (CONTEXT + 1) + "\n", saying=["prompt has", str(CONTEXT)]
        )

    def test_lines_that_are_not_utf8(self):
        self.refuse(1, "chat", "--model", self.model, stdin=b"ab\xff\n", saying=["line 1", "UTF-8", "byte 2"])

    def test_control_c_in_a_pipe_ends_the_program(self):
        """In an answer, with another line to come, and in the wait for a line."""
        for line in (b"Hello\nHello\n", b"/help\n"):
            process = start("chat", "--model", str(self.model), *ENDLESS)
            process.stdin.write(line)
            process.stdin.flush()
            self.assertTrue(process.stdout.read(10))
            process.send_signal(signal.SIGINT)
            process.stdout.read()  # ends although standard input is still open
            self.assertEqual(process.wait(timeout=300), 130)
            self.assertEqual(process.stderr.read(), b"")
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()


class Terminal(CommandTest):
    """A pseudo-terminal in place of the user."""

    flags = ["--max-new-tokens", "4", "--force-max-tokens"]

    def setUp(self):
        super().setUp()
        model = chat_model(self.folder / "model")
        controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [COMMAND, "chat", "--model", str(model), *self.flags],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment(),
            start_new_session=True,
        )
        os.close(terminal)
        self.terminal, self.seen = controller, b""
        self.addCleanup(os.close, controller)
        self.addCleanup(self.process.kill)
        self.read_until(b"> ")

    def read_until(self, mark):
        """Waits until the screen shows `mark` after what earlier calls waited for."""
        while mark not in self.seen:
            self.assertTrue(select.select([self.terminal], [], [], 60)[0], self.seen)
            self.seen += os.read(self.terminal, 1 << 12)
        self.seen = self.seen.split(mark, 1)[1]


class TerminalTest(Terminal):
    def test_turns_and_control_d(self):
        os.write(self.terminal, b"Hello\n")
        self.read_until(b"> ")
        os.write(self.terminal, b"\x04")
        self.assertEqual(self.process.wait(timeout=300), 0)

    def test_control_c_twice_at_the_prompt_leaves(self):
        self.process.send_signal(signal.SIGINT)
        self.read_until(b"Ctrl-C again")
        self.read_until(b"> ")
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.process.wait(timeout=300), 130)

    def test_a_turn_that_does_not_fit_is_forgotten(self):
        os.write(self.terminal, b"x" * (CONTEXT + 1) + b"\n")
        self.read_until(b"tulle: the prompt has")
        self.read_until(b"> ")
        os.write(self.terminal, b"Hello\n")
        self.read_until(b"> ")
        os.write(self.terminal, b"/exit\n")
        self.assertEqual(self.process.wait(timeout=300), 0)


class EndlessAnswerTest(Terminal):
    flags = ENDLESS

    def test_control_c_stops_the_answer_and_not_the_program(self):
        for _ in range(2):
            os.write(self.terminal, b"Hello\n")
            self.read_until(b"Hello\r\n")
            while not self.seen:
                self.seen += os.read(self.terminal, 1 << 12)  # the answer has begun
            self.process.send_signal(signal.SIGINT)
            self.read_until(b"\r\n> ")
        self.assertIsNone(self.process.poll())
        os.write(self.terminal, b"/exit\n")
        self.assertEqual(self.process.wait(timeout=300), 0)


if __name__ == "__main__":
    unittest.main()
