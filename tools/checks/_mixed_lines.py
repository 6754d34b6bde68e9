# SPDX-License-Identifier: Apache-2.0
"""Lines that tokenizers find hard, the same in every run: scripts, code, numbers, emoji, white space, marks, controls."""
import random

SCRIPTS = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x587), (0x5D0, 0x5EA),
           (0x620, 0x64A), (0x904, 0x939), (0x985, 0x9B9), (0xB85, 0xBB9), (0xE01, 0xE3A), (0x10D0, 0x10FF), (0x1200, 0x135A),
           (0x1780, 0x17B3), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1D400, 0x1D7CB)]
SPACES = [" ", "  ", "    ", "        ", "\t", "\n", "\r\n", "\n\n", " \n ", "\t\t", "\xA0", "\u3000", "\u2009", "\x85", "\u200B", "\u2028"]
MARKS = "\u0300\u0301\u0308\u030A\u0323\u0327\u0345\u05B0\u0651\u093C\u093F\u0E31\u20D7\u3099\u309A"
CONTROLS = "\0\x01\x07\x08\x0B\x0C\x1B\x1F\x7F\x80\xAD\u061C\u200C\u200D\u200E\u202E\u2060\uFEFF\uFFFD"
EMOJI = ["\U0001F600", "\U0001F44D\U0001F3FD", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\U0001F1EB\U0001F1F7", "\u2764\uFE0F",
         "1\uFE0F\u20E3", "\U0001F9D1\U0001F3FF\u200D\U0001F680", "\u26A1", "\U0001FAE8"]
NUMBERS = ["0", "7", "42", "007", "1234", "1234567890", "3.14159", "1,000,000", "1e-9", "0xFF", "\u0664\u0665", "\u00BD", "\u00B2", "\u2167", "\u0968"]
ENGLISH = ("the of and a to in is was it for with as his on be at by I this had not are but from or have an they which one you were "
           "don't we'll I'm they've she'd it's HE'S WE'LL running tokenizer Tulle sparse model weights internationalization").split()
CODE = ["def f(x):\n    return x", "for (int i = 0; i < n; ++i) {", "}\n", "    if (a != b) c += d;", "std::vector<int> v{1, 2};", "#include <cstdint>",
        "x = [i**2 for i in range(10)]", "SELECT * FROM t WHERE a='b';", "<div class=\"a\">text</div>", "// TODO: nothing", "\\alpha + \\frac{1}{2}",
        "camelCaseName", "snake_case_name", "CONSTANT_NAME", "a->b.c[0]", "{\"key\": null}", "https://example.org/a?b=c&d=%20", "```python\n", "=====", "-----", "...", "!!!", "?!"]


def word(draw):
    low, high = draw.choice(SCRIPTS)
    return "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 8)))


def any_character(draw):
    code = draw.randint(1, 0x1FFFF)
    return "" if 0xD800 <= code <= 0xDFFF else chr(code)


def piece(draw, special):
    kind = draw.randint(0, 13)
    if kind < 3:
        return " ".join(draw.choice(ENGLISH) for _ in range(draw.randint(1, 6)))
    if kind == 3:
        return draw.choice(CODE)
    if kind < 6:
        return word(draw)
    if kind == 6:
        return draw.choice(NUMBERS)
    if kind == 7:
        return draw.choice(EMOJI)
    if kind == 8:
        return draw.choice(SPACES) * draw.randint(1, 4)
    if kind == 9:
        return "".join(letter + draw.choice(MARKS) for letter in word(draw)[:3])
    if kind == 10:
        return draw.choice(CONTROLS)
    if kind == 11:
        return "".join(any_character(draw) for _ in range(draw.randint(1, 4)))
    if kind == 12:
        return draw.choice(ENGLISH).upper() + draw.choice("'.,;:!?-_/\\()[]{}\"@#$%^&*+=<>|~`")
    return draw.choice(special)


def lines(special, count=10000):
    """`special`: texts of tokens, put among the others."""
    draw = random.Random(27)
    special = [*special, "<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<0x41>", "\u2581"]
    return [draw.choice(["", " ", "", "\n"]).join(piece(draw, special) for _ in range(draw.randint(1, 8))) for _ in range(count)]
