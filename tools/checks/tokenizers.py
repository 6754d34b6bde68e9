# SPDX-License-Identifier: Apache-2.0
import json
import resource
import subprocess

from _commands import ROOT, build, output, reference_script
from _mixed_lines import lines
from _published_tokenizers import FILES, PACKAGES, REFUSED, REFUSED_VOCABULARIES, VOCABULARIES, tokenizer_file, vocabularies

MINUTES = 30
ABOUT = "published tokenizers: ids and texts of 10,000 mixed lines equal to those of Hugging Face's tokenizers, mistral_common and sentencepiece; llama.cpp's vectors"
TULLE = ROOT / "build" / "release" / "bin" / "tulle"
OWN_SENTENCEPIECE = ROOT / "build" / "own-sentencepiece"  # a build without the library, by which our release build reads .model files
SEPARATOR = "\n__ggml_vocab_test__\n"
LONGEST_SECONDS = 0.3  # for 1 MB


def reference(what, path, texts=None):
    script, packages = "_hf_tokenizers.py", ("tokenizers", "gguf")
    if path.parent.name.startswith("tekken"):
        script, packages = "_mistral_tokenizers.py", ("mistral_common",)
    if path.suffix == ".model":
        script, packages = "_sentencepiece_models.py", ("sentencepiece",)
    made = subprocess.run([*reference_script(script, *packages), what, path],
                          input=json.dumps(texts), text=True, check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)


def build_tulle(path):
    """The program that reads `path` by our own code."""
    if path.suffix != ".model":
        return build("release", "tulle_command")
    output("cmake", "--preset", "release", "-B", OWN_SENTENCEPIECE, "-DTULLE_WITH_SENTENCEPIECE=OFF", "-DTULLE_BUILD_TESTS=OFF", "--log-level=NOTICE")
    return output("cmake", "--build", OWN_SENTENCEPIECE, "--target", "tulle_command")


def tulle(verb, path, values, *options):
    program = OWN_SENTENCEPIECE / "bin" / "tulle" if path.suffix == ".model" else TULLE
    ours = subprocess.run([program, verb, "--model", path, "--json", *options], input="".join(json.dumps(each) + "\n" for each in values),
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ours.returncode != 0:
        raise ValueError(ours.stderr.strip())
    return [json.loads(line) for line in ours.stdout.split("\n")[:-1]]


def seconds(path, text):
    """Of 1 MB, without those to load the tokenizer: of the processor, for other programs may run."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def least(copies):
        times = []
        for _ in range(3):
            began = used()
            tulle("tokenize", path, [text] * copies)
            times.append(used() - began)
        return min(times)
    return max(least(11) - least(1), 0.0) / 10


def a_megabyte(files):
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return (text * (1 + 1000000 // len(text.encode())))[:1000000]


def measure(path):
    build_tulle(path)
    texts = lines(reference("special", path))
    theirs = reference("encode", path, texts)
    ids = tulle("tokenize", path, texts)
    decoded = tulle("detokenize", path, theirs["ids"], *(["--skip-special-tokens"] if path.suffix == ".model" else []))
    is_gguf = path.suffix == ".gguf"  # its rules for <s> are not in its vocabulary
    special = theirs["with_special"] if is_gguf else tulle("tokenize", path, texts, "--add-special-tokens")
    equal = [own == other for own, other in zip(ids, theirs["ids"])]
    with_special = [own == other for own, other in zip(special, theirs["with_special"])]
    equal_texts = [own == other for own, other in zip(decoded, theirs["texts"])]
    prose = seconds(path, a_megabyte([ROOT / "tests" / "golden" / "prose.txt"]))
    code = seconds(path, a_megabyte(sorted((ROOT / "include" / "tulle").rglob("*.hpp"))))
    different = [{"text": texts[i], "ours": ids[i], "theirs": theirs["ids"][i]} for i in range(len(texts)) if not equal[i]]
    different += [{"text": texts[i], "decoded": decoded[i], "theirs": theirs["texts"][i]} for i in range(len(texts)) if not equal_texts[i]]
    return {"passed": all(equal) and all(with_special) and all(equal_texts) and max(prose, code) < LONGEST_SECONDS, "lines": len(texts),
            "equal": sum(equal), "with_special": sum(with_special), "decoded": sum(equal_texts), "prose_s": round(prose, 3),
            "code_s": round(code, 3), "different": different[:50]}


def refused(path, message):
    build("release", "tulle_command")
    try:
        tulle("tokenize", path, ["text"])
    except ValueError as error:
        return {"passed": message in str(error), "refused": message}
    return {"passed": False, "refused": "no"}


def vectors():
    """llama.cpp's own: texts in NAME.gguf.inp, a line of ids for each in NAME.gguf.out."""
    build("release", "tulle_command")
    results, different = {}, []
    for name, path in vocabularies().items():
        texts = path.with_suffix(".gguf.inp").read_text(encoding="utf-8").split(SEPARATOR)
        expected = [[int(each) for each in line.split()] for line in path.with_suffix(".gguf.out").read_text().split("\n")]
        expected = expected[:len(texts)]
        try:
            ids = tulle("tokenize", path, texts)
        except ValueError as error:
            results[name] = str(error)
            if REFUSED_VOCABULARIES.get(name, "another") not in str(error):
                different.append({"vocabulary": name, "ours": str(error)})
            continue
        results[name] = f"{sum(own == other for own, other in zip(ids, expected))} of {len(expected)}"
        different += [{"vocabulary": name, "text": text, "ours": own, "theirs": other}
                      for text, own, other in zip(texts, ids, expected) if own != other]
    return {"passed": not different, "vocabularies": len(results), "results": [f"{name}: {result}" for name, result in results.items()], "different": different[:50]}


def cells():
    def one(name):
        path = tokenizer_file(name)
        return refused(path, REFUSED[name]) if name in REFUSED else measure(path)

    made = {name: lambda name=name: one(name) for name in [*PACKAGES, *FILES]}
    made |= {f"gguf-{name}": lambda name=name: measure(vocabularies()[name]) for name in VOCABULARIES}
    return made | {"vectors": vectors}
