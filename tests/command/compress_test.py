# SPDX-License-Identifier: Apache-2.0
"""The flow of the one-shot guide with the command: recipe, compress, evaluate, export, generate; and what is refused."""

import json
import resource
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from command import COMMAND, GOLDEN, Q8_0, CommandTest, environment

PROSE = (GOLDEN / "prose.txt").read_text(encoding="utf-8")
PROGRAM = Path(COMMAND).parent / "tulle-compress"

@unittest.skipUnless(PROGRAM.exists(), "built without OpenBLAS, xtensor-blas or yaml-cpp")
class CompressTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.folder / "rows.jsonl"
        words = PROSE.split()
        rows = [{"instruction": " ".join(words[i : i + 20]) + " ", "output": " ".join(words[i + 20 : i + 40])}
                for i in range(0, 400, 40)]
        self.dataset.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def compress(self, *flags, model=Q8_0, output="out"):
        return json.loads(
            self.succeed("compress", model, "--dataset", self.dataset, "--text-column", "instruction+output", "-o",
                         self.folder / output, "--max-seq-length", 64, "--json", *flags)
        )

    def interrupt(self, output, mark, *flags):
        """Ends the command, which writes `output`, as soon as the file `mark` is there."""
        for _ in range(50):
            program = subprocess.Popen([COMMAND, *map(str, flags), "--threads", "1"], env=environment(),
                                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            while program.poll() is None and not mark.exists():
                time.sleep(0.001)
            program.send_signal(signal.SIGINT)
            if program.wait() != 0:
                return
            shutil.rmtree(output)
        self.fail("the command was never interrupted")

    def refuse_compress(self, *flags, saying, status=1, dataset=None):
        self.refuse(status, "compress", Q8_0, "--dataset", dataset or self.dataset, "-o", self.folder / "refused",
                    "--text-column", "instruction+output", *flags, saying=saying)
        self.assertFalse((self.folder / "refused" / "config.json").exists())

    def test_flow_of_the_guide(self):
        report = self.compress("--recipe", GOLDEN / "recipes" / "guide.yaml")
        stage = self.folder / "out" / "stage_compression"
        self.assertEqual(report["directory"], str(stage))
        self.assertFalse((self.folder / "out" / "stage_compression.unfinished").exists())
        for layer in report["layers"]:
            self.assertAlmostEqual(layer["sparsity"], 0.5, delta=0.05)
            self.assertIn("int8", layer["form"])
        self.assertGreater(report["evaluation"]["dense_perplexity"], 1)
        self.assertTrue(any("activations" in note for note in report["notes"]), report["notes"])
        self.assertIn("<svg", (stage / "compression.html").read_text())
        config = json.loads((stage / "config.json").read_text())
        self.assertEqual(config["quantization_config"]["format"], "int-quantized")

        evaluated = json.loads(
            self.succeed("evaluate", stage, "--dataset", self.dataset, "--method", "sparseml", "--text-column",
                         "instruction+output", "--json")
        )
        self.assertGreater(evaluated["perplexity"], 1)
        self.succeed("export", stage, "-o", self.folder / "exported")
        self.succeed("export", stage, "-o", self.folder / "small", "--format", "bitmask")
        texts = [
            self.succeed("generate", "-m", model, "--prompt", "Once", "--max-new-tokens", 8, "--kernel", "dense_f32")
            for model in (stage, self.folder / "exported" / "deployment", self.folder / "small" / "deployment")
        ]
        self.assertEqual(texts[0], texts[1])

    def test_flags(self):
        for flags, form in ((["--sparsity", 0.5], "alps 50 %"), (["--bits", 4], "descent int4 group 32"),
                            (["--structure", "8:16-gap4", "--bits", 4], "alps 8:16-gap4, descent int4 group 32")):
            report = self.compress(*flags, output="flags")
            self.assertEqual({layer["form"] for layer in report["layers"]}, {form})
            self.succeed("generate", "-m", self.folder / "flags", "--prompt", "Once", "--max-new-tokens", 4)
            shutil.rmtree(self.folder / "flags")

    def test_a_plan_within_a_budget(self):
        report = self.compress("--bytes-per-weight", 0.7)
        plan = report["plan"]
        self.assertLessEqual(plan["bytes_per_weight"], 0.7)
        self.assertEqual({matrix["name"] for matrix in plan["matrices"]}, {layer["name"] for layer in report["layers"]})
        self.assertGreater(len({matrix["form"] for matrix in plan["matrices"]}), 1)
        self.assertIn("Form of each matrix", (self.folder / "out" / "compression.html").read_text())
        self.succeed("generate", "-m", self.folder / "out", "--prompt", "Once", "--max-new-tokens", 4)
        again = self.folder / "again"  # with the same speeds
        again.mkdir()
        shutil.copy(self.folder / "out" / "speeds.json", again)
        recipe = self.folder / "plan.yaml"
        recipe.write_text("modifiers:\n  PlanModifier: {bytes_per_weight: 0.7}\n")
        made = self.compress("--recipe", recipe, output="again")
        for name in ("model.safetensors", "speeds.json"):
            self.assertEqual((self.folder / "out" / name).read_bytes(), (again / name).read_bytes(), name)
        self.assertEqual(self.compress("--recipe", recipe, output="again")["seconds"], made["seconds"])  # it is done
        (again / "speeds.json").unlink()  # so it is not
        self.refuse(1, "compress", Q8_0, "--dataset", self.dataset, "-o", again, "--text-column", "instruction+output",
                    "--recipe", recipe, saying="not empty")
        older = self.folder / "older"
        older.mkdir()
        speeds = json.loads((self.folder / "out" / "speeds.json").read_text())
        (older / "speeds.json").write_text(json.dumps(speeds | {"layouts": 0}))
        self.refuse(1, "compress", Q8_0, "--dataset", self.dataset, "-o", older, "--text-column", "instruction+output",
                    "--recipe", recipe, saying="not what this version wrote; remove it")
        self.refuse_compress("--bytes-per-weight", 0.1, saying="give that or more")
        self.refuse_compress("--bytes-per-weight", 0.5, "--bits", 8, saying="leave", status=2)
        self.refuse_compress("--bytes-per-weight", 1.01, "--speedup", 100, saying="give that or less")
        both = self.compress("--bytes-per-weight", 0.9, "--speedup", 0.01, output="both")["plan"]
        self.assertEqual(both["budget"], {"bytes_per_weight": 0.9, "speedup": 0.01})
        self.assertLessEqual(both["bytes_per_weight"], 0.9)

    def test_a_survey(self):
        survey = self.compress("--survey", "--second-dataset", self.dataset, "--held-out", 2, "--cells", "model", "--cells",
                               "2:4-int8", "--cells", "plan-0.60", "--cells", "plan-as-2:4-int8", output="survey")
        self.assertEqual([cell["name"] for cell in survey["cells"]], ["model", "2:4-int8", "plan-0.60", "plan-as-2:4-int8"])
        form, beside = survey["cells"][1], survey["cells"][3]
        self.assertLessEqual(beside["bytes_per_weight"], form["bytes_per_weight"] * 1.001)
        for own, other in zip(beside["texts"], form["texts"]):
            self.assertAlmostEqual(own["ratio_to_form"], own["perplexity"] / other["perplexity"], places=6)
        self.assertIn("Plans beside forms", (self.folder / "survey" / "survey.html").read_text())
        for cell in survey["cells"]:
            self.assertGreater(min(cell["decode_tokens_per_second"], cell["decode_ratio"]), 0)
            self.assertEqual([text["ratio"] > 0 for text in cell["texts"]], [True, True])
        self.assertLessEqual(survey["cells"][2]["bytes_per_weight"], 0.6)  # loaded from the file, not only planned
        self.assertIn("<svg", (self.folder / "survey" / "survey.html").read_text())

    def test_a_survey_beside_a_model_and_with_references_of_one_name(self):
        mine = self.folder / "survey" / "int8" / "model.safetensors"
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        references = [self.folder / name / "model.gguf" for name in ("first", "second")]
        for source, path in zip((Q8_0, Q8_0.parent / "f16.gguf"), references):
            path.parent.mkdir()
            shutil.copy(source, path)
        flags = ["--survey", "--held-out", 2, "--reference", references[0], "--reference", references[1], "--cells", "int8",
                 "--cells", "model.gguf", "--cells", "model.gguf-2"]
        survey = self.compress(*flags, output="survey")
        self.assertEqual([cell["name"] for cell in survey["cells"]], ["model.gguf", "model.gguf-2", "int8"])
        self.assertNotEqual(survey["cells"][0]["texts"], survey["cells"][1]["texts"])
        self.assertEqual(mine.read_text(), "mine")
        shutil.copy(references[0], references[1])
        self.refuse(1, "compress", Q8_0, "--dataset", self.dataset, "--text-column", "instruction+output", "-o",
                    self.folder / "survey", "--max-seq-length", 64, *flags, saying="figures of another model")

    def test_the_same_bytes_after_an_interruption_and_with_one_thread(self):
        flags = ["compress", Q8_0, "--dataset", self.dataset, "--text-column", "instruction+output", "--sparsity", "0.5",
                 "--max-seq-length", "64", "-q", "-o"]
        self.succeed(*flags, self.folder / "whole")
        interrupted = self.folder / "again"
        work = Path(f"{interrupted}.unfinished")
        self.interrupt(interrupted, work / "layer_0.json", *flags, interrupted)
        self.succeed(*flags, interrupted)
        for name in ("model.safetensors", "config.json"):
            self.assertEqual((self.folder / "whole" / name).read_bytes(), (interrupted / name).read_bytes(), name)
        self.assertFalse(work.exists())

    def test_interrupted_work_is_not_continued_with_another_model(self):
        model, output = self.folder / "model.gguf", self.folder / "out"
        shutil.copy(Q8_0, model)
        flags = ["compress", model, "--dataset", self.dataset, "--text-column", "output", "--sparsity", "0.5", "-q", "-o",
                 output]
        self.interrupt(output, Path(f"{output}.unfinished") / "layer_0.json", *flags)
        model.write_bytes(model.read_bytes()[:-1] + b"\x01")  # of the same size
        self.refuse(1, *flags, saying=["unfinished work of other settings", "(model)"])

    def test_a_recipe_of_two_stages_is_taken_up_where_it_stopped(self):
        recipe = self.folder / "two.yaml"
        recipe.write_text("prune_stage:\n  m_modifiers:\n    WandaPruningModifier: {sparsity: 0.5}\n"
                          "quant_stage:\n  m_modifiers:\n    GPTQModifier: {scheme: W8A8, ignore: [lm_head]}\n")
        flags = ["compress", Q8_0, "--dataset", self.dataset, "--text-column", "output", "--recipe", recipe, "--json",
                 "-o"]
        whole, output = self.folder / "whole", self.folder / "out"
        reports = json.loads(self.succeed(*flags, whole))
        self.assertEqual([Path(report["directory"]).name for report in reports], ["stage_prune", "stage_quant"])
        self.assertEqual(json.loads(self.succeed(*flags, whole)), reports)  # all is done
        self.interrupt(output, output / "stage_quant.unfinished" / "layer_0.json", *flags, output)
        before = (output / "stage_prune" / "compression.json").read_bytes()
        self.succeed(*flags, output)
        self.assertEqual((output / "stage_prune" / "compression.json").read_bytes(), before)
        for stage in ("stage_prune", "stage_quant"):
            model = f"{stage}/model.safetensors"
            self.assertEqual((whole / model).read_bytes(), (output / model).read_bytes(), stage)
        self.assertFalse((output / "stage_quant.unfinished").exists())
        # Another result of the first stage: what was begun of the second goes.
        self.interrupt(output, output / "stage_quant.unfinished" / "layer_0.json", *flags, output, "--force")
        recipe.write_text(recipe.read_text().replace("0.5", "0.6"))
        self.refuse(1, *flags, output, saying="stage_prune is not empty")
        self.succeed(*flags, output, "--force")

    def test_what_an_interruption_left_in_the_output_is_no_obstacle(self):
        output = self.folder / "out"
        output.mkdir()
        ended = subprocess.Popen(["true"])
        ended.wait()
        part = output / f"model.safetensors.1764222222222222222-{ended.pid}.part"
        part.write_text("half")
        flags = ["compress", Q8_0, "--dataset", self.dataset, "--text-column", "output", "--sparsity", "0.5", "-q", "-o",
                 output]
        self.succeed(*flags)
        self.assertFalse(part.exists())
        for name in ("compression.json", "compression.html", "config.json"):
            (output / name).unlink()
        self.refuse(1, *flags, saying="not empty")
        shutil.rmtree(output)
        work = Path(f"{output}.unfinished")
        self.interrupt(output, work / "layer_0.json", *flags)
        output.mkdir()
        (output / "model.safetensors").write_text("interrupted behind it")
        (work / "writing").write_text("")
        self.succeed(*flags)
        self.succeed("generate", "-m", output, "--prompt", "Once", "--max-new-tokens", 4)

    def test_names_of_the_output_and_of_the_dataset(self):
        flags = ["compress", Q8_0, "--text-column", "output", "--sparsity", "0.5", "--max-seq-length", "64", "-q"]
        self.succeed(*flags, "--dataset", self.dataset, "-o", f"{self.folder}/out/")
        self.assertFalse((self.folder / "out" / ".unfinished").exists())
        here = self.folder / "here"
        here.mkdir()
        done = subprocess.run([COMMAND, *map(str, flags), "--dataset", self.dataset, "-o", "."], cwd=here,
                              env=environment(), capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue((here / "config.json").exists())
        file = self.folder / "file"
        file.write_text("")
        for force in ([], ["--force"]):
            self.refuse(1, *flags, "--dataset", self.dataset, "-o", file, *force, saying="no directory")
        odd = bytes(self.folder) + b"/rows\xff.jsonl"
        shutil.copy(bytes(self.dataset), odd)
        self.succeed(*flags, "--dataset", self.dataset, "-o", self.folder / "odd")
        done = subprocess.run([COMMAND, *map(str, flags), "--dataset", odd, "-o", self.folder / "bytes", "--json"],
                              env=environment(), capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(done.stdout), json.loads((self.folder / "bytes" / "compression.json").read_text()))

    def test_refusals(self):
        recipe = self.folder / "typo.yaml"
        recipe.write_text("stage_stage:\n  m_modifiers:\n    SparseGPTModifer: {sparsity: 0.5}\n")
        self.refuse_compress("--recipe", recipe, saying="SparseGPTModifier")
        self.refuse_compress(saying="--sparsity", status=2)
        self.refuse_compress("--bits", 8, "--second-dataset", "none.txt", saying="--survey", status=2)
        self.refuse_compress("--bits", 8, "--recipe-args", "a=1", saying="--recipe", status=2)
        empty = self.folder / "empty.jsonl"
        empty.write_text("")
        self.refuse_compress("--sparsity", 0.5, dataset=empty, saying="empty.jsonl")
        short = self.folder / "short.txt"
        short.write_text("too short")
        self.refuse(1, "compress", Q8_0, "--dataset", short, "-o", self.folder / "refused", "--sparsity", 0.5,
                    saying="tokens")
        full = self.folder / "full"
        full.mkdir()
        (full / "something").write_text("")
        self.refuse(1, "compress", Q8_0, "--dataset", self.dataset, "-o", full, "--sparsity", 0.5, saying="not empty")

    def test_a_full_disk_leaves_no_half_written_model(self):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        result = subprocess.run(
            [COMMAND, "compress", Q8_0, "--dataset", self.dataset, "--text-column", "instruction+output", "-o",
             self.folder / "limited", "--sparsity", "0.5", "--max-seq-length", "64"],
            env=environment(), capture_output=True, preexec_fn=limit_files)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"tulle: ", result.stderr)
        self.assertFalse((self.folder / "limited" / "model.safetensors").exists())


if __name__ == "__main__":
    unittest.main()
