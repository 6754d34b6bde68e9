#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tokenizer tests' corpus: 10,240 short texts of every kind that upsets a tokenizer.

The generator uses nothing but integers and a 64-bit xorshift, so its output is the same everywhere and always; the
script ends by checking that against the SHA-256 below. Only characters assigned long ago are drawn (Unicode 12 or
older), since a tokenizer's tables and a test's may be of different ages.

File format: for every text its length in bytes (u32, little-endian), then its UTF-8 bytes. Texts may be empty and may
hold any character, line ends included.

usage: make_corpus.py [--out corpus.bin]
"""
import argparse
import hashlib
import struct
from pathlib import Path

TEXTS = 10240
SHA256 = "91291ea40186080778fee362c2c153c759f95fac02c4aecd74062cee0ebe1e95"


class Draw:
    """xorshift64*: small, exact, good enough."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.state = x
        return ((x * 0x2545F4914F6CDD1D & 0xFFFFFFFFFFFFFFFF) >> 32) * n >> 32

    def between(self, low, high):
        return low + self.below(high - low + 1)

    def of(self, items):
        return items[self.below(len(items))]

    def code(self, ranges):
        """A character out of inclusive ranges of code points, every range as likely as another."""
        low, high = self.of(ranges)
        return chr(self.between(low, high))


WORDS = """the of and a to in is it that for was on are with as his they at be this from have or by one had not but what all were when we
there can an your which their said if do will each about how up out them then she many some so these would other into has more her two
like him see time could no make than first been its who now people my made over did down only way find use may water long little very
after words called just where most know river lantern copper orchard thunder velvet whisper marble gather stumble Anna Paris London
Monday October Dr Mr API HTTP JSON naïve café façade Zürich über coöperate jalapeño œuvre don't can't I'll we've they're she'd it's
rock'n'roll o'clock state-of-the-art e-mail x-axis unbelievably internationalization counterrevolutionary""".split()

IDENTIFIERS = "i j k x y n self data index value result count node left right buffer size tmp foo_bar parseHTML __init__ MAX_LEN _private kCount T1".split()
KEYWORDS = "def class return if else elif for while in not and or import from as with try except lambda yield None True False pass raise".split()
OPERATORS = ["=", "==", "!=", "<=", ">=", "+=", "-=", "*", "**", "//", "%", "->", "=>", "::", "&&", "||", "<<", ">>", "|", "^", "~", "&", "...", ":="]

# Name, letters, marks (or None).
SCRIPTS = [
    ("latin extended", [(0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x17F), (0x180, 0x1BF), (0x1E00, 0x1EFF)], None),
    ("greek", [(0x391, 0x3A1), (0x3A3, 0x3C9), (0x1F00, 0x1F15), (0x1F80, 0x1FAF)], [(0x301, 0x301), (0x308, 0x308)]),
    ("cyrillic", [(0x410, 0x44F), (0x450, 0x45F), (0x460, 0x481)], [(0x301, 0x301), (0x306, 0x306)]),
    ("armenian", [(0x531, 0x556), (0x561, 0x586)], None),
    ("hebrew", [(0x5D0, 0x5EA)], [(0x5B0, 0x5BC)]),
    ("arabic", [(0x621, 0x63A), (0x641, 0x64A), (0x671, 0x6D3)], [(0x64B, 0x652), (0x653, 0x655), (0x670, 0x670)]),
    ("devanagari", [(0x905, 0x939), (0x958, 0x95F)], [(0x93E, 0x94C), (0x94D, 0x94D), (0x901, 0x903), (0x93C, 0x93C)]),
    ("bengali", [(0x995, 0x9A8), (0x9AA, 0x9B0), (0x9DC, 0x9DD)], [(0x9BE, 0x9C4), (0x9C7, 0x9C8), (0x9CD, 0x9CD), (0x9D7, 0x9D7)]),
    ("tamil", [(0xB85, 0xB8A), (0xBA8, 0xBAA), (0xBAE, 0xBB9)], [(0xBBE, 0xBC2), (0xBC6, 0xBC8), (0xBCD, 0xBCD), (0xBD7, 0xBD7)]),
    ("thai", [(0xE01, 0xE30), (0xE40, 0xE46)], [(0xE31, 0xE31), (0xE34, 0xE3A), (0xE47, 0xE4E)]),
    ("tibetan", [(0xF40, 0xF47), (0xF49, 0xF6C)], [(0xF71, 0xF84), (0xF90, 0xF97), (0xF99, 0xFBC)]),
    ("georgian", [(0x10A0, 0x10C5), (0x10D0, 0x10FA)], None),
    ("ethiopic", [(0x1200, 0x1248), (0x1260, 0x1286)], None),
    ("cherokee", [(0x13A0, 0x13F5), (0xAB70, 0xABBF)], None),
    ("khmer", [(0x1780, 0x17B3)], [(0x17B6, 0x17D1), (0x17D2, 0x17D2)]),
    ("hangul", [(0xAC00, 0xD7A3)], None),
    ("jamo", [(0x1100, 0x1112), (0x1161, 0x1175), (0x11A8, 0x11C2)], None),
    ("hiragana", [(0x3041, 0x3096)], [(0x3099, 0x309A)]),
    ("katakana", [(0x30A1, 0x30FA), (0x30FC, 0x30FE), (0xFF66, 0xFF9F)], [(0x3099, 0x309A)]),
    ("han", [(0x4E00, 0x9FA5), (0x4E00, 0x4FFF), (0x3400, 0x4DB5), (0x20000, 0x2A6D6)], None),
    ("han compatibility", [(0xF900, 0xFA2D), (0xFA30, 0xFA6D), (0x2F800, 0x2FA1D)], None),
    ("letters of mathematics", [(0x1D400, 0x1D454), (0x1D7CE, 0x1D7FF), (0x2102, 0x2102), (0x210A, 0x2113)], None),
    ("deseret", [(0x10400, 0x1044F)], None),
    ("gothic", [(0x10330, 0x10340)], None),
    ("full width", [(0xFF01, 0xFF5E)], None),
]

NUMERALS = [(0x30, 0x39), (0x30, 0x39), (0x660, 0x669), (0x966, 0x96F), (0xFF10, 0xFF19), (0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE), (0x2150, 0x2189),
            (0x2070, 0x2070), (0x2460, 0x249B), (0x3021, 0x3029), (0x1D7CE, 0x1D7FF), (0x10107, 0x10133), (0xE50, 0xE59)]

MARKS = [(0x300, 0x34E), (0x350, 0x36F), (0x1DC4, 0x1DCF), (0x20D0, 0x20DC), (0x591, 0x5AF), (0x345, 0x345), (0x323, 0x328)]

SPACES = [" ", " ", " ", "\t", "\t", "\n", "\n", "\r\n", "\r", "\u00a0", "\u3000", "\u2003", "\u2009", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c",
          "\u1680", "\u202f", "\u205f", "\u200b", "\u2060", "\ufeff", "\u180e", "\u001c", "\u001f"]

EMOJI = ["\U0001f600", "\U0001f602", "\U0001f680", "\u2764\ufe0f", "\u2764", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
         "\U0001f9d1\U0001f3ff\u200d\U0001f680", "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f1e9\U0001f1ea", "\U0001f1ef\U0001f1f5", "\U0001f1e6", "1\ufe0f\u20e3", "#\ufe0f\u20e3",
         "\u00a9\ufe0f", "\u263a", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f48b\u200d\U0001f468", "\u200d", "\ufe0f", "\U0001f3fb"]

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<s>", "</s>", "<unk>",
           "<pad>", "[INST]", "[/INST]", "<tool_call>", "</tool_call>", "<think>", "</think>", "<mask>", "<word>", "<norm>", "<0x0A>", "<0xFF>", "\u2581", "\u2581the", "\u0120", "\u010a",
           "<|endof", "text|>", "<|im_start", "|>", "<|", "<|fim_prefix|>", "<repo_name>", "<|reserved_special_token_0|>", "<sep>", "<ctl>", "<|endoftext|><|endoftext|>"]

CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'VE", "'M", "'LL", "'D", "'Ll", "\u2019s", "'\u017f", "'", "''", "'x", "'r", "'v", "'l", "s'", "`s"]

# Characters with a canonical mapping: singletons, excluded compositions, pairs to compose, Hangul.
CANONICAL = ["\u212b", "\u2126", "\u212a", "\u0340", "\u0341", "\u0343", "\u0374", "\u037e", "\u0387", "\u0958", "\u095f", "\u0a36", "\u0b5c", "\u0f43", "\ufb1d", "\ufb2a", "\ufb4e", "\u2adc",
             "A\u030a", "\u00c5", "e\u0301", "\u00e9", "o\u0302\u0323", "\u1ed9", "q\u0323\u0307", "q\u0307\u0323", "\u1100\u1161\u11a8", "\uac00\u11a8", "\uac01", "\u1112\u1175", "\u0cc6\u0cc2\u0cd5",
             "\u0915\u093c", "\u09c7\u09be", "\u30ab\u3099", "\u304b\u3099", "\u1e9b\u0323", "\u0061\u0315\u0300\u05ae\u0062", "\u1e0a\u0323", "\u0344", "\u0308\u0301", "\u03b1\u0345\u0301", "\u226e", "<\u0338",
             "\u2260", "=\u0338", "\U0001d15e", "\U0001d1bb", "\U000110ab", "\U00011099\U000110ba", "\uf900", "\u3400\u0301", "\u2000", "\u2001", "\u2329", "s\u0307\u0323\u0307"]

# Not text in any sense, but valid code points.
ODD = [(0x0, 0x8), (0xE, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0xE000, 0xE010), (0xF8FF, 0xF8FF), (0xFDD0, 0xFDD3), (0xFFFC, 0xFFFF), (0x1FFFE, 0x1FFFF), (0xE0001, 0xE0001),
       (0xE0100, 0xE010F), (0xF0000, 0xF0003), (0x10FFFE, 0x10FFFF), (0x202A, 0x202E), (0x2061, 0x2064), (0xFFF9, 0xFFFB)]

PUNCTUATION = ["!", "!!", "?", ".", "...", ",", ";", ":", "(", ")", "[", "]", "{", "}", "\"", "-", "--", "\u2014", "\u2013", "\u2026", "\u201c", "\u201d", "\u00ab", "\u00bb", "/", "\\", "@", "#", "$", "%", "&", "*",
               "+", "=", "<", ">", "^", "_", "`", "|", "~", "\u00a7", "\u20ac", "\u00a3", "\u00b0", "\u00d7", "\u2192", "\u221a", "\u2264", "\u3002", "\u3001", "\uff01", "\u060c", "\u0964", "\u2581\u2581"]


def word(d):
    w = d.of(WORDS)
    case = d.below(12)
    return w.upper() if case == 0 else w.capitalize() if case == 1 else w


def sentence(d):
    parts = [word(d) for _ in range(d.between(2, 11))]
    out = parts[0]
    for p in parts[1:]:
        out += d.of([" ", " ", " ", " ", " ", " ", " ", ", ", "  ", "-", " - ", "; ", ": ", "\n"]) + p
    return d.of(["", "", "", " ", "\""]) + out + d.of([".", ".", "!", "?", "", "...", ".\n", ".\n\n", "\"", " "])


def python(d):
    depth, lines = 0, []
    for _ in range(d.between(1, 6)):
        indent = d.of(["    ", "    ", "    ", "\t", "  "]) * depth
        x, y = d.of(IDENTIFIERS), d.of(IDENTIFIERS)
        kind = d.below(6)
        if kind == 0:
            lines.append(f"{indent}def {x}({y}, *args, **kw):")
            depth += 1
        elif kind == 1:
            lines.append(f"{indent}{d.of(KEYWORDS)} {x} {d.of(OPERATORS)} {y}:")
            depth += 1
        elif kind == 2:
            lines.append(f"{indent}{x} {d.of(OPERATORS)} {number(d)}{d.of(['', '  # ' + d.of(WORDS), ';'])}")
        elif kind == 3:
            lines.append(f"{indent}return {x}[{y}:{d.below(99)}] {d.of(OPERATORS)} f\"{{{y}!r:>{d.below(30)}}}\\n\"")
            depth = max(0, depth - 1)
        elif kind == 4:
            lines.append(indent + d.of(['"""', "'''", "#", "# " + sentence(d), "pass", ""]))
        else:
            lines.append(f"{indent}{x}.{y}({d.of(WORDS)!r}, {d.below(1000)})")
    return d.of(["\n", "\n", "\n", "\r\n"]).join(lines) + d.of(["", "\n", "\n\n", "\n\n\n\n"])


def braces(d):
    x, y = d.of(IDENTIFIERS), d.of(IDENTIFIERS)
    return d.of([f"for (int {x} = 0; {x} < {d.below(5000)}; ++{x}) {{\n\t{y}[{x}] {d.of(OPERATORS)} *{x};\n}}\n",
                 f"{{\"{x}\": {number(d)}, \"{y}\": [null, true, \"\\u00e9\\n\"], \"a\": {{}}}}",
                 f"<div class=\"{x}\" id='{y}'>{word(d)} &amp; {word(d)}</div>",
                 f"SELECT {x}, COUNT(*) FROM {y} WHERE {x} >= {number(d)};--",
                 f"https://example.org/{x}/{y}?q={d.below(100)}&r=%20{word(d)}#{x}",
                 f"template <typename T> auto {x}(const T& {y}) -> decltype({y}.{x}()) {{ return {y}->{x}(); }}",
                 f"| {word(d)} | {number(d)} |\n|---|---:|\n| {x} | `{y}` |\n",
                 f"$ {x} --{y}={d.below(10)} | grep -v '^#' > /dev/null 2>&1\n"])


def number(d):
    digits = "".join(chr(48 + d.below(10)) for _ in range(d.between(1, 9)))
    return d.of([digits, digits[:3], "-" + digits, digits + "." + digits[:2], digits[:1] + "," + digits, "0x" + format(d.below(1 << 31), "x"), digits[:2] + "e-" + digits[:1],
                 f"{1900 + d.below(200)}-{1 + d.below(12):02d}-{1 + d.below(28):02d}", digits + "%", "1st", digits + "px", "v" + digits[:1] + "." + digits[:1] + "." + digits[:2]])


def numerals(d):
    out = ""
    for _ in range(d.between(1, 12)):
        out += d.code(NUMERALS) if d.below(4) else d.of([" ", "  ", ".", ",", "x", "    ", "\u00e9", "\n"])
    return out


def script(d):
    _, letters, marks = d.of(SCRIPTS)
    out = ""
    for _ in range(d.between(1, 5)):
        for _ in range(d.between(1, 8)):
            out += d.code(letters)
            if marks and d.below(3) == 0:
                out += d.code(marks)
        out += d.of([" ", " ", ", ", ".", "\n", "", "-"])
    return out


def marked(d):
    out = ""
    for _ in range(d.between(1, 6)):
        out += d.of(["a", "e", "o", "u", "n", "A", "S", "\u00e4", "\u0433", "\u4e00", " ", "1", "\u1ea1", "\uac00", "\u0915", ""])
        for _ in range(d.below(4)):
            out += d.code(MARKS)
    return out


def canonical(d):
    return "".join(d.of(CANONICAL) + d.of(["", "", " ", "x", "\u0301", "\u0323"]) for _ in range(d.between(1, 5)))


def spaces(d):
    out = ""
    for _ in range(d.between(1, 5)):
        out += d.of(SPACES) * d.of([1, 1, 1, 2, 3, 4, 5, 8, 9, 12, 17, 33]) + d.of(["", "", "x", "word", "1", ".", "\u00e9"])
    return out


def emoji(d):
    return "".join(d.of(EMOJI) + d.of(["", "", " ", "a"]) for _ in range(d.between(1, 5)))


def special(d):
    return "".join(d.of(SPECIAL) + d.of(["", "", " ", "\n", "  ", "user\n", word(d), "\u00e9", "1"]) for _ in range(d.between(1, 4)))


def contraction(d):
    return "".join(d.of([word(d), "I", "we", "X", "1", " ", "", "\u00e9"]) + d.of(CONTRACTIONS) + d.of(["", " ", "s", "."]) for _ in range(d.between(1, 4)))


def odd(d):
    return "".join(d.code(ODD) + d.of(["", "", "a", " ", "\u00df"]) for _ in range(d.between(1, 6)))


def any_block(d):
    """Any letter of any script, character by character."""
    return "".join(d.code(d.of(SCRIPTS)[1]) if d.below(6) else d.of([" ", "\n", "1", "-", d.code(MARKS)]) for _ in range(d.between(2, 20)))


def punctuation(d):
    return "".join(d.of(PUNCTUATION) + d.of(["", "", "", " ", "\n", "\r\n", word(d), d.of(PUNCTUATION)]) for _ in range(d.between(1, 7)))


def mixture(d):
    """Fragments cut anywhere and glued without care: most faults are at borders."""
    out = ""
    for _ in range(d.between(2, 5)):
        piece = d.of(KINDS)(d)
        start = d.below(len(piece) + 1)
        out += piece[start:start + d.between(1, 10)]
    return out


def repeated(d):
    unit = d.of(["a", "ab", " ", "\t", "\n", "=", "-=", "\u00e9", "\u4e00", "\U0001f600", "1", "0 ", "ha", "\r\n", "the ", "\u2581", "e\u0301", "((", "<0x41>", "'s", "A\n"])
    return unit * d.of([7, 15, 16, 31, 40, 64, 100, 257])


KINDS = [sentence, sentence, sentence, python, braces, number, numerals, script, script, marked, canonical, spaces, emoji, special, contraction, odd, any_block, punctuation]


def text(d, n):
    if n == 0 or d.below(150) == 0:
        return ""
    choice = d.below(20)
    if choice < 6:
        return mixture(d)
    if choice == 6 and d.below(6) == 0:
        return repeated(d)
    return d.of(KINDS)(d)


def corpus():
    d = Draw(0x7475_6C6C_65)
    return [text(d, n) for n in range(TEXTS)]


def pack(texts):
    out = bytearray()
    for t in texts:
        data = t.encode("utf-8")
        out += struct.pack("<I", len(data)) + data
    return bytes(out)


def unpack(data):
    texts, at = [], 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4:at + 4 + size].decode("utf-8"))
        at += 4 + size
    return texts


def main():
    parser = argparse.ArgumentParser(description="Write the corpus of the tokenizer tests.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "tokenizers" / "corpus.bin")
    arguments = parser.parse_args()
    data = pack(corpus())
    digest = hashlib.sha256(data).hexdigest()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(data)
    print(len(data), "bytes", digest)
    if digest != SHA256:
        raise SystemExit("not the corpus that the golden ids belong to")


if __name__ == "__main__":
    main()
