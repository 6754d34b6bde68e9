# SPDX-License-Identifier: Apache-2.0
"""The contract that every binding keeps: the golden tokens of tests/golden/contract.txt."""
import json

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
