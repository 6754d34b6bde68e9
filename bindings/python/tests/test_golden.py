# SPDX-License-Identifier: Apache-2.0
"""The contract that every binding keeps: the golden tokens of tests/golden/contract.txt and prompts.txt."""
import json
import os
import runpy

import pytest

from tulle import TextGeneration


def test_every_model_of_the_contract_gives_the_golden_tokens(golden):
    lines = (golden / "contract.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 5
    for line in lines:
        name, assembly = line.split()
        path = golden / "models" / name
        facts = json.loads((path / "golden.json" if path.is_dir() else path.with_suffix(".golden.json")).read_text())
        kernel, _, cache = assembly.partition("/")
        layout, _, element = cache.partition("_")
        generate = TextGeneration(path, kernel=kernel, cache=layout or "contiguous", cache_dtype=element or "auto",
                                  sequence_length=128, num_cores=1)
        prompt = facts["tokens"][:facts["greedy_prompt_tokens"]]
        output = generate(prompt, max_new_tokens=len(facts["greedy"]), force_max_tokens=True)
        assert output.generations[0].tokens == facts["greedy"], line


def test_the_prompts_are_those_of_transformers(golden):
    made = "".join(runpy.run_path(golden / "make_prompts.py")["lines"]())
    assert (golden / "prompts.txt").read_text(encoding="utf-8") == made


@pytest.mark.skipif(not os.environ.get("TULLE_TEST_MODEL"), reason="TULLE_TEST_MODEL names no model")
def test_the_real_model_says_what_transformers_says(golden):
    prompts = [line.split("\t") for line in (golden / "prompts.txt").read_text(encoding="utf-8").splitlines()]
    assert len(prompts) == 5
    generate = TextGeneration(os.environ["TULLE_TEST_MODEL"], kernel="dense_f32", cache_dtype="f32",
                              sequence_length=256)
    output = generate([text.replace("\\n", "\n") for text, _ in prompts], max_new_tokens=64, force_max_tokens=True)
    assert [each.tokens for each in output.generations] == [list(map(int, ids.split())) for _, ids in prompts]
