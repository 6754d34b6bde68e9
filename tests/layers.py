#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler checks: the direction of includes, where third-party headers go, that every header has its test,
and the measures of ARCHITECTURE.md. Prints one line a breach; exits 1 when there is any.
    usage: layers.py                              all checks that need no compiler
           layers.py --umbrella COMPILER [FLAG...]  the cost of the umbrella header (measure 5)
           layers.py --measures                   prints the table of ARCHITECTURE.md"""
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include" / "tulle"

# An include goes to the own folder or to a lower layer. Files beside the folders are of the top layer; the umbrella
# tulle.hpp stands above all and is included by none of ours.
LAYERS = {"core": 0, "tensor": 1, "kernel": 2, "cache": 2, "sampling": 2, "text": 2, "format": 3, "model": 3, "grammar": 3,
          "generate": 4, "hub": 4, "compress": 5, "evaluate": 5, "compat": 5, "serve": 6}
TOP = 6

# The one header of ours that may include each third-party library.
THIRD_PARTY = {"nlohmann": {"core/json.hpp"}, "xsimd": {"tensor/simd.hpp"}, "xtensor": {"tensor/xtensor.hpp"},
               "sentencepiece_processor.h": {"text/sentencepiece.hpp"}, "zlib.h": {"format/dataset/gzip_reader.hpp"},
               "yaml-cpp": {"format/yaml/parse_yaml.hpp"}, "xtensor-blas": {"compress/linear_algebra.hpp"},
               "httplib.h": {"core/httplib.hpp"}, "openssl": {"hub/file_digest.hpp"}, "prometheus": {"serve/metrics.hpp"},
               "xgrammar": {"grammar/xgrammar.hpp"}, "dlpack": {"grammar/xgrammar.hpp"}}
SYSTEM = {"cpuid.h", "immintrin.h", "arm_neon.h", "wasm_simd128.h", "fcntl.h", "linux/filter.h", "pthread.h", "sched.h", "unistd.h", "sys/file.h", "sys/mman.h", "sys/socket.h", "sys/stat.h"}
NOT_EVERYWHERE = {"format", "expected", "regex"}  # missing in a supported compiler, or slow and recursive

LONG, TOO_LONG = 300, 400
GENERATED = {"text/unicode_tables.hpp"}

# Headers without a test of their own, and why. Every other path/name.hpp has tests/unit/path/name_test.cpp.
UNTESTED = {
    "compress/adam.hpp": "a part of tunable_matrix.hpp, tested with it",
    "compress/backward/activation.hpp": "a part of half_block.hpp, tested with it, against torch",
    "compress/backward/attention.hpp": "a part of half_block.hpp, tested with it, against torch",
    "compress/backward/layer_norm.hpp": "a part of half_block.hpp, tested with it, against torch",
    "compress/backward/query_key.hpp": "a part of half_block.hpp, tested with it, against torch",
    "compress/backward/rms_norm.hpp": "a part of half_block.hpp, tested with it, against torch",
    "compress/half_refiner.hpp": "tested through compress.hpp",
    "compress/refinement_plan.hpp": "values, tested through recipe.hpp",
    "compress/owl_sparsities.hpp": "tested through compress.hpp",
    "compress/sparsity_profile.hpp": "tested through stage_planner.hpp and compress.hpp",
    "compress/tunable_rows.hpp": "tested through half_block.hpp and compress.hpp",
    "compress/blas_linear.hpp": "a part of block_chain.hpp, tested through compress.hpp",
    "compress/block_chain.hpp": "tested through compress.hpp, which compares its perplexity",
    "compress/block_compressor.hpp": "tested through compress.hpp",
    "compress/block_refiner.hpp": "tested through compress.hpp",
    "compress/channel_order.hpp": "tested through compress.hpp, which permutes models of every layout",
    "compress/compression_report.hpp": "values and their JSON, tested through compress.hpp",
    "compress/fit_problem.hpp": "tested with alps.hpp, against golden vectors",
    "compress/held_out_scores.hpp": "tested through compress.hpp",
    "compress/plan/form_losses.hpp": "tested through plan/form_plan.hpp, which scores a model",
    "compress/plan/score_forms.hpp": "tested through plan/form_plan.hpp, which scores a model",
    "compress/planned_solver.hpp": "tested through compress.hpp",
    "compress/role_statistics.hpp": "tested through compress.hpp, in one group and in several",
    "compress/smooth_quant.hpp": "tested through compress.hpp",
    "compress/token_batch.hpp": "tested through compress.hpp",
    "compress/work_directory.hpp": "tested through compress.hpp, which is interrupted",
    "compress/layer_names.hpp": "tested through compress.hpp, which compresses every layer",
    "compress/solved_matrix.hpp": "tested through compress.hpp, every kind of plan",
    "compress/layer_plan.hpp": "values, tested through recipe.hpp",
    "compress/modifier.hpp": "values, tested through recipe.hpp",
    "core/content_hash.hpp": "tested through generate/packed_cache.hpp, whose files are damaged",
    "core/environment.hpp": "tested through hub/hub_settings.hpp",
    "core/httplib.hpp": "only includes",
    "format/lora/adapter_path.hpp": "values",
    "format/packed_file.hpp": "tested through generate/packed_cache.hpp",
    "grammar/grammars.hpp": "an interface",
    "grammar/json_schema.hpp": "tested over HTTP by tests/serve, every keyword",
    "grammar/regex_characters.hpp": "a part of regex_subset.hpp, tested with it",
    "grammar/schema_containers.hpp": "a part of json_schema.hpp, tested with it",
    "grammar/schema_ends.hpp": "a part of json_schema.hpp, tested with it",
    "grammar/schema_exclusion.hpp": "a part of json_schema.hpp, tested with it",
    "grammar/schema_values.hpp": "a part of json_schema.hpp, tested with it",
    "grammar/xgrammar.hpp": "tested over HTTP by tests/serve",
    "generate/logits_rows.hpp": "tested through generator.hpp",
    "generate/step_report.hpp": "values",
    "hub/file_digest.hpp": "tested over HTTP by tests/hub",
    "hub/find_model.hpp": "tested over HTTP by tests/hub",
    "hub/hub_cache.hpp": "tested over HTTP by tests/hub",
    "hub/hub_settings.hpp": "tested over HTTP by tests/hub",
    "hub/http_client.hpp": "tested over HTTP by tests/hub",
    "hub/hub_client.hpp": "tested over HTTP by tests/hub",
    "hub/hub_download.hpp": "tested over HTTP by tests/hub",
    "hub/resolve_model.hpp": "tested over HTTP by tests/hub",
    "serve/anthropic_messages.hpp": "tested over HTTP by tests/serve",
    "serve/chat_prompt.hpp": "tested over HTTP by tests/serve",
    "serve/chat_tools.hpp": "tested over HTTP by tests/serve",
    "serve/http_routes.hpp": "tested over HTTP by tests/serve",
    "serve/structured_output.hpp": "tested over HTTP by tests/serve",
    "serve/docs_page.hpp": "tested over HTTP by tests/serve",
    "serve/http_connections.hpp": "tested over HTTP by tests/serve",
    "serve/http_exchange.hpp": "tested over HTTP by tests/serve",
    "serve/http_guard.hpp": "tested over HTTP by tests/serve",
    "serve/http_server.hpp": "tested over HTTP by tests/serve",
    "serve/metrics.hpp": "tested over HTTP by tests/serve",
    "serve/openai_chat.hpp": "tested over HTTP by tests/serve",
    "serve/openai_completions.hpp": "tested over HTTP by tests/serve",
    "serve/openai_responses.hpp": "tested over HTTP by tests/serve",
    "serve/openapi.hpp": "tested over HTTP by tests/serve",
    "serve/predict.hpp": "tested over HTTP by tests/serve",
    "serve/served_models.hpp": "tested over HTTP by tests/serve",
    "serve/server.hpp": "tested over HTTP by tests/serve",
    "serve/server_info.hpp": "tested over HTTP by tests/serve",
    "serve/api_error.hpp": "values; every refusal of tests/serve",
    "serve/generation_job.hpp": "tested with model_worker.hpp",
    "serve/reply.hpp": "an interface; each API is one",
    "serve/running_job.hpp": "tested with model_worker.hpp",
    "serve/server_options.hpp": "values, tested through server_config.hpp and tests/serve",
    "tulle.hpp": "only includes; tests/package compiles it",
    "core/compiled.hpp": "one macro; every program compiles it",
    "serve/compiled.hpp": "one macro; every program that serves compiles it",
    "compress/compiled.hpp": "one macro; every program that compresses compiles it",
    "generate/compiled.hpp": "only declares what tools/compiled holds",
    "generate/continuation.hpp": "a part of generator.hpp, tested with it and with speculative.hpp",
    "generate/draft/draft_options.hpp": "values, tested through make_speculation.hpp",
    "generate/drafter.hpp": "a concept; every drafter is tested",
    "generate/speculation.hpp": "an interface and values, tested through speculative.hpp",
    "generate/engine_options.hpp": "values, tested through engine.hpp",
    "kernel/compiled.hpp": "only declares what tools/compiled holds",
    "format/onnx/onnx_graph.hpp": "a part of onnx_checkpoint.hpp, tested with it",
    "format/onnx/onnx_operand.hpp": "a part of onnx_weights.hpp, tested with onnx_checkpoint.hpp",
    "format/onnx/onnx_storage.hpp": "a part of onnx_checkpoint.hpp, tested with it",
    "format/onnx/onnx_tensors.hpp": "a part of onnx_checkpoint.hpp, tested with it",
    "format/onnx/onnx_weights.hpp": "a part of onnx_checkpoint.hpp, tested with it",
    "kernel/activations/quantized_row.hpp": "a part of activations_i8.hpp, tested with it",
    "kernel/dense/dense_i4_loop_simd128.hpp": "a part of dense_i4_loop.hpp, tested with it",
    "kernel/ell/ell_loop_avx2.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_loop_avx512.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_pairs.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_unpacked.hpp": "a part of the ELL loop for batches, tested with ell_loop.hpp",
    "kernel/int8/balanced_blocks.hpp": "a part of balanced.hpp, tested with it",
    "kernel/int8/balanced_patterns.hpp": "a part of balanced.hpp, tested with it",
    "kernel/int8/dense_blocks.hpp": "a part of dense_i8.hpp, tested with it",
    "kernel/int8/i8_blocks.hpp": "a part of packed_panels.hpp, tested with it",
    "kernel/int8/i8_weights.hpp": "the kernel of every int8 layout, tested with dense_i8.hpp and by the conformance suite",
    "kernel/int8/loop/dot_i8_simd128.hpp": "a part of dot_i8.hpp, tested with it",
    "kernel/ell/ell_weights.hpp": "a part of ell.hpp, tested with it",
    "kernel/int8/loop/i8_loop_avx2.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/i8_loop_avx512.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/i8_loop_simd128.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/unpacked_blocks_avx2.hpp": "a part of unpacked_blocks.hpp, tested with it",
    "kernel/int8/loop/unpacked_blocks_avx512.hpp": "a part of unpacked_blocks.hpp, tested with it",
    "model/attention_block_128.hpp": "a part of attention_block.hpp, tested with it",
    "model/attention_codes_128.hpp": "a part of attention_codes.hpp, tested with it",
    "model/attention_loop_128.hpp": "a part of attention_loop.hpp, tested with it",
    "model/attention_rows.hpp": "a part of attention.hpp, tested with it",
    "model/code_block.hpp": "a part of attention.hpp, tested with it",
    "model/float_block.hpp": "a part of attention.hpp, tested with it",
    "model/query_block.hpp": "a part of attention.hpp, tested with it",
    "tensor/ops_avx2.hpp": "a part of ops.hpp, tested with it",
    "text/chat_message.hpp": "two strings, tested through chat_template.hpp",
    "text/sentencepiece_options.hpp": "values, tested through sentencepiece.hpp and tokenizer_files.hpp",
    "text/unicode_tables.hpp": "data; read through text/unicode.hpp",
}

# Measure 3: how many headers of ours one header reaches, itself not counted.
REACH = {  # header -> limit
    "kernel/linear_kernel.hpp": 10, "cache/cache_layout.hpp": 10, "sampling/sampler.hpp": 10, "text/tokenizer.hpp": 10,
    "kernel/int8/dense_i8.hpp": 40, "kernel/int8/bitmask_i8.hpp": 40,
    "kernel/int8/balanced.hpp": 40,
    "kernel/ell/ell.hpp": 40, "kernel/dense/dense_i4.hpp": 40, "kernel/dense/dense_float.hpp": 40,
    "generate/generator.hpp": 53,  # 30 before sequences, scheduler, step, decoder and attention had headers for their parts
}

# A header that brings a library to link with, and the folders that may reach it: programs that do not need it do without.
KEPT_APART = {"format/yaml/parse_yaml.hpp": ("compress/", "serve/"),
              "format/dataset/gzip_reader.hpp": ("format/dataset/", "evaluate/", "compress/"),
              "core/httplib.hpp": ("hub/", "serve/"), "hub/file_digest.hpp": ("hub/", "serve/"), "serve/metrics.hpp": ("serve/",),
              "grammar/xgrammar.hpp": ("grammar/",)}

# Measure 5: what the umbrella costs who includes it. Lines after the preprocessor do not depend on how busy a machine is; the
# seconds follow them.
UMBRELLA_LINES = 250_000

# Measure 7: template parameters of one template.
TEMPLATE_PARAMETERS = 4

# Measure 8: headers with #define or #if, and why. Elsewhere a choice is a template argument or a value.
CPU, SYSTEM_CALLS, COMPILER = "instruction sets of one CPU family", "calls of one system", "a gap of one compiler"
LIBRARY = "definitions left to a library of this build"
PREPROCESSOR = {"core/": SYSTEM_CALLS, "tensor/": CPU, "kernel/": CPU, "cache/": CPU, "model/": CPU,
                "format/": SYSTEM_CALLS, "sampling/": COMPILER, "text/": COMPILER, "generate/": SYSTEM_CALLS,
                "compress/": LIBRARY, "serve/": LIBRARY}
PREPROCESSOR_LINES = 164  # all of them together; 24 of them leave definitions to libraries

COLUMNS = 120
LINES = ("tests", "tools", "bench", "capi", "examples")  # folders whose C and C++ lines are measured, beside include/
FOREIGN_LINES = {}  # file -> reason

# Declares `extern template` for the header of which it is the second half.
FIRST_HALF = {"kernel/compiled.hpp": ["kernel/any_kernel.hpp"], "generate/compiled.hpp": ["generate/engine.hpp"]}

problems = []
notes = []


def breach(path, message):
    problems.append(f"{path.relative_to(ROOT)}: {message}")


def includes(path):
    """(line number, form, target) of every include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1], found[2]


def folder_of(name):
    """The layer folder of a header named from include/tulle; "" beside the folders."""
    return name.split("/")[0] if "/" in name else ""


def check_include(path, name, number, form, target):
    """One include of the public header `name`."""
    where = f"line {number}: "
    if form == '"' or ".." in target:
        return breach(path, f'{where}write #include <tulle/folder/file.hpp>, not {target}')
    if target.startswith("tulle/"):
        inner = target.removeprefix("tulle/")
        if not (INCLUDE / inner).is_file():
            return breach(path, f"{where}there is no {target}")
        if inner == "tulle.hpp":
            return breach(path, f"{where}the umbrella is for users; include what is used")
        mine, other = folder_of(name), folder_of(inner)
        if name != "tulle.hpp" and mine != other and LAYERS.get(other, TOP) >= LAYERS.get(mine, TOP):
            breach(path, f"{where}{mine or name} (L{LAYERS.get(mine, TOP)}) must not include {target} "
                         f"(L{LAYERS.get(other, TOP)})")
        return None
    library = target if target in THIRD_PARTY else target.split("/")[0].removesuffix(".hpp")
    if library in THIRD_PARTY:
        if name not in THIRD_PARTY[library]:
            breach(path, f"{where}{target} is only included by {', '.join(sorted(THIRD_PARTY[library]))}")
    elif target in NOT_EVERYWHERE:
        breach(path, f"{where}<{target}> is not used here")
    elif ("/" in target or "." in target) and target not in SYSTEM:
        breach(path, f"{where}{target} is neither the standard library's nor listed in {Path(__file__).name}")
    return None


def check_header(path):
    name = path.relative_to(INCLUDE).as_posix()
    folder = folder_of(name)
    if folder and folder not in LAYERS:
        return breach(path, f"folder {folder} has no layer in {Path(__file__).name}")
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    layer = re.search(r"^/// \\file (?:.*\n///)?.*\(L(\d)\b", text, re.MULTILINE)
    if len(lines) < 3 or not lines[1].startswith("/// \\file "):
        breach(path, "line 2 must be /// \\file, one sentence and the layer")
    elif name != "tulle.hpp" and (not layer or int(layer[1]) != LAYERS.get(folder, TOP)):
        breach(path, f"its \\file sentence must end in (L{LAYERS.get(folder, TOP)})")
    if "#pragma once" not in lines:
        breach(path, "no #pragma once")
    if name not in GENERATED and len(lines) > LONG:
        message = f"{len(lines)} lines: split it (aim at 60 to 250)"
        breach(path, message) if len(lines) > TOO_LONG else notes.append(f"{path.relative_to(ROOT)}: {message}")
    for number, form, target in includes(path):
        check_include(path, name, number, form, target)
    if name.endswith("_inline.hpp"):  # definitions of the header of that name, tested with it
        return None
    test = ROOT / "tests" / "unit" / (name.removesuffix(".hpp") + "_test.cpp")
    if name in UNTESTED:
        if test.exists():
            breach(path, f"has a test: take it off the list in {Path(__file__).name}")
    elif not test.exists():
        breach(path, f"no {test.relative_to(ROOT)}")
    else:
        first = next(includes(test), (0, "", ""))
        if first[2] != f"tulle/{name}":
            breach(test, f"its first include must be <tulle/{name}>, the header under test")
    return None


def reach():
    """header -> all headers of ours that it includes, at any depth; and the longest path. Reports cycles."""
    direct = {}
    for path in sorted(INCLUDE.rglob("*.hpp")):
        name = path.relative_to(INCLUDE).as_posix()
        targets = {target.removeprefix("tulle/") for _, _, target in includes(path) if target.startswith("tulle/")}
        # The second half of a header, which only that includes, and which includes it so that it compiles by itself.
        if name.endswith(("_inline.hpp", "/compiled.hpp")):
            targets -= {name.replace("_inline.hpp", ".hpp"), *FIRST_HALF.get(name, ())}
        direct[name] = targets
    closed, depth, open_ = {}, {}, []

    def close(name):
        if name in open_:
            breach(INCLUDE / name, f"a cycle of includes: {' -> '.join([*open_[open_.index(name):], name])}")
            return set()
        if name not in closed:
            open_.append(name)
            closed[name], depth[name] = set(), 0
            for other in direct.get(name, ()):
                closed[name] |= {other} | close(other)
                depth[name] = max(depth[name], 1 + depth.get(other, 0))
            open_.pop()
        return closed[name]

    for name in direct:
        close(name)
    return closed, max(depth.values())


def template_parameters(text):
    """The number of parameters of every template in a header."""
    counts = []
    for found in re.finditer(r"\btemplate\s*<", text):
        depth, commas, end = 1, 0, found.end()
        while depth and end < len(text):
            letter = text[end]
            depth += (letter in "<({[") - (letter in ">)}]")
            commas += letter == "," and depth == 1
            end += 1
        counts.append(0 if text[found.end():end - 1].strip() == "" else commas + 1)
    return counts


def code_of(path):
    """A header's text without comments."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"//.*", "", text)


def preprocessor_lines(text):
    return len(re.findall(r"^\s*#\s*(?:define|if|ifdef|ifndef)\b", text, re.MULTILINE))


def check_header_measures(path):
    """Measures 7 and 8 of one header."""
    name, text = path.relative_to(INCLUDE).as_posix(), code_of(path)
    widest = max(template_parameters(text), default=0)
    if widest > TEMPLATE_PARAMETERS:
        breach(path, f"a template with {widest} parameters: at most {TEMPLATE_PARAMETERS}")
    if re.search(r"\benable_if", text):
        breach(path, "enable_if: write a concept")
    if preprocessor_lines(text) and not name.startswith(tuple(PREPROCESSOR)):
        breach(path, f"#define or #if, and {Path(__file__).name} lists no reason for it")


def check_measures():
    """Measures 3, 7 and 8."""
    closed, _ = reach()
    for name, limit in REACH.items():
        if name not in closed:
            breach(Path(__file__).resolve(), f"lists {name}, which does not exist")
        elif len(closed[name]) > limit:
            breach(INCLUDE / name, f"reaches {len(closed[name])} headers of ours: at most {limit}")
    for apart, folders in KEPT_APART.items():
        for name in sorted(closed):
            if apart in closed[name] and not name.startswith(folders):
                breach(INCLUDE / name, f"reaches {apart}, which only {', '.join(folders)} may")
    headers = sorted(INCLUDE.rglob("*.hpp"))
    for path in headers:
        check_header_measures(path)
    lines = sum(preprocessor_lines(code_of(path)) for path in headers)
    if lines > PREPROCESSOR_LINES:
        breach(INCLUDE, f"{lines} lines #define and #if: at most {PREPROCESSOR_LINES}")


def umbrella_lines(compiler, flags):
    """Lines of the umbrella after the preprocessor, those that say where a line is from not counted."""
    result = subprocess.run([compiler, "-std=c++20", "-E", "-P", "-x", "c++", "-I", str(INCLUDE.parent), *flags,
                             str(INCLUDE / "tulle.hpp")], capture_output=True, text=True, check=True)
    return result.stdout.count("\n")


def check_umbrella(compiler, flags):
    """Measure 5."""
    lines = umbrella_lines(compiler, flags)
    if lines > UMBRELLA_LINES:
        breach(INCLUDE / "tulle.hpp", f"{lines} lines after the preprocessor: at most {UMBRELLA_LINES}")
    print(f"umbrella: {lines} lines after the preprocessor, at most {UMBRELLA_LINES}")


def check_columns():
    for folder in LINES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".c", ".h", ".cpp", ".hpp"} or path.relative_to(ROOT).as_posix() in FOREIGN_LINES:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if len(line) > COLUMNS:
                    breach(path, f"line {number} has {len(line)} columns: at most {COLUMNS}")


def print_measures():
    headers = sorted(INCLUDE.rglob("*.hpp"))
    names = {path: path.relative_to(INCLUDE).as_posix() for path in headers}
    sizes = {names[path]: len(path.read_text(encoding="utf-8").splitlines()) for path in headers}
    ours = {name: size for name, size in sizes.items() if name not in GENERATED}
    largest = max(ours, key=ours.get)
    closed, depth = reach()
    concepts = [len(closed[name]) for name, limit in REACH.items() if limit == 10 and name in closed]
    kernels = [len(closed[name]) for name, limit in REACH.items() if limit == 40 and name in closed]
    texts = {names[path]: code_of(path) for path in headers}
    counts = [count for text in texts.values() for count in template_parameters(text)]
    directives = {name: preprocessor_lines(text) for name, text in texts.items()}
    rows = [
        ("1 file size", f"at most {TOO_LONG} lines, median 150",
         f"largest {ours[largest]} (`{largest}`), median {statistics.median(sizes.values()):.0f}, "
         f"{len(sizes)} headers, {sum(sizes.values())} lines; generated tables are longer"),
        ("2 includes upward or sideways", "0", "0"),
        ("3 cycles, reach", "0 cycles; concept 10, kernel 40, `generator.hpp` 30",
         f"0; {max(concepts)}, {max(kernels)}, {len(closed['generate/generator.hpp'])}; depth {depth}: a header is short and "
         "names all that it uses, so paths are long; reach, not depth, is what a reader and a compiler pay for"),
        ("4 headers that compile alone", "all", "all (test `headers`)"),
        ("5 cost of the umbrella", f"{UMBRELLA_LINES} lines after the preprocessor", "test `umbrella`"),
        ("6 third-party libraries", "one header each", "one header each"),
        ("7 template parameters, `enable_if`", f"{TEMPLATE_PARAMETERS}; 0",
         f"{sum(count > TEMPLATE_PARAMETERS for count in counts)} of {len(counts)} have more; 0"),
        ("8 `#define`, `#if`", f"{PREPROCESSOR_LINES} lines, none outside the listed folders",
         f"{sum(directives.values())} lines in {sum(map(bool, directives.values()))} headers: definitions left to compiled "
         "libraries, instruction sets, system calls and gaps of compilers, which no template can ask for"),
        ("9 headers without a test", "0", f"0; {len(UNTESTED)} are tested through their owner, each with its reason"),
        ("10 drift of symbols, structs, bindings, README", "0", "0 (tests `capi_golden_lists`, `declarations`, `layers`)"),
    ]
    print("| measure | limit | value |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def check_program(path):
    """Tests, examples, tools: third-party libraries that Tulle wraps are reached through Tulle."""
    for number, form, target in includes(path):
        library = target if target in THIRD_PARTY else target.split("/")[0].removesuffix(".hpp")
        if library in THIRD_PARTY:
            breach(path, f"line {number}: include <tulle/{sorted(THIRD_PARTY[library])[0]}> instead of {target}")
        elif ".." in target:
            breach(path, f"line {number}: no ../ in includes")


def check_readme():
    """The README's first program is the one that tests/package compiles, line for line."""
    readme, program = ROOT / "README.md", ROOT / "tests" / "package" / "generate.cpp"
    block = re.search(r"^```cpp\n(.*?)^```", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not block or not program.read_text(encoding="utf-8").endswith(block[1]):
        breach(readme, f"its first program is not that of {program.relative_to(ROOT)}")


def main():
    if sys.argv[1:2] == ["--measures"]:
        return print_measures()
    if sys.argv[1:2] == ["--umbrella"]:
        check_umbrella(sys.argv[2], sys.argv[3:])
        return report([])
    headers = sorted(INCLUDE.rglob("*.hpp"))
    for path in headers:
        check_header(path)
    check_readme()
    for name in sorted(UNTESTED):
        if not (INCLUDE / name).is_file():
            breach(Path(__file__).resolve(), f"lists {name}, which does not exist")
    programs = sorted(path for folder in ("tests", "examples", "tools", "bench")
                      for path in (ROOT / folder).rglob("*.[ch]pp"))
    for path in programs:
        check_program(path)
    scripts = sorted(path for folder in ("tests", "tools") for path in (ROOT / folder).rglob("*.py"))
    for path in headers + programs + scripts:
        if "SPDX-License-Identifier: Apache-2.0" not in "".join(path.open(encoding="utf-8").readlines()[:2]):
            breach(path, "no SPDX-License-Identifier: Apache-2.0 in its first lines")
    check_measures()
    check_columns()
    return report([f"layers: {len(headers)} headers, {len(programs)} programs' files, {len(problems)} breaches"])


def report(last):
    for line in notes + problems + last:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
