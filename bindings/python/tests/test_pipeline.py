# SPDX-License-Identifier: Apache-2.0
"""Tokenizers, numpy arrays, structured output, threads, interrupts."""
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tulle import TextGeneration


@pytest.fixture(scope="module")
def generate(tiny):
    return TextGeneration(tiny, sequence_length=128, num_cores=1)


def test_the_tokenizer_has_the_calls_of_hugging_face(generate):
    tokenizer = generate.tokenizer
    text = "the answer is € 42"
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text and tokenizer.decode(np.array(ids), skip_special_tokens=True) == text
    assert tokenizer(text, add_special_tokens=False) == {"input_ids": ids, "attention_mask": [1] * len(ids)}
    assert tokenizer.batch_decode([ids, ids]) == [text, text]
    assert len(tokenizer) == 288 and tokenizer.eos_token_id == 2
    messages = [{"role": "user", "content": "hello"}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert "hello" in prompt
    assert tokenizer.decode(tokenizer.apply_chat_template(messages, add_generation_prompt=True)) == prompt


def test_what_is_no_id_is_a_value_error(generate):
    for ids in ([2**31], [-1], np.array([1.5]), np.array(["a text"])):
        with pytest.raises(ValueError, match="whole numbers"):
            generate(ids)
    for token in (-1, 2**31):
        with pytest.raises(ValueError, match="whole numbers"):
            generate.tokenizer.decode([token])
    with pytest.raises(ValueError, match="prompts of sessions are texts"):
        generate([5, 6], session_ids="a")
    with pytest.raises(ValueError, match="temperature is nan"):
        generate("the", temperature=float("nan"))


def test_a_prompt_of_a_chat_template_gets_no_second_begin(generate):
    messages = [{"role": "user", "content": "hello"}]
    settings = {"max_new_tokens": 4, "force_max_tokens": True, "add_special_tokens": False}
    text = generate.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    ids = generate.tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert generate(text, **settings).generations[0] == generate(ids, **settings).generations[0]


def test_a_stream_that_its_callback_reaches_is_collected(tiny):
    class Owner:
        def __init__(self):
            self.generate = TextGeneration(tiny, num_cores=1)
            self.stream = self.generate("the", streaming=True, callback=self.see, progress=self.see)
            next(self.stream)

        def see(self, _):
            return True

    owner = weakref.ref(Owner())
    gc.collect()
    assert owner() is None


def test_a_daemon_thread_that_generates_does_not_disturb_the_end(tiny):
    program = f"""
import threading, tulle
generate = tulle.TextGeneration({str(tiny)!r}, num_cores=1)
begun = threading.Event()
def run():
    while True:
        for _ in generate("the", streaming=True, max_new_tokens=50, force_max_tokens=True, callback=lambda _: True):
            begun.set()
threading.Thread(target=run, daemon=True).start()
begun.wait()
"""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_logits_belong_to_the_array_and_outlive_the_pipeline(tiny):
    generate = TextGeneration(tiny, num_cores=1)
    score = generate("the", max_new_tokens=3, output_scores=True, force_max_tokens=True).generations[0].score
    kept, copy = score[1], score[1].copy()
    assert not score.flags.owndata and score.flags.c_contiguous and score.flags.writeable
    del generate, score
    np.testing.assert_array_equal(kept, copy)


def test_adapters_change_a_model(golden):
    first, second = golden / "lora" / "two" / "first", str(golden / "lora" / "two" / "second")
    model = golden / "models" / "llama-tiny-gqa"
    texts = [TextGeneration(model, num_cores=1, adapters=adapters)([5, 6, 7], max_new_tokens=8, force_max_tokens=True)
             .generations[0].tokens for adapters in (None, {first: 0.5, second: -1.5}, {first: 0})]
    assert texts[1] != texts[0] and texts[2] == texts[0]
    with pytest.raises(FileNotFoundError, match="trained on this model"):
        TextGeneration(golden / "models" / "gpt2-tiny", adapters=first)


def test_packed_weights_are_kept_and_verified(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def tokens(**options):
        generate = TextGeneration(tiny, num_cores=1, **options)
        return generate([5, 6, 7], max_new_tokens=8, force_max_tokens=True).generations[0].tokens

    right = tokens()
    assert tokens(packed_cache="off") == tokens(packed_cache="auto") == right
    assert not list(tmp_path.iterdir())
    assert tokens(packed_cache="on") == right
    file, = (tmp_path / "tulle" / "packed").iterdir()
    packed = bytearray(file.read_bytes())
    packed[64:len(packed) // 2] = bytes(len(packed) // 2 - 64)
    file.write_bytes(packed)
    assert tokens(packed_cache=file) != right
    assert tokens(packed_cache="on", verify_packed=True) == right
    with pytest.raises(FileNotFoundError):
        tokens(packed_cache=tmp_path / "none")


def test_drafts_change_no_text(golden):
    model = golden / "models" / "gguf" / "q8_0.gguf"
    outputs = [TextGeneration(model, num_cores=1, draft_model=draft, spec_length=4)(
        "one two one", max_new_tokens=16, force_max_tokens=True) for draft in (None, "ngram", "self:i4", model)]
    assert all(output.generations[0].tokens == outputs[0].generations[0].tokens for output in outputs)
    assert outputs[0].timings["draft_tokens"] == 0 and outputs[3].timings["draft_tokens"] > 0
    with pytest.raises(ValueError, match="unknown kernel"):
        TextGeneration(model, draft_model="self:i5")


def test_texts_are_what_was_asked_for(tiny):
    generate = TextGeneration(tiny, sequence_length=128, num_cores=1, max_new_tokens=100)
    try:
        digits = generate(["the", "one"], regex="[0-9]{3}").sequences
    except NotImplementedError:
        pytest.skip("a build without grammars")
    assert len(digits) == 2 and all(re.fullmatch("[0-9]{3}", text) for text in digits)
    schema = {"type": "object", "properties": {"name": {"enum": ["x", "y"]}, "age": {"type": "boolean"}},
              "required": ["name", "age"]}
    texts = [generate("the", json_schema=each).generations[0] for each in (schema, json.dumps(schema))]
    value = json.loads(texts[0].text)
    assert list(value) == ["name", "age"] and value["name"] in ("x", "y") and value["age"] in (True, False)
    assert texts[1].text == texts[0].text and texts[0].finished_reason == "stop"
    pieces = generate("the", json_schema=schema, streaming=True)
    assert "".join(piece.generations[0].text for piece in pieces) == texts[0].text
    assert generate("the", grammar='root ::= "yes" | "no"').sequences[0] in ("yes", "no")
    assert generate("the", json_object=True, max_new_tokens=5).sequences[0].startswith("{")
    with pytest.raises(ValueError, match="schema"):
        generate("the", json_schema={"type": "integer", "minimum": 2, "maximum": 1})
    with pytest.raises(ValueError, match="give one of"):
        generate("the", regex="a", json_object=True)
    with pytest.raises(ValueError, match="eos"):
        generate("the", regex="a", force_max_tokens=True)


def test_log_probabilities_are_there_on_request(generate):
    arguments = {"max_new_tokens": 5, "force_max_tokens": True}
    (text,) = generate("the", log_probabilities=True, **arguments).generations
    assert len(text.log_probabilities) == 5 and all(value < 0 for value in text.log_probabilities)
    pieces = [each.generations[0] for each in generate("the", log_probabilities=True, streaming=True, **arguments)]
    assert [value for piece in pieces for value in piece.log_probabilities] == text.log_probabilities
    assert all(len(piece.log_probabilities) == len(piece.tokens) for piece in pieces)
    (plain,) = generate("the", **arguments).generations
    assert plain.tokens == text.tokens and plain.log_probabilities == []
    for each in generate("the", streaming=True, **arguments):
        assert each.generations[0].log_probabilities == []


def test_arrays_of_ids_are_prompts(generate):
    ids = [generate.tokenizer.encode(text)[:2] for text in ("the answer", "once upon")]
    wanted = generate(ids, max_new_tokens=4).sequences
    assert generate(np.array(ids), max_new_tokens=4).sequences == wanted
    assert generate(np.array(ids[0]), max_new_tokens=4).sequences == wanted[:1]
    with pytest.raises(ValueError, match="shape"):
        generate(np.zeros((1, 1, 1), int))


def test_a_callback_ends_a_text(generate):
    seen = []

    def callback(token):
        seen.append(token)
        return len(seen) < 4

    output = generate("the", callback=callback, max_new_tokens=20, force_max_tokens=True)
    assert output.generations[0].tokens == seen and len(seen) == 4
    assert output.generations[0].finished_reason == "callback"
    whole = generate("the", callback=seen.append, max_new_tokens=5, force_max_tokens=True)  # which returns None
    assert len(whole.generations[0].tokens) == 5

    def fails(token):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        generate("the", callback=fails)
    assert len(generate("the", max_new_tokens=3, force_max_tokens=True).generations[0].tokens) == 3


def test_a_long_prompt_is_read_with_reports(generate):
    fractions = []
    generate("the answer " * 20, progress=fractions.append, max_new_tokens=2, force_max_tokens=True)
    assert fractions and fractions[-1] == 1 and fractions == sorted(fractions)
    with pytest.raises(ZeroDivisionError):
        generate("the", progress=lambda fraction: fraction / 0)
    assert len(generate("the", max_new_tokens=3, force_max_tokens=True).generations[0].tokens) == 3


def test_stop_texts_and_input_tokens(generate):
    whole = generate("the", max_new_tokens=20, force_max_tokens=True).sequences[0]
    stop = whole[3:6]
    output = generate("the", max_new_tokens=20, force_max_tokens=True, stop=stop, return_input_tokens=True)
    assert output.sequences[0] == whole[:whole.index(stop)] and output.generations[0].finished_reason == "stop"
    assert output.input_tokens["input_ids"] == [generate.tokenizer.encode("the")]


def test_a_call_that_failed_is_over_while_its_error_is_kept(generate):
    class Fails:
        def put(self, ids):
            raise LookupError("mine")

    def callback(token):
        raise LookupError("mine")

    kept = []
    for arguments in ({"streamer": Fails()}, {"callback": callback}, {"progress": callback}):
        with pytest.raises(LookupError) as error:  # with its traceback, and with that the frames of the call
            generate("the", session_ids="kept", max_new_tokens=20, force_max_tokens=True, **arguments)
        kept.append(error)
        assert len(generate("one", session_ids="kept", max_new_tokens=3, force_max_tokens=True).generations[0].tokens) == 3
    generate.end_session("kept")


def test_threads_take_turns_and_streams_are_read_beside_each_other(generate):
    def text():
        return generate("the", max_new_tokens=20, force_max_tokens=True).sequences

    wanted, texts = text(), []
    threads = [threading.Thread(target=lambda: texts.append(text())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [wanted] * 4
    stream = generate("the", streaming=True, max_new_tokens=20, force_max_tokens=True)
    pieces = []
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:  # a stream that pools read, as web frameworks do
        for pool in (one, two) * 3:
            pieces.append(pool.submit(next, stream).result())
            assert one.submit(text).result() == wanted and two.submit(text).result() == wanted
    assert "".join(piece.generations[0].text for piece in (*pieces, *stream)) == wanted[0]

    def calls_again(token):
        assert text() == wanted

    assert generate("the", callback=calls_again, max_new_tokens=20, force_max_tokens=True).sequences == wanted
    stream = generate("the", streaming=True, max_new_tokens=30, session_ids="half read")
    next(stream)
    with pytest.raises(RuntimeError, match='"half read" is half read'):
        generate("the", session_ids="half read")
    stream.close()  # left early
    generate("the", session_ids="half read", max_new_tokens=1)
    assert text() == wanted


def test_the_gil_is_free_meanwhile(codegen):
    generate = TextGeneration(codegen, sequence_length=1024, prompt_sequence_length=1024, num_cores=1)
    taken = []

    def read():  # one step of the library
        begin = time.monotonic()
        generate([[7] * 1000], max_new_tokens=1, output_scores=True, include_prompt_logits=True)
        taken.append(time.monotonic() - begin)

    thread = threading.Thread(target=read)
    thread.start()
    longest, last = 0.0, time.monotonic()
    while thread.is_alive():
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    assert longest < 0.75 * taken[0]


@pytest.mark.parametrize(
    "work", ['generate("def", max_new_tokens=1900, force_max_tokens=True)', "TextGeneration(sys.argv[1])"]
)
def test_an_interrupt_ends_a_generation_and_loading(codegen, work):
    program = """
import sys
from tulle import TextGeneration
generate = TextGeneration(sys.argv[1], sequence_length=2000)
print("ready", flush=True)
try:
    while True:
        WORK
except KeyboardInterrupt:
    print(len(generate("def", max_new_tokens=3, force_max_tokens=True).generations[0].tokens))
""".replace("WORK", work)
    child = subprocess.Popen([sys.executable, "-c", program, codegen], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    os.kill(child.pid, signal.SIGINT)
    assert child.communicate(timeout=300)[0] == "3\n" and child.returncode == 0
