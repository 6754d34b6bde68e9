# SPDX-License-Identifier: Apache-2.0
"""tulle serve: what each route answers, whole and as a stream."""
import base64
import datetime
import hashlib
import ipaddress
import json
import re
import shutil
import subprocess
import unittest
import uuid

from server import Q8_0, Server, ServeTest

GREEDY = {"temperature": 0, "max_tokens": 12, "ignore_eos": True}
MODEL = str(Q8_0)


class RoutesTest(ServeTest):
    flags = ["--sequence-length", "256"]

    def test_completions(self):
        answer = self.succeed("/v1/completions", {"model": MODEL, "prompt": "Once upon", **GREEDY})
        self.assertEqual((answer["object"], answer["model"]), ("text_completion", MODEL))
        (choice,) = answer["choices"]
        self.assertEqual((choice["index"], choice["finish_reason"], choice["logprobs"]), (0, "length", None))
        self.assertEqual(answer["usage"]["completion_tokens"], 12)
        self.assertEqual(answer["usage"]["total_tokens"], answer["usage"]["prompt_tokens"] + 12)
        events = self.server.stream("/v1/completions", {"prompt": "Once upon", "stream": True,
                                                        "stream_options": {"include_usage": True}, **GREEDY})
        self.assertEqual(events[-1], (None, "[DONE]"))
        self.assertEqual(events[-2][1]["usage"]["completion_tokens"], 12)
        self.assertEqual("".join(event["choices"][0]["text"] for _, event in events[:-2]), choice["text"])
        self.assertEqual(events[-3][1]["choices"][0]["finish_reason"], "length")

    def test_prompts_of_every_form(self):
        (text,) = self.succeed("/v1/completions", {"prompt": "Once", **GREEDY})["choices"]
        ids = self.succeed("/tokenize", {"content": "Once", "add_special": True})["tokens"]
        for prompt in [ids, [ids], ["Once"]]:
            self.assertEqual(self.succeed("/v1/completions", {"prompt": prompt, **GREEDY})["choices"][0]["text"], text["text"])
        two = self.succeed("/v1/completions", {"prompt": ["Once", "Twice"], "n": 2, **GREEDY})["choices"]
        self.assertEqual([choice["index"] for choice in two], [0, 1, 2, 3])
        self.assertEqual([two[0]["text"], two[1]["text"]], [text["text"]] * 2)
        self.assertEqual(two[2]["text"], two[3]["text"])

    def test_echo_and_probabilities(self):
        ids = self.succeed("/tokenize", {"content": "Once upon a time", "add_special": True})["tokens"]
        answer = self.succeed("/v1/completions", {"prompt": "Once upon a time", "echo": True, "logprobs": 3,
                                                  "max_tokens": 0, "temperature": 0})
        (choice,) = answer["choices"]
        self.assertEqual(choice["text"], "Once upon a time")
        found = choice["logprobs"]
        self.assertEqual(len(found["tokens"]), len(ids))
        self.assertIsNone(found["token_logprobs"][0])
        self.assertTrue(all(value < 0 for value in found["token_logprobs"][1:]))
        # The same probabilities, one at a time: the first generated token after a shorter prompt.
        one = self.succeed("/v1/completions", {"prompt": [ids[:-1]], "logprobs": 3, "max_tokens": 1, "temperature": 0})
        top = one["choices"][0]["logprobs"]["top_logprobs"][0]
        self.assertEqual(len(top), 3)
        self.assertAlmostEqual(max(top.values()), max(found["top_logprobs"][-1].values()), places=5)
        self.assertAlmostEqual(one["choices"][0]["logprobs"]["token_logprobs"][0], max(top.values()), places=5)

    def test_offsets_count_the_characters_of_the_text(self):
        prompt = "Zo\u00eb \u2603 a time"
        ids = [1, *self.succeed("/tokenize", {"content": prompt})["tokens"]]
        body = {"prompt": ids, "echo": True, "logprobs": 2, "n": 2, **GREEDY}
        whole = self.succeed("/v1/completions", body)["choices"]
        parts = [event["choices"][0] for _, event in self.server.stream("/v1/completions", {**body, "stream": True})[:-1]]
        for choice in whole:
            found = choice["logprobs"]
            offsets = found["text_offset"]
            self.assertTrue(choice["text"].startswith(prompt))
            self.assertEqual(offsets[:2], [0, 0])  # behind <s>, which is not in the text
            self.assertEqual(offsets[len(ids)], len(prompt))
            for at, end, token in zip(offsets, offsets[1:], found["tokens"]):
                if token.isalpha() and token.isascii():
                    self.assertEqual(choice["text"][at:end], token)
            mine = [part for part in parts if part["index"] == choice["index"]]
            self.assertEqual("".join(part["text"] for part in mine), choice["text"])
            for name, values in found.items():
                self.assertEqual([value for part in mine if part["logprobs"] for value in part["logprobs"][name]], values)
        (_, echo), (_, last), _ = self.server.stream("/v1/completions", {**body, "n": 1, "max_tokens": 0, "stream": True})
        self.assertEqual(len(echo["choices"][0]["logprobs"]["tokens"]), len(ids))
        self.assertEqual(last["choices"][0]["finish_reason"], "length")

    def test_offsets_know_what_a_stop_string_holds_back(self):
        body = {"prompt": "Once upon a time", "logprobs": 1, **GREEDY}
        (plain,) = self.succeed("/v1/completions", body)["choices"]
        held = {**body, "stop": [plain["text"][:-1] + "\u2603"]}
        (choice,) = self.succeed("/v1/completions", held)["choices"]
        self.assertEqual(choice["text"], plain["text"])
        self.assertEqual(choice["logprobs"], plain["logprobs"])
        parts = [event["choices"][0] for _, event in self.server.stream("/v1/completions", {**held, "stream": True})[:-1]]
        offsets = [offset for part in parts if part["logprobs"] for offset in part["logprobs"]["text_offset"]]
        self.assertEqual(offsets, plain["logprobs"]["text_offset"])

    def test_the_drawn_token_is_among_the_most_probable(self):
        (choice,) = self.succeed("/v1/completions", {"prompt": "Once", "logprobs": 1, "max_tokens": 20, "temperature": 1.9,
                                                     "seed": 3})["choices"]
        found = choice["logprobs"]
        self.assertEqual({len(top) for top in found["top_logprobs"]}, {1, 2})
        for token, value, top in zip(found["tokens"], found["token_logprobs"], found["top_logprobs"]):
            self.assertGreaterEqual(top[token], value)  # of tokens with one text the most probable one is there

    def test_parts_of_characters_are_apart_in_probabilities(self):
        (choice,) = self.succeed("/v1/completions", {"prompt": "a \u2603", "echo": True, "logprobs": 20, "max_tokens": 0,
                                                     "temperature": 0})["choices"]
        found = choice["logprobs"]
        self.assertEqual(found["tokens"][-3:], ["bytes:\\xe2", "bytes:\\x98", "bytes:\\x83"])
        self.assertNotIn("\ufffd", json.dumps(found, ensure_ascii=False))
        self.assertTrue(any(sum(key.startswith("bytes:") for key in top) > 1 for top in found["top_logprobs"][1:]))
        for token, value, top in list(zip(found["tokens"], found["token_logprobs"], found["top_logprobs"]))[1:]:
            self.assertGreaterEqual(top[token], value)

    def test_a_forced_call_is_whole_or_cut_and_never_text(self):
        tool = {"type": "function", "function": {"name": "look"}}
        for choice in ["required", tool]:
            body = {"messages": "x", "tools": [tool], "tool_choice": choice, "max_tokens": 80}
            for stop in (["\n"], ["tool_call", "name"], ["\"", "}"]):
                (answer,) = self.succeed("/v1/chat/completions", {**body, "stop": stop})["choices"]
                self.assertEqual(answer["finish_reason"], "tool_calls")
                (call,) = answer["message"]["tool_calls"]
                self.assertEqual((answer["message"]["content"], call["function"]["arguments"]), (None, "{}"))
            for limit in (1, 4, 8):
                (answer,) = self.succeed("/v1/chat/completions", {**body, "max_tokens": limit})["choices"]
                self.assertEqual((answer["finish_reason"], answer["message"]["content"] or ""), ("length", ""))
                events = self.server.stream("/v1/chat/completions", {**body, "max_tokens": limit, "stream": True})
                self.assertEqual("".join(event["choices"][0]["delta"].get("content") or "" for _, event in events[:-1]), "")

    def test_the_form_of_a_text_stands_in_the_field_of_its_route(self):
        form, turns = {"type": "json_object"}, [{"role": "user", "content": "a"}]
        fields = {"response_format": {"response_format": form}, "text.format": {"text": {"format": form}},
                  "output_config.format": {"output_config": {"format": form}}}
        for path, body, own in [("/v1/completions", {"prompt": "a", "max_tokens": 2}, "response_format"),
                                ("/v1/chat/completions", {"messages": turns, "max_tokens": 2}, "response_format"),
                                ("/v1/responses", {"input": "a", "max_output_tokens": 2}, "text.format"),
                                ("/v1/messages", {"messages": turns, "max_tokens": 2}, "output_config.format")]:
            for field, form_of in fields.items():
                with self.subTest(path=path, field=field):
                    status, answer = self.server.post(path, {**body, **form_of})
                    self.assertEqual(status, 200 if field == own else 400, answer)
                    if field != own:
                        self.assertIn(f'"{field}" is not supported; use "{own}"', answer["error"]["message"])
            for field, value in [("guided_json", {"type": "null"}), ("grammar", "x"), ("min_tokens", 5), ("stop_token_ids", [5]),
                                 ("bad_words", ["a"]), ("functions", [{"name": "a"}]), ("no_repeat_ngram_size", 2)]:
                with self.subTest(path=path, field=field):
                    self.refuse(400, path, {**body, field: value}, f'"{field}" is not supported')
            self.succeed(path, {**body, "guided_json": None, "min_tokens": 0, "bad_words": [], "grammar": ""})

    def test_formats_of_texts_are_exact(self):
        def texts(schema):
            form = {"type": "json_schema", "json_schema": {"schema": {"type": "string", **schema}}}
            body = {"messages": "Hello", "n": 16, "seed": 3, "temperature": 1, "max_tokens": 80, "response_format": form}
            choices = self.succeed("/v1/chat/completions", body)["choices"]
            return [json.loads(choice["message"]["content"]) for choice in choices if choice["finish_reason"] == "stop"]

        for text in texts({"format": "ipv4"}):
            self.assertEqual(str(ipaddress.IPv4Address(text)), text)
        for text in texts({"format": "ipv6"}):
            ipaddress.IPv6Address(text)
        for text in texts({"format": "date", "minLength": 10, "maxLength": 10}):
            datetime.date.fromisoformat("2024" + text[4:])  # 29 February is one of every year
        for text in texts({"format": "time"}):
            self.assertRegex(text, r"\A([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)\Z")
        for text in texts({"format": "hostname"}):
            self.assertTrue(all(1 <= len(label) <= 63 for label in text.split(".")), text)
        for text in texts({"format": "uuid", "maxLength": 36}):
            self.assertEqual(str(uuid.UUID(text)), text.lower())

    def test_what_asks_for_nothing_is_no_error(self):
        tool = {"type": "function", "function": {"name": "look", "parameters": None}}
        self.succeed("/v1/chat/completions", {"messages": "Hello", "functions": [], "grammar": "", "tools": [tool], **GREEDY})
        forced = {"messages": "Hello", "tools": [tool], "tool_choice": "required", "max_tokens": 60}
        (choice,) = self.succeed("/v1/chat/completions", forced)["choices"]
        self.assertEqual(choice["message"]["tool_calls"][0]["function"]["name"], "look")
        self.succeed("/v1/responses", {"input": "Hello", "top_logprobs": 0, "max_output_tokens": 4})

    def test_arguments_are_what_the_schema_of_a_tool_describes(self):
        def arguments(parameters):
            tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
            body = {"messages": "x", "tools": [tool], "tool_choice": "required", "max_tokens": 60}
            (choice,) = self.succeed("/v1/chat/completions", body)["choices"]
            return json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"])

        self.assertEqual(arguments({"type": "object", "properties": {}, "required": []}), {})
        one = {"const": {"a": 1}}
        self.assertEqual(arguments({"$ref": "#/$defs/o", "$defs": {"o": one}}), {"a": 1})
        self.assertEqual(arguments({"anyOf": [one]}), {"a": 1})

    def test_a_pattern_is_open_beside_its_anchor(self):
        def texts(pattern):
            schema = {"type": "json_schema", "json_schema": {"schema": {"type": "string", "pattern": pattern}}}
            body = {"messages": "Hello", "n": 8, "temperature": 1.5, "max_tokens": 12, "response_format": schema}
            return [choice["message"]["content"] for choice in self.succeed("/v1/chat/completions", body)["choices"]]

        begun = texts("^ab")
        self.assertTrue(all(text.startswith('"ab') for text in begun) and any(len(text) > 5 for text in begun), begun)
        self.assertTrue(all(text in ('"ab"', '"cd"') for text in texts("^ab$|cd")))

    def test_a_json_object_may_have_a_schema(self):
        schema = {"type": "object", "properties": {"zz": {"enum": [7]}}, "required": ["zz"], "additionalProperties": False}
        for form in ({"type": "json_object", "schema": schema}, {"type": "json_schema", "json_schema": {"schema": schema}}):
            (choice,) = self.succeed("/v1/chat/completions", {"messages": "Hello", "response_format": form})["choices"]
            self.assertEqual(choice["message"]["content"], '{"zz":7}')

    def test_chat(self):
        body = {"messages": [{"role": "system", "content": "Be brief."},
                             {"role": "user", "content": [{"type": "text", "text": "Hello"}]}], **GREEDY}
        answer = self.succeed("/v1/chat/completions", {**body, "logprobs": True, "top_logprobs": 2})
        (choice,) = answer["choices"]
        self.assertEqual(choice["message"]["role"], "assistant")
        self.assertEqual(len(choice["logprobs"]["content"]), 12)
        token = choice["logprobs"]["content"][0]
        self.assertEqual(token["logprob"], token["top_logprobs"][0]["logprob"])
        events = self.server.stream("/v1/chat/completions", {**body, "stream": True})
        self.assertEqual(events[0][1]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        text = "".join(event["choices"][0]["delta"].get("content", "") for _, event in events[:-1])
        self.assertEqual(text, choice["message"]["content"])
        self.assertEqual(events[-2][1]["choices"][0]["finish_reason"], "length")

    def test_reasoning_is_apart_on_request(self):
        body = {"messages": "Hello", **GREEDY}
        plain = self.succeed("/v1/chat/completions", body)["choices"][0]["message"]
        self.assertNotIn("reasoning_content", plain)
        apart = self.succeed("/v1/chat/completions", {**body, "reasoning_format": "deepseek"})["choices"][0]["message"]
        self.assertEqual((apart["reasoning_content"], apart["content"]), ("", plain["content"]))
        events = self.server.stream("/v1/chat/completions", {**body, "reasoning_format": "deepseek", "stream": True})
        text = "".join(event["choices"][0]["delta"].get("content", "") for _, event in events[:-1])
        self.assertEqual(text, plain["content"])
        status, _ = self.server.post("/v1/chat/completions", {**body, "reasoning_format": "aloud"})
        self.assertEqual(status, 400)

    def test_variables_of_the_chat_template(self):
        body = {"messages": "Hello", **GREEDY}
        plain = self.succeed("/v1/chat/completions", body)["choices"]
        given = self.succeed("/v1/chat/completions", {**body, "chat_template_kwargs": {"enable_thinking": False}})["choices"]
        self.assertEqual(given, plain)  # this model's template does not ask for it
        status, error = self.server.post("/v1/chat/completions", {**body, "chat_template_kwargs": [1]})
        self.assertEqual((status, error["error"]["param"]), (400, "chat_template_kwargs"))

    def test_the_requests_of_the_guide(self):
        text = self.succeed("/v1/chat/completions", {"messages": "Who is the president?", "model": MODEL, **GREEDY})
        again = self.succeed("/v1/chat/completions", {"prompt": "Who is the president?", "model": MODEL, **GREEDY})
        self.assertEqual(text["choices"], again["choices"])
        message = {"role": "user", "content": "Who is the president?"}
        one, two, three = (self.succeed("/v1/chat/completions", {"messages": messages, "tools": [{"type": "function", "function": {"name": "f"}}], **GREEDY})["choices"]
                           for messages in (message["content"], message, [message]))
        self.assertEqual((one, two), (three, three))

    def test_responses(self):
        body = {"input": "Hello", "instructions": "Be brief.", "temperature": 0, "max_output_tokens": 8, "ignore_eos": True}
        answer = self.succeed("/v1/responses", body)
        self.assertEqual((answer["object"], answer["status"]), ("response", "incomplete"))
        text = answer["output"][0]["content"][0]["text"]
        self.assertEqual(answer["usage"]["output_tokens"], 8)
        events = self.server.stream("/v1/responses", {**body, "stream": True})
        self.assertEqual([name for name, _ in events[:2]], ["response.created", "response.in_progress"])
        self.assertEqual("".join(data["delta"] for name, data in events if name == "response.output_text.delta"), text)
        self.assertEqual(events[-1][1]["response"]["output"][0]["content"][0]["text"], text)
        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))

    def test_messages(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "system": "Be brief.", "max_tokens": 8,
                "temperature": 0, "ignore_eos": True}
        answer = self.succeed("/v1/messages", body)
        self.assertEqual((answer["type"], answer["stop_reason"]), ("message", "max_tokens"))
        events = self.server.stream("/v1/messages", {**body, "stream": True})
        self.assertEqual("".join(data["delta"]["text"] for name, data in events if name == "content_block_delta"),
                         answer["content"][0]["text"])
        self.assertEqual(events[-1][0], "message_stop")
        stop = answer["content"][0]["text"][2:4]
        stopped = {**body, "stop_sequences": ["never there", stop]}
        answer = self.succeed("/v1/messages", stopped)
        self.assertEqual((answer["stop_reason"], answer["stop_sequence"]), ("stop_sequence", stop))
        events = self.server.stream("/v1/messages", {**stopped, "stream": True})
        self.assertEqual(events[-2][1]["delta"], {"stop_reason": "stop_sequence", "stop_sequence": stop})
        status, error = self.server.post("/v1/messages", {"messages": "Hello"})
        self.assertEqual((status, error["type"], error["error"]["type"]), (400, "error", "invalid_request_error"))

    def test_a_last_message_of_the_assistant_is_continued(self):
        turns = {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": " One two\n"}]}
        answer = self.succeed("/v1/messages", {**turns, "max_tokens": 8, "temperature": 0, "ignore_eos": True})
        text = answer["content"][0]["text"]
        chat = self.succeed("/v1/chat/completions", {**turns, "continue_final_message": True, **GREEDY, "max_tokens": 8})
        self.assertEqual(chat["choices"][0]["message"]["content"], text)
        other = self.succeed("/v1/chat/completions", {**turns, **GREEDY, "max_tokens": 8})
        self.assertGreater(other["usage"]["prompt_tokens"], chat["usage"]["prompt_tokens"])  # it opens another turn
        turns["messages"][1] |= {"tool_calls": None, "refusal": None}  # as OpenAI's library writes an answer again
        self.succeed("/v1/chat/completions", {**turns, "continue_final_message": True, **GREEDY, "max_tokens": 8})

    def test_a_message_that_the_end_of_a_turn_holds_too_is_continued(self):
        def size(content):
            turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": content}]
            usage = self.succeed("/v1/messages", {"messages": turns, "max_tokens": 1})["usage"]
            return usage["input_tokens"] + usage["cache_read_input_tokens"]

        self.assertEqual([size(content) for content in "<|>"], [size("~")] * 3)

    def test_a_temperature_next_to_0_is_greedy(self):
        body = {"messages": "Hello", **GREEDY}
        texts = [self.succeed("/v1/chat/completions", {**body, "temperature": value})["choices"] for value in (0, 1e-8)]
        self.assertEqual(*texts)

    def test_messages_follow_a_schema(self):
        schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}
        answer = self.succeed("/v1/messages", {"messages": "x", "max_tokens": 50, "temperature": 0, "output_config": {
            "effort": "low", "format": {"type": "json_schema", "schema": schema}}})
        self.assertIn(json.loads(answer["content"][0]["text"])["a"], [1, 2])

    def test_predicted_scores_are_in_whole_answers(self):
        body = {"prompt": "Once upon", "max_new_tokens": 2, "output_scores": True}
        self.assertEqual(len(self.succeed("/predict", body)["generations"][0]["score"]), 2)
        self.assertEqual(self.server.post("/predict", {**body, "streaming": True})[0], 400)

    def test_predict(self):
        answer = self.succeed("/predict", {"sequences": "Once upon", "max_generated_tokens": 6, "force_max_tokens": True,
                                           "return_logits": True})
        self.assertEqual(list(answer), ["logits", "sequences", "session_id"])
        self.assertEqual(len(answer["logits"][0][0]), 288)
        (later,) = self.succeed("/predict", {"prompt": "Once upon", "max_new_tokens": 6, "force_max_tokens": True})["generations"]
        self.assertEqual((later["text"], later["finished_reason"]), (answer["sequences"][0], "max_new_tokens"))
        named = self.succeed("/v2/models/text_generation-0/infer", {"prompt": ["Once upon"], "max_new_tokens": 6,
                                                                    "force_max_tokens": True})
        self.assertEqual(named["generations"][0]["text"], later["text"])
        events = self.server.stream("/predict", {"prompt": "Once upon", "max_new_tokens": 6, "force_max_tokens": True,
                                                 "streaming": True})
        self.assertEqual("".join(data["generations"][0]["text"] for _, data in events[:-1]), later["text"])
        two = {"prompt": ["Once upon", "Twice"], "max_new_tokens": 6, "force_max_tokens": True}
        texts = [""] * 2
        for _, data in self.server.stream("/predict", {**two, "streaming": True})[:-1]:
            texts[data["generations"][0]["index"]] += data["generations"][0]["text"]
        self.assertEqual(texts, [each["text"] for each in self.succeed("/predict", two)["generations"]])

    def test_what_a_seed_draws_does_not_depend_on_the_form_of_the_request(self):
        body = {"prompt": "Once upon", "max_tokens": 16, "temperature": 1, "seed": 7, "ignore_eos": True}
        first = self.succeed("/v1/completions", body)["choices"][0]["text"]
        self.assertEqual(self.succeed("/v1/completions", body)["choices"][0]["text"], first)
        predicted = self.succeed("/predict", {"prompt": "Once upon", "max_new_tokens": 16, "do_sample": True, "seed": 7,
                                              "force_max_tokens": True})
        self.assertEqual(predicted["generations"][0]["text"], first)
        self.assertNotEqual(self.succeed("/v1/completions", {**body, "seed": 8})["choices"][0]["text"], first)

    def test_stop_strings_and_biases(self):
        whole = self.succeed("/v1/completions", {"prompt": "Once", **GREEDY})["choices"][0]["text"]
        stop = whole[len(whole) // 2:][:3]
        stopped = self.succeed("/v1/completions", {"prompt": "Once", "stop": [stop], **GREEDY})["choices"][0]
        self.assertEqual((stopped["text"], stopped["finish_reason"]), (whole[:whole.index(stop)], "stop"))
        forced = self.succeed("/v1/completions", {"prompt": "Once", **GREEDY, "max_tokens": 3, "logit_bias": {"40": 100},
                                                  "logprobs": 0})
        self.assertEqual(len(set(forced["choices"][0]["logprobs"]["tokens"])), 1)

    def test_what_is_known_of_models_and_texts(self):
        self.assertEqual(self.server.get("/v1/models")[1]["data"][0]["id"], MODEL)
        self.assertEqual(self.server.get("/v1/models/" + MODEL)[1]["id"], MODEL)
        self.assertEqual(self.server.get("/v1/models/none")[0], 404)
        tokens = self.succeed("/tokenize", {"content": "Hello world"})["tokens"]
        self.assertEqual(self.succeed("/detokenize", {"tokens": tokens})["content"], "Hello world")
        for path in ["/health", "/ping", "/ready", "/config", "/endpoints", "/slots", "/v2/health/live",
                     "/v2/models/text_generation-0/ready"]:
            self.assertEqual(self.server.get(path)[0], 200, path)
        self.assertEqual(self.server.get("/v2/models/text_generation-0")[1], {"model_path": MODEL})
        document = self.server.get("/openapi.json")[1]
        self.assertIn("/v1/chat/completions", document["paths"])
        sampling = document["components"]["schemas"]["Sampling"]["properties"]
        for field in ["temperature", "top_p", "top_k", "min_p", "typical_p", "presence_penalty", "frequency_penalty",
                      "repetition_penalty", "logit_bias", "seed", "stop", "ignore_eos"]:
            self.assertIn(field, sampling)
        status, headers, page = self.server.request("GET", "/docs")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertNotRegex(page.decode(), r"(src|href)=\"https?:")
        status, headers, page = self.server.request("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertNotRegex(page.decode(), r"(src|href)=\"https?:|@[A-Z]+@")
        for tag in ("style", "script"):  # the policy allows what is there
            text = re.search(rf"<{tag}[^>]*>(.*?)</{tag}>", page.decode(), re.DOTALL)[1]
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}';", headers["Content-Security-Policy"])

    def test_a_key_is_not_needed_for_the_pages_and_the_chat_can_be_left_out(self):
        for flags, wanted in [([], 200), (["--no-page"], 302)]:
            with Server(*self.flags, "--api-key", "secret", *flags) as server:
                status, headers, _ = server.request("GET", "/")
                self.assertEqual((status, headers.get("Location")), (wanted, "/docs" if flags else None))
                self.assertEqual([server.request("GET", path)[0] for path in ("/docs", "/openapi.json")], [200, 200])

    def test_a_prompt_that_was_sent_before_is_not_computed_again(self):
        long = {"prompt": "All work and no play makes Jack a dull boy. " * 3, **GREEDY}
        first, second = (self.succeed("/v1/completions", long) for _ in range(2))
        self.assertEqual(first["choices"], second["choices"])
        self.assertGreaterEqual(second["usage"]["prompt_tokens_details"]["cached_tokens"], 64)
        many = self.succeed("/v1/completions", {**long, "n": 3})
        self.assertEqual(many["usage"]["prompt_tokens_details"], second["usage"]["prompt_tokens_details"])

    def test_drafts_are_counted_and_change_no_text(self):
        wanted = [self.succeed("/v1/completions", {"prompt": prompt, **GREEDY}) for prompt in ("Once", "one two one")]
        with Server(*self.flags, "--draft-model", "self:i8", "--spec-fixed") as server:
            for prompt, plain in zip(("Once", "one two one"), wanted):
                status, found = server.post("/v1/completions", {"prompt": prompt, **GREEDY})
                self.assertEqual(status, 200)
                self.assertEqual(found["choices"], plain["choices"])
                self.assertGreater(found["usage"]["draft_n"], 0)
                self.assertLessEqual(found["usage"]["draft_accepted"], found["usage"]["draft_n"])
                self.assertNotIn("draft_n", plain["usage"])

    def test_metrics(self):
        self.succeed("/v1/completions", {"prompt": "Once", **GREEDY})
        status, headers, text = self.server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        figures = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))
        self.assertGreater(float(figures[f'tulle_generated_tokens_total{{model="{MODEL}"}}']), 0)
        self.assertGreater(float(figures['tulle_http_requests_total{route="/v1/completions",status="200"}']), 0)
        self.assertGreater(float(figures["tulle_time_to_first_token_seconds_count"]), 0)
        if shutil.which("promtool"):  # Prometheus's own reader, where it is installed
            subprocess.run(["promtool", "check", "metrics"], input=text, check=True)


if __name__ == "__main__":
    unittest.main()
