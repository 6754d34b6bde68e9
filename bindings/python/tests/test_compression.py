# SPDX-License-Identifier: Apache-2.0
"""The flow of SparseML's one-shot guide: recipe, compress, evaluate, export, generate. Errors and Ctrl-C."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tulle
from tulle import programs

RECIPE = r"""
compression_stage:
    run_type: oneshot
    oneshot_modifiers:
        QuantizationModifier:
            ignore: [LlamaRotaryEmbedding, LlamaRMSNorm, SiLUActivation, QuantizableMatMul]
            post_oneshot_calibration: true
            scheme_overrides:
                Linear:
                    weights:
                        num_bits: 8
                        symmetric: true
                        strategy: channel
                Embedding:
                    input_activations: null
                    weights:
                        num_bits: 8
                        symmetric: false
        SparseGPTModifier:
            sparsity: 0.5
            quantize: True
            targets: ['re:model.layers.\d*$']
"""
ROWS = [{"instruction": f"Count from {i}. ", "output": " ".join(map(str, range(i, i + 30)))} for i in range(20)]
COLUMNS = ["instruction", "output"]


@pytest.fixture(scope="module", autouse=True)
def program():
    try:
        beside = Path(programs.find_program()).with_name("tulle-compress")
    except FileNotFoundError:
        pytest.skip("the program tulle was not built")
    if not beside.exists():
        pytest.skip("the program tulle-compress was not built: no OpenBLAS, xtensor-blas or yaml-cpp")


@pytest.fixture(scope="module")
def dense(tiny, tmp_path_factory):
    """The tiny model as a Hugging Face directory."""
    return tulle.export(tiny, tmp_path_factory.mktemp("dense"))["directory"]


class Saved:
    """What transformers' models and tokenizers have in common."""

    def __init__(self, folder, names):
        self.folder, self.names = Path(folder), names

    def save_pretrained(self, path):
        for file in self.folder.iterdir():
            if file.name.startswith(self.names):
                shutil.copy(file, path)


def test_the_flow_of_the_guide(dense, tmp_path):
    model, tokenizer = Saved(dense, ("model", "config", "generation")), Saved(dense, ("tokenizer", "chat"))
    output = tmp_path / "one-shot-example"
    report = tulle.compress(model=model, tokenizer=tokenizer, dataset={"train": iter(ROWS)}, recipe=RECIPE,
                            output_dir=output, text_column=COLUMNS, max_seq_length=64,
                            splits={"calibration": "train"}, num_calibration_samples=16)
    assert [path.name for path in tmp_path.iterdir()] == ["one-shot-example"]  # what was saved meanwhile is gone
    assert Path(report["directory"]) == output / "stage_compression" and len(report["stages"]) == 1
    assert report["samples"] + report["held_out_samples"] == 16
    assert all(layer["sparsity"] == pytest.approx(0.5, abs=0.01) for layer in report["layers"])
    assert any(note.startswith("splits: ") for note in report["notes"])
    assert json.loads((output / "stage_compression" / "compression.json").read_text())["layers"] == report["layers"]

    result = tulle.evaluate(report["directory"], datasets=ROWS, integration="perplexity", text_column_name=COLUMNS)
    assert result["windows"] == len(ROWS) and result["perplexity"] > 1
    texts = ["".join(row.values()) for row in ROWS]
    again = tulle.evaluate(report["directory"], datasets={"test": texts}, split="test")
    assert again["perplexity"] == result["perplexity"] and len(again["notes"]) == 1
    compared = tulle.evaluate(report["directory"], texts, limit=4, method="windows", reference=dense)
    assert compared["windows"] == 4 and compared["reference"]["kl"] > 0

    exported = tulle.export(report["directory"], task="text-generation", sequence_length=1024,
                            target_path=tmp_path / "exported")
    assert Path(exported["directory"]) == tmp_path / "exported" / "deployment"
    generate = tulle.TextGeneration(tmp_path / "exported" / "deployment")
    assert len(generate("Count", max_new_tokens=4, force_max_tokens=True).generations[0].tokens) == 4


def test_a_recipe_may_be_a_dict_a_file_or_arguments(dense, tmp_path):
    recipe = {"modifiers": {"SparseGPTModifier": {"sparsity": "$share", "sequential_update": True}}}
    made = tulle.compress(dense, [row["output"] for row in ROWS], recipe, tmp_path / "dict",
                          recipe_args={"share": 0.25}, max_seq_length=32)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe).replace("$share", "0.25"))
    read = tulle.compress(dense, [row["output"] for row in ROWS], tmp_path / "recipe.json", tmp_path / "file",
                          max_seq_length=32)
    assert [layer["sparsity"] for layer in made["layers"]] == [layer["sparsity"] for layer in read["layers"]]
    assert made["layers"][0]["sparsity"] == pytest.approx(0.25, abs=0.01)
    small = tulle.compress(dense, ROWS, output_dir=tmp_path / "flags", structure="8:16", bits=4, text_column="output",
                           max_seq_length=32, format="bitmask")
    assert small["directory"] == str(tmp_path / "flags")
    assert small["size"]["compressed_bytes"] < made["size"]["compressed_bytes"]


def test_a_directory_may_get_another_tokenizer(dense, tmp_path):
    before = {path.name: path.read_bytes() for path in Path(dense).iterdir()}
    other = tmp_path / "other"
    other.mkdir()
    for name in ["tokenizer.json", "tokenizer_config.json"]:
        shutil.copy(Path(dense) / name, other)
    exported = tulle.export(dense, tmp_path / "out", tokenizer=other)
    assert "tokenizer.json" in exported["files"] and "chat_template.jinja" not in exported["files"]
    assert before == {path.name: path.read_bytes() for path in Path(dense).iterdir()}


def test_errors_name_what_is_wrong(dense, tmp_path):
    with pytest.raises(TypeError, match="'num_calibration_sample'; did you mean 'num_calibration_samples'"):
        tulle.compress(model=dense, dataset=ROWS, num_calibration_sample=3)
    with pytest.raises(TypeError, match="did you mean 'text_column_name'"):
        tulle.evaluate(dense, ROWS, text_column_names="text")
    with pytest.raises(TypeError, match="did you mean 'sequence_length'"):
        tulle.export(dense, tmp_path, sequence_lenght=3)
    with pytest.raises(tulle.Error, match="SparseGPTModifier") as caught:
        tulle.compress(dense, ROWS, RECIPE.replace("SparseGPT", "SparseGTP"), tmp_path / "out", text_column="output")
    assert caught.value.status == 1 and "tulle: " not in str(caught.value)
    with pytest.raises(tulle.Error, match="--recipe") as caught:
        tulle.compress(dense, ROWS, output_dir=tmp_path / "out", text_column="output")
    assert caught.value.status == 2
    with pytest.raises(tulle.Error, match="none.txt: No such file"):
        tulle.evaluate(dense, tmp_path / "none.txt")
    with pytest.raises(ValueError, match="lm-evaluation-harness"):
        tulle.evaluate(dense, ROWS, integration="lm-evaluation-harness")
    with pytest.raises(ValueError, match="text-generation"):
        tulle.export(dense, tmp_path, task="image-classification")
    with pytest.raises(ValueError, match="splits a, b"):
        tulle.compress(dense, {"a": ROWS, "b": ROWS}, RECIPE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_program_is_found_by_its_variable_and_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setenv("TULLE_COMMAND", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="TULLE_COMMAND"):
        tulle.export("model", tmp_path)
    monkeypatch.delenv("TULLE_COMMAND")
    monkeypatch.setattr(programs, "__file__", str(tmp_path / "programs.py"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="on the PATH"):
        programs.find_program()
    fake = tmp_path / "tulle"
    fake.write_text("#!/bin/sh\necho '[{\"a\": 1}, {\"b\": 2}]'\n")
    fake.chmod(0o755)
    assert programs.find_program() == str(fake)
    assert programs.run_program("x") == [{"a": 1}, {"b": 2}]


def test_ctrl_c_ends_the_program(tmp_path):
    fake = tmp_path / "tulle"
    fake.write_text("#!/bin/sh\ntrap 'echo ended > \"$0.ended\"; exit 130' INT\necho > \"$0.started\"\n"
                    "while :; do sleep 0.05; done\n")
    fake.chmod(0o755)
    code = "import tulle\ntry:\n  tulle.export('model', 'out')\nexcept KeyboardInterrupt:\n  print('interrupted')\n"
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TULLE_COMMAND": str(fake)}, text=True,
                               stdout=subprocess.PIPE)
    while not (tmp_path / "tulle.started").exists():
        assert process.poll() is None
    time.sleep(0.2)  # until subprocess.Popen has returned
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=200)[0] == "interrupted\n"
    assert (tmp_path / "tulle.ended").exists()


def test_a_terminal_shows_progress_and_no_error(monkeypatch, tmp_path, capsys):
    fake = tmp_path / "tulle"
    fake.write_text("#!/bin/sh\n[ -t 2 ] || exit 9\nprintf '\\rcompressing 50 %%' >&2\n"
                    "printf '\\r\\033[Ktulle: bad' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("TULLE_COMMAND", str(fake))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with pytest.raises(tulle.Error, match="^bad$"):
        programs.run_program("x")
    shown = capsys.readouterr().err
    assert "compressing 50 %" in shown and "bad" not in shown
