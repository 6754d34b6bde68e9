# SPDX-License-Identifier: Apache-2.0
"""Calls of programs that were written for DeepSparse, both generations of its names, with the import alone changed."""
import json

import numpy as np
import pytest

from tulle import Pipeline, TextGeneration


@pytest.fixture(scope="module")
def pipeline(codegen):
    return Pipeline.create(task="text-generation", model_path=codegen, sequence_length=128, max_generated_tokens=64,
                           force_max_tokens=True, deterministic=False, sampling_temperature=0.7,
                           prompt_processing_sequence_length=64, use_deepsparse_cache=False)


def test_a_batch_returns_logits_of_prompts_and_new_tokens(pipeline):
    output = pipeline(sequences=["def fib()", "def fib()"], return_logits=True)
    assert list(output.__dict__) == ["sequences", "logits", "session_id"]
    assert output.logits.shape == (2, 66, 51200) and output.logits.dtype == np.float32
    assert len(output.sequences) == 2 and output.session_id is None
    assert output.sequences[0] != output.sequences[1]  # drawn, each by itself
    np.testing.assert_array_equal(output.logits[0, :3], output.logits[1, :3])  # the same prompt


def test_one_prompt_needs_no_list(pipeline):
    output = pipeline(sequences="def fib()")
    assert len(output.sequences) == 1 and output.logits is None


def test_a_streamer_of_transformers_prints_the_text(codegen, capsys):
    TextStreamer = pytest.importorskip("transformers").TextStreamer
    pipeline = Pipeline.create(task="text-generation", model_path=codegen, max_generated_tokens=8,
                               force_max_tokens=True)
    output = pipeline(sequences=["def fib()"], return_logits=True, streamer=TextStreamer(pipeline.tokenizer))
    assert output.logits.shape == (1, 10, 51200)
    # TextStreamer ends every text with a line end of its own.
    assert capsys.readouterr().out == "def fib()" + output.sequences[0] + "\n"


def test_a_streamer_sees_a_prompt_with_its_first_token_and_then_each(pipeline):
    class Streamer:
        def __init__(self):
            self.sizes = []

        def put(self, ids):
            self.sizes.append(ids.shape[0])

        def end(self):
            self.sizes.append("end")

    streamer = Streamer()
    pipeline(sequences=["def fib()", "def fib()"], streamer=streamer)
    first = [3 + 1, *[1] * 63, "end"]
    second = streamer.sizes[len(first):]  # came meanwhile, and waited
    assert streamer.sizes[:len(first)] == first
    assert sum(second[:-1]) == 3 + 64 and second[-1] == "end"


def test_a_streamer_sees_the_prompt_of_every_continuation(codegen):
    class Streamer:
        def __init__(self):
            self.texts = [[]]

        def put(self, ids):
            self.texts[-1] += ids.tolist()

        def end(self):
            self.texts.append([])

    streamer = Streamer()
    generate = TextGeneration(codegen)
    output = generate(["def", "class"], num_return_sequences=2, max_new_tokens=3, force_max_tokens=True, streamer=streamer)
    ids = [generate.tokenizer.encode(prompt) for prompt in ("def", "def", "class", "class")]
    tokens = [text.tokens for of_prompt in output.generations for text in of_prompt]
    assert streamer.texts[:-1] == [prompt + new for prompt, new in zip(ids, tokens)]


def test_numbers_and_texts_that_json_lacks_are_value_errors(codegen):
    generate = TextGeneration(codegen)
    for prompt, arguments in (("def", {"temperature": float("nan")}), ("d\ud800f", {})):
        with pytest.raises(ValueError):
            generate(prompt, **arguments)


def test_the_newer_calls(codegen):
    generate = TextGeneration(codegen, sequence_length=256, prompt_sequence_length=16, num_cores=1)
    output = generate("def fib()", max_new_tokens=6, output_scores=True, force_max_tokens=True)
    assert output.prompts == "def fib()"
    text = output.generations[0]
    assert text.score.shape == (6, 51200) and text.finished and text.finished_reason == "length"
    assert [int(row.argmax()) for row in text.score[:, :50295]] == text.tokens
    with_prompt = generate(prompt="def fib()", max_new_tokens=6, output_scores=True, include_prompt_logits=True,
                           force_max_tokens=True)
    np.testing.assert_array_equal(with_prompt.generations[0].score[2:], text.score)
    assert TextGeneration(model_path=codegen)("def", max_new_tokens=3).generations[0].text


def test_streaming_gives_the_text_in_pieces(codegen):
    generate = TextGeneration(model=codegen)
    whole = generate("def fib()", max_new_tokens=12, force_max_tokens=True).generations[0].text
    pieces = list(generate("def fib()", max_new_tokens=12, force_max_tokens=True, streaming=True))
    assert "".join(piece.generations[0].text for piece in pieces) == whole
    assert pieces[-1].generations[0].finished_reason == "length" and not pieces[0].generations[0].finished
    for other in ({"streamer": object()}, {"return_input_tokens": True}):
        with pytest.raises(ValueError, match="streaming"):
            generate("def fib()", streaming=True, **other)


def test_generation_configs_of_every_kind(codegen, tmp_path):
    config = {"max_new_tokens": 5, "do_sample": True, "temperature": 1.3, "seed": 3}
    (tmp_path / "generation_config.json").write_text(json.dumps(config))

    class Config:
        def to_diff_dict(self):
            return config

    generate = TextGeneration(codegen)
    texts = {generate("def", generation_config=each, force_max_tokens=True).sequences[0]
             for each in (config, Config(), str(tmp_path), tmp_path / "generation_config.json")}
    texts.add(TextGeneration(codegen, generation_config=str(tmp_path), force_max_tokens=True)("def").sequences[0])
    texts.add(generate("def", generation_kwargs=config, force_max_tokens=True).sequences[0])
    assert len(texts) == 1


def test_several_continuations_of_each_prompt(codegen):
    output = TextGeneration(codegen)(["def", "class"], num_return_sequences=3, do_sample=True, max_new_tokens=4,
                                     force_max_tokens=True)
    assert [len(each) for each in output.generations] == [3, 3]
    assert len({text.text for text in output.generations[0]}) > 1


def test_sessions_go_on_where_they_were(codegen):
    generate = TextGeneration(codegen)
    first = generate("def", session_ids="one", max_new_tokens=4, force_max_tokens=True).generations[0].tokens
    second = generate(" fib", session_ids="one", max_new_tokens=4, force_max_tokens=True).generations[0].tokens
    ids = generate.tokenizer.encode
    whole = generate([*ids("def"), *first, *ids(" fib")], max_new_tokens=4, force_max_tokens=True)
    assert whole.generations[0].tokens == second
    generate.end_session("one")
    generate.end_session("another")
    assert generate("def", session_ids="one", max_new_tokens=4, force_max_tokens=True).generations[0].tokens == first


def test_the_session_that_was_used_longest_ago_gives_way(tiny):
    generate = TextGeneration(tiny, num_cores=1, sequence_length=64)  # 16 sequences

    def tokens(session):
        return generate("one two", session_ids=session, max_new_tokens=3, force_max_tokens=True).generations[0].tokens

    alone = tokens(None)
    stream = generate("the", session_ids="half read", streaming=True, max_new_tokens=8, force_max_tokens=True)
    next(stream)
    assert tokens("first") == tokens("second") == alone
    assert tokens("first") != alone  # goes on
    assert all(tokens(f"user {number}") == alone for number in range(14))  # the last in place of "second"
    assert tokens("first") != alone
    assert tokens("second") == alone  # begins anew
    assert tokens(None) == alone
    assert len(list(stream)) == 7


def test_wrong_arguments_are_errors_that_help(codegen, tiny):
    generate = TextGeneration(codegen)
    with pytest.raises(ValueError, match="did you mean max_new_tokens"):
        generate("def", max_new_tokenz=3)
    with pytest.raises(ValueError, match="did you mean sequence_length"):
        TextGeneration(tiny, sequence_lenght=3)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Pipeline.create(task="text-generation", model_path="/nowhere")
    with pytest.raises(ValueError, match="task"):
        Pipeline.create(task="question-answering", model_path=tiny)
    with pytest.raises(ValueError, match="zoo:"):
        TextGeneration("zoo:codegen")
