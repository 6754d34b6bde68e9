# SPDX-License-Identifier: Apache-2.0
"""What examples/ray_batch.py does without Ray; tools/checks/ray.py runs it on two workers."""
import importlib.util
import json
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ray_batch.py"


@pytest.fixture
def job():
    spec = importlib.util.spec_from_file_location("ray_batch", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_texts_keep_the_order_of_rows_and_a_stopped_job_goes_on(job, tiny, tmp_path, capsys):
    prompts, whole, texts = (tmp_path / name for name in ("prompts", "whole", "texts"))
    prompts.mkdir()
    rows = [{"id": 0, "prompt": "Once"}, {"id": 1, "messages": [{"role": "user", "content": "Hello"}]},
            {"id": 2, "prompt": "long " * 400}, {"id": 3, "prompt": "Twice"}, {"id": 4, "prompt": "Once"}]
    for name in ("a", "b"):
        job.write_rows(prompts / f"{name}.jsonl", rows)
    flags = ["--alone", "--chunk", "2", "--max-new-tokens", "6", "--temperature", "0.8"]
    job.main([tiny, str(prompts), str(whole), *flags])
    assert len(capsys.readouterr().out.splitlines()) == 6
    found = job.read_rows(whole / "a.jsonl")
    assert [row["id"] for row in found] == [0, 1, 2, 3, 4]
    assert "1600 tokens" in found[2].pop("error") and all(row["finish_reason"] for row in found[:2] + found[3:])

    texts.mkdir()
    chunks = list(job.waiting_chunks(prompts, texts, 2))
    generate = job.Generate(tiny, 1, 2, {"max_new_tokens": 6, "do_sample": True, "temperature": 0.8, "seed": 0})
    for chunk in reversed(chunks[2:]):  # in any order, and one file is not begun
        job.keep_chunk(texts, generate(chunk))
    job.main([tiny, str(prompts), str(texts), *flags])
    assert len(capsys.readouterr().out.splitlines()) == 2
    for name in ("a.jsonl", "b.jsonl"):
        assert (texts / name).read_bytes() == (whole / name).read_bytes()
    assert sorted(path.name for path in texts.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert list(job.waiting_chunks(prompts, texts, 2)) == []


def test_chunks_of_another_size_begin_anew(job, tmp_path):
    prompts, texts = tmp_path / "prompts", tmp_path / "texts"
    prompts.mkdir()
    texts.mkdir()
    job.write_rows(prompts / "a.jsonl", [{"prompt": "x"}] * 5)
    for chunk in job.waiting_chunks(prompts, texts, 2):
        job.keep_chunk(texts, chunk)
    waiting = [json.loads(chunk["rows"]) for chunk in job.waiting_chunks(prompts, texts, 4)]
    assert waiting == [[{"prompt": "x"}] * 4, [{"prompt": "x"}]]
