#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints src/declarations.rs: the constants, structs and functions of tulle.h and tulle_experimental.h in Rust. A test
compares the file with this output.     usage: declare.py > src/declarations.rs"""
import re
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[3] / "capi" / "include"
TYPES = {"int32_t": "i32", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize", "float": "f32", "double": "f64",
         "char": "c_char", "void": "c_void"}


def rust_type(text):
    """"const tulle_model*" to "*const tulle_model"."""
    text = text.strip()
    if text.endswith("*"):
        inner = text[:-1].strip()
        constant = inner.startswith("const ") and not inner.endswith("*")
        return ("*const " if constant else "*mut ") + rust_type(inner.removeprefix("const "))
    return TYPES.get(text, text)


def parameters(text):
    """(name, type) of every parameter of a C function."""
    if text.strip() == "void":
        return []
    found = [re.match(r"(.*?[\s*])(\w+)$", " ".join(each.split())) for each in text.split(",")]
    return [(each[2], rust_type(each[1])) for each in found]


def signature(result, text):
    returned = "" if result.strip() == "void" else " -> " + rust_type(result)
    return "(" + ", ".join(f"{name}: {kind}" for name, kind in parameters(text)) + ")" + returned


def declarations(header):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    for name, value in re.findall(r"^#define (TULLE_\w+) (\d+u?)\s*$", text, re.MULTILINE):
        unsigned = value.endswith("u") or name == "TULLE_ABI_VERSION"
        yield f"pub const {name}: {'u32' if unsigned else 'i32'} = {value.rstrip('u')};"
    for name in re.findall(r"^typedef struct (\w+) \1;", text, re.MULTILINE):
        yield f"\n/// Opaque.\n#[repr(C)]\npub struct {name} {{\n    _private: [u8; 0],\n}}"
    for result, name, inside in re.findall(r"^typedef ([\w ]+)\(\*(\w+)\)\((.*?)\);", text, re.MULTILINE | re.DOTALL):
        yield f"\npub type {name} = Option<unsafe extern \"C\" fn{signature(result, inside)}>;"
    for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)\} \1;", text, re.MULTILINE | re.DOTALL):
        yield f"\n#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{"
        for kind, member, length in re.findall(r"([\w ]+[\s*]+)(\w+)(?:\[(\d+)\])?;", body):
            kind = rust_type(kind)
            yield f"    pub {member}: " + (f"[{kind}; {length}]" if length else kind) + ","
        yield "}"
    yield "\nextern \"C\" {"
    for result, name, inside in re.findall(r"^TULLE_API ([\w* ]+?)\s*(\w+)\((.*?)\);", text, re.MULTILINE | re.DOTALL):
        yield f"    pub fn {name}{signature(result, inside)};"
    yield "}"


def main():
    print("// SPDX-License-Identifier: Apache-2.0\n// Made by declare.py from tulle.h and tulle_experimental.h.\n")
    print("use core::ffi::{c_char, c_void};\n")
    for header in ("tulle.h", "tulle_experimental.h"):
        print("\n".join(declarations((INCLUDE / header).read_text(encoding="utf-8"))))


main()
