# SPDX-License-Identifier: Apache-2.0
"""Chat templates as their authors published them, out of source packages of the Python package index."""
import ast
import json
import re
import tarfile
import zipfile
from pathlib import Path

from _commands import ROOT, model
from _packages import python_package

FOLDER = ROOT / "build" / "chat_templates"
# source: file of the index, SHA-256
PACKAGES = {
    "llama.cpp": ("ec/e9/e7de2b0463ea3ffbf0ede6cb21b58c1258a8f6521aae45ca773a59fe7cf3/llama_cpp_python-0.3.36.tar.gz",
                  "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"),
    "vllm": ("f7/25/aa5684e9c59d6fc75f78926b7f15e8d9adc7de2d9e6e7575b80776ad8169/vllm-0.33.0.tar.gz",
             "f4c33c2503d52bb411146afa9618a4f48bed68912f617e6803ac8d76e4c74112"),
    "trl": ("72/33/2cce5d6c5398d6de2dad22afa713f1a65569910685ab3598d1767d4d8483/trl-1.16.0.tar.gz",
            "999bd4a85b08870b7bfa387e1efa5177d2a4b88fe82b2526a057ac5d3cc600cd"),
    "axolotl": ("d0/e4/81f04ee0e9cc303a2d3943dbf724a65d572682547ce0f1835a97a1658cb9/axolotl-0.21.0.tar.gz",
                "8ffe32db155c764775c5cd3864621065d7cbdb07f04ce006dacf543fee2ae257"),
    "unsloth": ("c4/1b/c8d6f64fb4b45625cb2842bd4fad7e7c8fb4c54afc16e0a9ef444ef10079/unsloth-2026.10.9-py3-none-any.whl",
                "feb40b99bc4f8c543a36cbd0fe6e1410d6e4ac16bd4d0c731f607adce3d63bb0"),
}
# Files of a package that are templates; those of rust/ are copies.
JINJA = re.compile(r"/(models/templates|examples|chat_templates|chat_templates/templates)/[^/]+\.jinja$")
TEST_OF_LLAMA_CPP = "/tests/test-chat-template.cpp"
MODULE_OF_UNSLOTH = "unsloth/chat_templates.py"


def files(path):
    """(name, text) of the files that hold templates."""
    wanted = lambda name: JINJA.search(name) or name.endswith((TEST_OF_LLAMA_CPP, MODULE_OF_UNSLOTH))
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in filter(wanted, wheel.namelist()):
                yield name, wheel.read(name).decode()
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and wanted(member.name) and "/rust/" not in member.name:
                    yield member.name, archive.extractfile(member).read().decode()


def of_llama_cpp_test(text):
    """Its test holds templates of models as C strings."""
    for name, literal in re.findall(r'/\* \.name= \*/ "([^"]+)",\s*/\* \.template_str= \*/ (?:u8)?("(?:[^"\\]|\\.)*"),', text):
        yield name.split(" (")[0], json.loads(literal.replace("\\'", "'"), strict=False)


def text_of(node, known):
    """A text that a Python expression of literals and names makes, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left, known), text_of(node.right, known)
        return left + right if left is not None and right is not None else None
    return None


def of_unsloth_module(text):
    known = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = text_of(node.value, known)
    for name, value in known.items():
        if name.endswith("_template") and value is not None and "messages" in value and "ollama" not in name:
            yield name.removesuffix("_template"), value


def of_default_model():
    """The template in the metadata of the default model's GGUF: key, type 8, length, text."""
    with open(model(), "rb") as file:
        head = file.read(16 << 20)
    key = b"tokenizer.chat_template"
    at = head.index(key) + len(key) + 4
    size = int.from_bytes(head[at:at + 8], "little")
    return {"SmolLM2-135M-Instruct": head[at + 8:at + 8 + size].decode()}


def templates(source):
    """name -> text, each text once."""
    if source == "default_model":
        return of_default_model()
    found = {}
    for path, text in files(python_package(FOLDER, *PACKAGES[source])):
        if path.endswith(TEST_OF_LLAMA_CPP):
            pairs = of_llama_cpp_test(text)
        elif path.endswith(MODULE_OF_UNSLOTH):
            pairs = of_unsloth_module(text)
        else:
            pairs = [(Path(path).stem, text)]
        for name, each in pairs:
            if each not in found.values():
                found[f"{name} (another)" if name in found else name] = each
    return found
