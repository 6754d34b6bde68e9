# SPDX-License-Identifier: Apache-2.0
"""English prose to calibrate on and to evaluate with: 89 articles of Wikipedia out of the test data of the Python package
gensim 4.4.0 (text CC BY-SA, so it is made here and never committed)."""
import bz2
import hashlib
import html
import re
import subprocess
import sys
import zipfile

from _commands import ROOT

FOLDER = ROOT / "build" / "wiki"
DUMP = "gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
# file: (which articles, characters of each, sha256)
TEXTS = {
    "calibration.txt": (0, 7000, "d365b73868b20b687dcd089197566a674fdca37692210cd46ae4a3c7a1268fc7"),
    "evaluation.txt": (1, 6500, "feb9b8d4e04e44fae1f0da5f470aad7118b4efe289ac6fe482fd4b3e817c8069"),
}
NESTED = (r"\{\{[^{}]*\}\}", r"\{\|(?:(?!\{\||\|\}).)*\|\}")  # templates and tables, the innermost first
ELEMENTS = r"<(math|gallery|timeline|source|code|table|div|imagemap)\b.*?</\1>"
MEDIA = r"\[\[(?:File|Image|Category|[a-z\-]{2,12}):[^\[\]]*\]\]"


def until_stable(text, change):
    while (changed := change(text)) != text:
        text = changed
    return text


def without_markup(text):
    text = html.unescape(text)
    for pattern in (r"<!--.*?-->", r"<ref[^>]*/>"):
        text = re.sub(pattern, "", text, flags=re.S)
    text = re.sub(r"<ref.*?</ref>", "", text, flags=re.S | re.I)
    text = re.sub(ELEMENTS, "", text, flags=re.S | re.I)
    text = until_stable(text, lambda t: re.sub(NESTED[1], "", re.sub(NESTED[0], "", t), flags=re.S))
    for _ in range(4):
        text = re.sub(MEDIA, "", text, flags=re.I)
        text = re.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = re.sub(r"\[https?://\S+\s+([^\]]*)\]", r"\1", text)
    for pattern in (r"\[?https?://\S+\]?", r"'{2,}", r"<[^>]+>"):
        text = re.sub(pattern, "", text)
    return text


def paragraphs(text):
    """Lines of prose: at least 80 characters that end as a sentence does."""
    found = []
    for line in map(str.strip, without_markup(text).split("\n")):
        if not line or line[0] in "=*#:;|!{}" or len(line) < 80 or not line.endswith((".", "!", "?", '"', ")")):
            continue
        line = re.sub("&nbsp;|\u00a0", " ", line)
        line = re.sub(r"\(\s*[;,]?\s*\)", "", line)
        found.append(re.sub(r" ([,.;])", r"\1", re.sub(r" {2,}", " ", line)))
    return found


def articles(xml):
    for page in re.findall(r"<page>(.*?)</page>", xml, re.S):
        namespace = re.search(r"<ns>(\d+)</ns>", page)
        text = re.search(r"<text[^>]*>(.*?)</text>", page, re.S)
        if (namespace and namespace[1] != "0") or not text:
            continue
        if text[1][:20].lower().lstrip().startswith("#redirect"):
            continue
        lines = paragraphs(text[1])
        if sum(map(len, lines)) >= 2000:
            yield re.search(r"<title>(.*?)</title>", page)[1], lines


def beginning(lines, characters):
    """Whole paragraphs, until there are so many characters."""
    taken, length = [], 0
    for line in lines:
        if length >= characters:
            break
        taken.append(line)
        length += len(line)
    return taken


def wiki_texts():
    """Paths of the calibration and of the evaluation text, which are made where they are not."""
    paths = [FOLDER / name for name in TEXTS]
    if all(path.exists() for path in paths):
        return paths
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", FOLDER,
                    "--python-version", "3.11", "gensim==4.4.0"], check=True)
    with zipfile.ZipFile(next(FOLDER.glob("gensim-*.whl"))) as wheel:
        pages = list(articles(bz2.decompress(wheel.read(DUMP)).decode()))
    for path, (first, characters, digest) in zip(paths, TEXTS.values()):
        texts = [title + "\n\n" + "\n\n".join(beginning(lines, characters)) for title, lines in pages[first::2]]
        data = ("\n\n".join(texts) + "\n").encode()
        if hashlib.sha256(data).hexdigest() != digest:
            raise RuntimeError(f"{path.name}: not the text of the figures; is it gensim 4.4.0?")
        path.write_bytes(data)
    return paths
