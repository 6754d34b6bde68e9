# SPDX-License-Identifier: Apache-2.0
"""tulle benchmark on tiny models and a synthetic one: what it reports, not how fast this machine is."""

import html.parser
import json
import shutil
import sys
import unittest

from command import MODELS, Q8_0, CommandTest, environment, run

SHORT = ["--time", 0.005, "--warmup-time", 0, "--prompt-tokens", 20]

DEEPSPARSE_KEYS = {
    "engine",
    "version",
    "orig_model_path",
    "model_path",
    "batch_size",
    "input_shapes",
    "num_cores",
    "scenario",
    "scheduler",
    "seconds_to_run",
    "num_streams",
    "fraction_of_supported_ops",
    "sequence_length",
    "input_ids_length",
    "benchmark_result",
}

QUANTILES = ["25.0%", "50.0%", "75.0%", "90.0%", "95.0%", "99.0%", "99.9%"]

RESULT_KEYS = {
    "name",
    "kernel",
    "isa",
    "structure",
    "sparsity",
    "values",
    "threads",
    "decode_tokens_per_second",
    "prefill_tokens_per_second",
    "bytes_per_token",
    "bandwidth_share",
}


class Page(html.parser.HTMLParser):
    """What a page is made of: its tags, its text, and the elements of every chart."""

    def __init__(self, source):
        super().__init__()
        self.source, self.tags, self.text, self.open, self.charts = source, [], "", [], []
        self.feed(source)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def ids(self, tag):
        """How many elements of that name there are, each described by elements of the page."""
        ids = {each["id"] for each in self.identified}
        for chart in self.charts:
            assert set(chart["labels"]) <= ids, chart
        return self.tags.count(tag)

    identified = ()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if "id" in attributes:
            assert attributes["id"] not in {each["id"] for each in self.identified}, attributes
            self.identified = (*self.identified, attributes)
        if tag == "svg":
            assert attributes["role"] == "img"
            self.charts.append({"labels": attributes["aria-labelledby"].split(), "rect": [], "desc": ""})
        if tag == "rect":
            self.charts[-1]["rect"].append(attributes)
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "desc":
            self.charts[-1]["desc"] += data
        self.text += data


class BenchmarkTest(CommandTest):
    def benchmark(self, *flags):
        return json.loads(self.succeed("benchmark", *flags, *SHORT, "--json"))

    def model(self, *flags):
        """The first result: that of the model itself."""
        return self.benchmark(*flags, "--no-baselines")["results"][0]

    def test_lines_of_deepsparse(self):
        text = self.succeed("benchmark", Q8_0, *SHORT, "--batch-size", 2).decode()
        number = r"\d+\.\d{4}"
        self.assertRegex(
            text,
            rf"\AOriginal Model Path: {Q8_0}\nBatch Size: 2\nSequence Length: \d+\nInput IDs Length: 1\n"
            r"Scenario: sync\n"
            rf"Throughput \(items/sec\): {number}\nLatency Mean \(ms/batch\): {number}\n"
            rf"Latency Median \(ms/batch\): {number}\nLatency Std \(ms/batch\): {number}\nIterations: \d+\n\n",
        )
        for words in ["KV fill: 128 tokens", "Read bandwidth", "Against dense_i8: decode", "Against dense_f32: decode"]:
            self.assertIn(words, text)
        self.assertNotIn("worthless", text)

    def test_drafts_of_a_shape(self):
        """The text is the same, and an oracle that is always right has every token accepted."""
        shape = ["--shape", "smollm2-135m", "--draft-shape", "smollm2-135m", "--no-baselines"]
        report = self.benchmark(*shape, "--acceptance", 1, "--spec-length", 3, "--verify-rows", 4, "--draft-text", 6)
        self.assertEqual([result["name"] for result in report["results"]], ["model", "draft"])
        (run,) = report["speculation"]["runs"]
        self.assertEqual((run["spec_length"], run["accepted_of_examined"], run["same_text"]), (3, 1, True))
        ours = 4 / (3 * report["speculation"]["draft_cost"] + run["verification_cost"])
        self.assertAlmostEqual(run["predicted_speed_up"], ours, places=6)
        for flags, reason in ((shape[2:4], "needs --shape"), ([*shape[:3], "codegen-350m"], "another vocabulary"),
                              ([*shape, "--spec-length", 8], "must be above --spec-length")):
            self.refuse(2, "benchmark", *flags, saying=reason)

    def test_json_and_export(self):
        path = self.folder / "result.json"
        printed = self.benchmark("--model", Q8_0, "-x", path, "--threads", 2, "--num-kv-cache-tokens", 7)
        self.assertEqual(printed, json.loads(path.read_text()))
        self.assertLessEqual(
            DEEPSPARSE_KEYS | {"machine", "commit", "flags", "settings", "results", "ratios"}, printed.keys()
        )
        self.assertEqual((printed["engine"], printed["num_cores"], printed["scenario"]), ("tulle", 2, "sync"))
        self.assertLessEqual({"processor", "cores", "instruction_set", "instruction_sets"}, printed["machine"].keys())
        self.assertIn(printed["machine"]["instruction_set"], printed["machine"]["instruction_sets"])
        self.assertEqual(printed["flags"]["--threads"], "2")
        self.assertEqual(printed["flags"]["--num-kv-cache-tokens"], "7")
        self.assertIs(printed["flags"]["--json"], True)
        self.assertNotIn("--batch-size", printed["flags"])
        timing = printed["benchmark_result"]
        quantiles = [timing[key] for key in QUANTILES]
        self.assertEqual(quantiles, sorted(quantiles))
        self.assertEqual(timing["median"], timing["50.0%"])
        self.assertGreaterEqual(timing["iterations"], 3)
        self.assertAlmostEqual(timing["items_per_sec"] * timing["mean"], 1000, places=3)
        self.assertEqual([result["name"] for result in printed["results"]], ["model", "dense_i8", "dense_f32"])
        self.assertEqual(set(printed["ratios"]), {"dense_i8", "dense_f32"})
        for result in printed["results"]:
            self.assertLessEqual(RESULT_KEYS, result.keys())
            self.assertGreater(min(result["decode_tokens_per_second"], result["prefill_tokens_per_second"]), 0)
        self.assertEqual([result["values"] for result in printed["results"]][1:], ["i8", "f32"])

    def test_markdown(self):
        text = self.succeed("benchmark", Q8_0, *SHORT, "--markdown", "--values", "i8").decode()
        self.assertTrue(text.startswith(f"### {Q8_0}\n\n* Machine: "), text)
        self.assertIn("\n* Flags: --values i8 ", text)
        tables = [lines.splitlines() for lines in text.split("\n\n") if lines.startswith("|")]
        self.assertEqual(len(tables), 2)
        for table in tables:
            self.assertEqual(len({line.count("|") for line in table}), 1, table)
            self.assertRegex(table[1], r"\A\|(---\|)+\Z")
            names = [line.split("|")[1].strip() for line in table[2:]]
            self.assertEqual(names, ["model", "dense_i8", "dense_f32"])
        self.assertRegex(tables[0][2], r"\| [\d.]+ \([\d.]+-[\d.]+\) \| [\d.]+ \([\d.]+-[\d.]+\) \|")

    def test_page(self):
        path = self.folder / "result.html"
        name = self.folder / "<a> & b.gguf"
        name.symlink_to(Q8_0)
        report = self.benchmark(name, "--html", path, "--structure", "2:4")
        page = Page(path.read_text())
        self.assertEqual(page.ids("svg"), 4)
        self.assertLessEqual({"svg", "title", "desc", "table", "caption", "style"}, set(page.tags))
        self.assertFalse({"script", "link", "img", "iframe", "a"} & set(page.tags), "only what is in the page")
        self.assertNotIn("://", page.source)
        self.assertIn("prefers-color-scheme: dark", page.source)
        for each in [str(name), report["commit"], report["machine"]["processor"], "--structure 2:4", "worthless"]:
            self.assertIn(each, page.text)
        # A bar is as long as its figure: the same share of the longest bar or spread.
        for chart, key in zip(page.charts[:2], ["decode_spread", "prefill_spread"]):
            spreads = [result[key] for result in report["results"]]
            longest = max(spread["most"] for spread in spreads)
            lengths = [float(rect["width"]) for rect in chart["rect"]]
            self.assertEqual(len(lengths), 3)
            for length, spread in zip(lengths, spreads):
                self.assertAlmostEqual(length, 360 * spread["median"] / longest, delta=0.1)
            for result in report["results"]:
                self.assertIn(result["name"], chart["desc"])

    def test_baselines_are_chosen(self):
        names = lambda *flags: [result["name"] for result in self.benchmark(Q8_0, *flags)["results"]]
        self.assertEqual(names("--baselines", "dense_i8"), ["model", "dense_i8"])
        self.assertEqual(names("--baselines", "none"), ["model"])
        self.assertEqual(names("--no-baselines"), ["model"])

    def test_bytes_count_weights_and_cache(self):
        facts = json.loads(self.succeed("inspect", "--model", Q8_0, "--json"))
        shape = facts["architecture"]
        packed = sum(matrix["packed_bytes"] for matrix in facts["matrices"])
        position = 2 * shape["layers"] * shape["kv_heads"] * shape["head_dim"]
        for dtype, size in [("f32", 4), ("f16", 2)]:
            flags = [Q8_0, "--cache-dtype", dtype, "--num-kv-cache-tokens"]
            empty, filled = (self.model(*flags, tokens)["bytes_per_token"] for tokens in (0, 100))
            self.assertEqual(empty, packed + position * size)
            self.assertEqual(filled - empty, 100 * position * size)
        many = self.model(Q8_0, "--cache-dtype", "f32", "--num-kv-cache-tokens", 0, "--batch-size", 4)
        self.assertEqual(many["bytes_per_token"], packed / 4 + position * 4)

    def test_zeros_reach_the_sparse_kernels(self):
        # By instruction set: `auto` takes a bitmask on AVX-512, and sliced ELL at 50 % sparsity on AVX2; with AVX-VNNI Intel's
        # CPUs multiply dense weights faster. A layer of the int8 model is 8:16, which only AVX-512 does not prefer.
        machine = self.benchmark(Q8_0, "--no-baselines")["machine"]
        isa = machine["instruction_set"]
        with_vnni = "dense_i8" if "Intel" in machine["processor"] else "ell_i8"
        half = {"avx512": "bitmask_i8", "avx_vnni": with_vnni, "avx2": "ell_i8"}.get(isa, "dense_i8")
        half_of_int8 = {half} if isa == "avx512" else {half, "8:16_i8"}
        tied, codegen, int8 = (MODELS / name for name in ("llama-tiny-tied", "codegen-tiny", "llama-tiny-int8"))
        for model, flags, kernels, sparsity in [
            (tied, ["--structure", "2:4"], {"2:4_i8"}, 0.5),
            (codegen, ["--structure", "4:16"], {"4:16_i8"}, 0.75),
            (int8, ["--structure", "1:4", "--sparsity", 0.75], {"4:16_i8"}, 0.75),
            (Q8_0, ["--structure", "8:16-gap4", "--sparsity", 0.5], {"8:16_gap4_i8"}, 0.5),
            (codegen, ["--sparsity", 0.5], {half}, 0.5),
            (int8, ["--sparsity", 0.5], half_of_int8, 0.5),
            (Q8_0, ["--sparsity", 0.9, "--structure", "unstructured"], {"ell_i8"}, 0.9),
            *((MODELS / packed, ["--structure", "2:4", "--values", "i8"], {"2:4_i8"}, 0.5)
              for packed in ("pack-quantized-int4", "bitmask-int8", "gpt-oss-tiny-mxfp4")),
        ]:
            report = self.benchmark(model, *flags, "--baselines", "dense_i8")
            result, dense = report["results"]
            wanted = {"dense_i8"} if isa == "scalar" else kernels
            self.assertEqual(set(result["kernel_bytes"]), wanted, (model, flags))
            self.assertEqual(result["sparsity"], sparsity)
            self.assertEqual(set(dense["kernel_bytes"]), {"dense_i8"})
            self.assertIn("worthless", report["settings"]["caveat"])

    def test_zeros_of_a_file_are_measured(self):
        dense, sparse = (self.model(MODELS / name) for name in ("llama-tiny-gqa", "llama-tiny-int8"))
        self.assertEqual((dense["structure"], dense["sparsity"]), ("dense", 0))
        self.assertGreater(sparse["sparsity"], 0.25)
        self.assertNotEqual(sparse["structure"], "dense")

    def test_kernels_and_values(self):
        few = self.model(MODELS / "llama-tiny-gqa", "--sparsity", 0.01)
        self.assertEqual((few["kernel"], few["structure"]), ("dense_i8", "unstructured"))
        self.assertEqual(self.model(MODELS / "llama-tiny-gqa")["kernel"], "dense_f32")
        self.assertEqual(self.model(MODELS / "llama-tiny-gqa", "--values", "i8")["kernel"], "dense_i8")
        self.assertEqual(self.model(MODELS / "llama-tiny-gqa", "--values", "i4")["values"], "i4")
        few = self.model(MODELS / "llama-tiny-gqa", "--values", "i4", "--sparsity", 0.8)
        self.assertEqual((few["kernel"], few["values"], few["sparsity"]), ("ell_i4", "i4", 0.8))
        forced = self.model(MODELS / "llama-tiny-gqa", "--sparsity", 0.5, "--kernel", "bitmask_i8", "--isa", "scalar")
        self.assertEqual((forced["kernel"], forced["isa"]), ("bitmask_i8", "scalar"))

    @unittest.skipUnless(sys.platform == "linux", "threads are bound to cores on Linux alone")
    def test_pinned_threads(self):
        for flags in [["--pin"], ["--thread-pinning", "core"]]:
            self.assertIs(self.benchmark(Q8_0, "--no-baselines", *flags)["settings"]["pinned"], True)
            self.assertIn(b" pinned threads on ", self.succeed("benchmark", Q8_0, *SHORT, *flags))
        self.assertIs(self.benchmark(Q8_0, "--no-baselines")["settings"]["pinned"], False)

    def test_caches_batches_and_several_tokens_a_step(self):
        for flags in [
            ["--cache", "paged", "-b", 3],
            ["--cache", "sliding"],
            ["--num-kv-cache-tokens", 0],
            ["--input-ids-length", 5, "-b", 2, "--prompt-sequence-length", 4],
        ]:
            report = self.benchmark(Q8_0, *flags, "--no-baselines")
            self.assertGreater(report["results"][0]["decode_tokens_per_second"], 0, flags)
            self.assertLess(report["sequence_length"], 1000, flags)

    def test_passes_over_several_rows(self):
        report = self.benchmark(Q8_0, "--verify-rows", 3, "--prompt-sequence-length", 2, "-b", 2)
        self.assertEqual(report["settings"]["verify_rows"], 3)
        for result in report["results"]:
            self.assertEqual([each["rows"] for each in result["verification"]], [2, 3])
            for each in result["verification"]:
                cost = each["cost"]
                self.assertGreater(min(each["ms"], cost["least"]), 0)
                self.assertLessEqual(cost["least"], cost["median"])
                self.assertLessEqual(cost["median"], cost["most"])
        text = self.succeed("benchmark", Q8_0, *SHORT, "--verify-rows", 3).decode()
        lines = text.split("in passes over one row:\n\n")[1].splitlines()
        self.assertEqual(lines[0].split(), ["kernel", "2", "rows", "3", "rows"])
        self.assertEqual(
            [line.split()[:2] for line in lines[1:]],
            [["model", "dense_i8"], ["dense_i8", "dense_i8"], ["dense_f32", "dense_f32"]],
        )
        for line in lines[1:]:
            self.assertEqual(len(line.split()), 4)
        self.assertEqual(self.model(Q8_0, "--verify-rows", 1)["verification"], [])
        self.assertNotIn("one row", self.succeed("benchmark", Q8_0, *SHORT, "--verify-rows", 1).decode())

    def test_a_synthetic_shape(self):
        text = self.succeed(
            "benchmark", "--shape", "smollm2-135m", "--structure", "2:4", "--no-baselines", *SHORT
        ).decode()
        self.assertIn("Original Model Path: synthetic smollm2-135m\n", text)
        self.assertIn("worthless", text)

    def test_spellings_of_deepsparse(self):
        report = self.benchmark(
            Q8_0, "--ncores", 1, "--seq_len", 200, "--input_ids_len", 2, "--thread_pinning", "none", "-s", "sync", "-q"
        )
        self.assertEqual([report[key] for key in ("num_cores", "sequence_length", "input_ids_length")], [1, 200, 2])
        arguments = ["benchmark", str(Q8_0), *map(str, SHORT), "--scenario", "async", "--no-baselines"]
        done = run(*arguments)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, rb"\Atulle: scenario async is not built; running sync\n\Z")
        self.assertIn(b"Scenario: sync\n", done.stdout)
        self.assertEqual(run(*arguments, "--quiet").stderr, b"")

    def test_errors(self):
        refuse = lambda status, *flags, saying: self.refuse(status, "benchmark", *flags, *SHORT, saying=saying)
        refuse(1, Q8_0, "--thread-pinning", "numa", saying="pinning")
        refuse(1, Q8_0, "--pin", "--threads", 1000, saying="1000")
        refuse(1, self.folder / "none", saying="none")
        refuse(1, Q8_0, "-x", self.folder / "no" / "x.json", saying="cannot create")
        refuse(1, Q8_0, "-x", "/dev/full", saying=["/dev/full", "No space"])
        (self.folder / "old.json").write_text('{"old": 1}')
        refuse(1, Q8_0, "-x", self.folder / "old.json", "--html", self.folder / "no" / "x.html", saying="cannot create")
        self.assertEqual((self.folder / "old.json").read_text(), '{"old": 1}')
        refuse(1, Q8_0, "--html", self.folder / "old.json", saying=["old.json", "another kind", "left as it is"])
        model = shutil.copyfile(Q8_0, self.folder / "model.gguf")
        for flag in ("-x", "--html"):
            refuse(1, model, flag, model, saying=["model.gguf", "another kind", "left as it is"])
        self.assertEqual(model.read_bytes(), Q8_0.read_bytes())
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"old.json", "model.gguf"})
        refuse(1, saying="--model")
        refuse(2, Q8_0, "--structure", "unstructured", saying="--sparsity")
        refuse(2, Q8_0, "--structure", "2:4", "--sparsity", 0.6, saying="0.50")
        refuse(2, Q8_0, "--structure", "3:7", saying="--structure")
        refuse(2, Q8_0, "--sparsity", 1, saying="--sparsity")
        refuse(2, Q8_0, "--shape", "smollm2-135m", saying="--shape")
        refuse(2, "--model", Q8_0, "--shape", "smollm2-135m", saying="--shape")
        refuse(2, "--model", Q8_0, Q8_0, saying="unexpected")
        refuse(2, "--shape", "gpt-5", saying="--shape")
        refuse(2, Q8_0, "--kernel", "dense_i8", "--values", "i8", saying="--kernel")
        refuse(2, Q8_0, "--sequence-length", 100, saying="137")
        refuse(2, Q8_0, "--cache", "sliding", "--window", 64, saying="137")
        refuse(2, Q8_0, "--batch-size", 0, saying="--batch-size")
        refuse(1, Q8_0, "--html", self.folder / "no" / "x.html", saying="cannot create")
        refuse(2, Q8_0, "--markdown", "--json", saying="--markdown")
        refuse(2, Q8_0, "--verify-rows", 0, saying="--verify-rows")
        refuse(2, Q8_0, "--scenario", "bursts", saying="--scenario")
        for flag, value in (("--acceptance", 0.5), ("--spec-length", 3), ("--draft-text", 9)):
            refuse(2, Q8_0, flag, value, saying=[flag, "--draft-shape"])

    def test_values_that_are_not_numbers(self):
        for flag in ("--time", "--warmup-time", "--sparsity", "--acceptance"):
            for value in ("nan", "-NaN"):
                self.refuse(2, "benchmark", Q8_0, f"{flag}={value}", saying=[flag, value])

    def test_files_of_their_kind_are_replaced(self):
        json_file, page = self.folder / "x.json", self.folder / "x.html"
        for old_json, old_page in (("[1]", " \n<!doctype html>"), ("", "")):
            json_file.write_text(old_json)
            page.write_text(old_page)
            printed = self.benchmark(Q8_0, "--no-baselines", "-x", json_file, "--html", page)
            self.assertEqual(json.loads(json_file.read_text()), printed)
            self.assertGreater(Page(page.read_text()).ids("svg"), 0)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"x.json", "x.html"})
        self.benchmark(Q8_0, "--no-baselines", "-x", "/dev/null", "--html", "/dev/null")

    def test_the_environment_names_the_model(self):
        variable = environment(TULLE_MODEL=str(Q8_0))
        done = self.succeed("benchmark", *SHORT, "--no-baselines", "--json", env=variable)
        self.assertEqual(json.loads(done)["model_path"], str(Q8_0))


if __name__ == "__main__":
    unittest.main()
