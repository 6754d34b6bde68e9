# SPDX-License-Identifier: Apache-2.0
"""The official Python clients of OpenAI and Anthropic against `tulle serve`; run by run_clients.py."""
import asyncio
import json
import tempfile
import unittest
from pathlib import Path

import anthropic
import jsonschema
import openai
from schemas import FIRST, REFUSED, TOOLS, closed
from server import Q8_0, ServeTest, Server

MODEL = str(Q8_0)
HELLO = [{"role": "user", "content": "Hello"}]
GREEDY = {"temperature": 0, "extra_body": {"ignore_eos": True}}


class OpenAITest(ServeTest):
    flags = ["--sequence-length", "1024", "--api-key", "secret"]

    def setUp(self):
        self.address = f"http://127.0.0.1:{self.server.port}/v1"
        self.client = openai.OpenAI(base_url=self.address, api_key="secret", max_retries=0)
        self.addCleanup(self.client.close)

    def test_chat(self):
        answer = self.client.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=10, logprobs=True,
                                                     top_logprobs=2, **GREEDY)
        text = answer.choices[0].message.content
        self.assertEqual((answer.choices[0].finish_reason, answer.usage.completion_tokens), ("length", 10))
        self.assertEqual(len(answer.choices[0].logprobs.content[3].top_logprobs), 2)
        stream = self.client.chat.completions.create(model=MODEL, messages=HELLO, max_completion_tokens=10, stream=True,
                                                     stream_options={"include_usage": True}, **GREEDY)
        chunks = list(stream)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), text)
        self.assertEqual(chunks[-1].usage.completion_tokens, 10)

    def test_completions(self):
        answer = self.client.completions.create(model=MODEL, prompt=["Once", "Twice"], n=2, max_tokens=6, logprobs=1, **GREEDY)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2, 3])
        self.assertEqual(len(answer.choices[0].logprobs.tokens), 6)
        stream = self.client.completions.create(model=MODEL, prompt="Once", max_tokens=6, stream=True, **GREEDY)
        self.assertEqual("".join(chunk.choices[0].text for chunk in stream), answer.choices[0].text)

    def test_responses(self):
        answer = self.client.responses.create(model=MODEL, input="Hello", max_output_tokens=8, **GREEDY)
        self.assertEqual(answer.status, "incomplete")
        with self.client.responses.stream(model=MODEL, input="Hello", max_output_tokens=8, **GREEDY) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        self.assertEqual(text, answer.output_text)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], [MODEL])

    def test_errors(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.chat.completions.create(model="none", messages=HELLO)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model=MODEL, messages=HELLO, temperature=3)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.AuthenticationError):
            openai.OpenAI(base_url=self.address, api_key="wrong", max_retries=0).models.list()

    def follow(self, client, schema, **settings):
        form = {"type": "json_schema", "json_schema": {"name": "form", "schema": schema}}
        return client.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=100, seed=7, response_format=form,
                                              **settings)

    def test_schemas(self):
        async def all_at_once():
            async with openai.AsyncOpenAI(base_url=self.address, api_key="secret", max_retries=0) as client:
                return await asyncio.gather(*(self.follow(client, schema) for schema in FIRST))

        ended = 0
        for number, (schema, answer) in enumerate(zip(FIRST, asyncio.run(all_at_once()))):
            choice = answer.choices[0]
            if choice.finish_reason == "stop":
                ended += 1
                jsonschema.validate(json.loads(choice.message.content), schema, jsonschema.Draft202012Validator)
            if number % 8 == 0:
                self.assertEqual(self.follow(self.client, schema).choices[0].message.content, choice.message.content)
        self.assertGreaterEqual(ended, len(FIRST) - 5)  # the others reach their limit of tokens
        for schema in REFUSED:
            with self.subTest(schema), self.assertRaises(openai.BadRequestError) as caught:
                self.follow(self.client, schema)
            self.assertEqual(caught.exception.param, "response_format")

    def test_completions_follow_schemas(self):
        schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"], "additionalProperties": False}
        form = {"type": "json_schema", "json_schema": {"schema": schema}}
        choice = self.client.completions.create(model=MODEL, prompt="Give", max_tokens=100,
                                                extra_body={"response_format": form}).choices[0]
        self.assertEqual(choice.finish_reason, "stop")
        jsonschema.validate(json.loads(choice.text), schema)

    def check_calls(self, client, settings):
        """A call that is forced is one of the tools, alone and as a stream."""
        choice = client.chat.completions.create(tool_choice="required", **settings).choices[0]
        call = choice.message.tool_calls[0].function
        self.assertEqual((choice.finish_reason, choice.message.content), ("tool_calls", None))
        parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
        jsonschema.validate(json.loads(call.arguments), parameters[call.name])
        name, arguments, reason = "", "", None
        for chunk in client.chat.completions.create(tool_choice="required", stream=True, **settings):
            for part in chunk.choices[0].delta.tool_calls or []:
                name += part.function.name or ""
                arguments += part.function.arguments
            reason = chunk.choices[0].finish_reason
        self.assertEqual((name, arguments, reason), (call.name, call.arguments, "tool_calls"))

    def test_tools(self):
        settings = {"model": MODEL, "messages": HELLO, "tools": TOOLS, "max_tokens": 200, "seed": 3}
        self.check_calls(self.client, settings)
        named = {"type": "function", "function": {"name": "set_alarm"}}
        choice = self.client.chat.completions.create(tool_choice=named, **settings).choices[0]
        self.assertEqual(choice.message.tool_calls[0].function.name, "set_alarm")
        answer = choice.message.model_dump(exclude_none=True)
        history = [*HELLO, answer, {"role": "tool", "tool_call_id": answer["tool_calls"][0]["id"], "content": "done"}]
        self.client.chat.completions.create(**{**settings, "messages": history, "max_tokens": 4})
        for wrong in ({"tools": [{"type": "other"}]}, {"tool_choice": "some"}, {"tools": [], "tool_choice": "required"},
                      {"extra_body": {"functions": [{}]}}):
            with self.subTest(wrong), self.assertRaises(openai.BadRequestError):
                self.client.chat.completions.create(**{**settings, **wrong})

    def test_tools_of_families(self):
        """Templates in the formats of Qwen, Granite, Llama 3 and Mistral, by the marks that they know."""
        template = ("{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}{{ message.content }}"
                    "{% for call in message.tool_calls or [] %}MARK{{ call.function | tojson }}{% endfor %}{% endfor %}"
                    "{% if add_generation_prompt %}<think>\n{% endif %}")
        for mark in ("<tool_call>", "<|tool_call|>", "<|python_tag|>", "[TOOL_CALLS]"):
            with self.subTest(mark), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "model.gguf").symlink_to(Q8_0)
                (Path(folder) / "chat_template.jinja").write_text(template.replace("MARK", mark))
                with Server("--sequence-length", "1024", model=folder) as server, openai.OpenAI(
                        base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0) as client:
                    settings = {"model": folder, "messages": HELLO, "tools": TOOLS, "max_tokens": 200, "seed": 3}
                    self.check_calls(client, settings)
                    # A call that must be is none of the thoughts with which this template lets the text begin.
                    apart = {"extra_body": {"reasoning_format": "deepseek"}, "tool_choice": "required", **settings}
                    (call, *_) = client.chat.completions.create(**apart).choices[0].message.tool_calls
                    self.assertRegex(call.id, r"\A[0-9a-z]{9}\Z" if mark == "[TOOL_CALLS]" else r"\Acall_")

    def test_structured_responses(self):
        form = {"type": "json_schema", "name": "form", "schema": closed(a={"type": "boolean"})}
        answer = self.client.responses.create(model=MODEL, input="Hello", max_output_tokens=40, text={"format": form})
        self.assertIsInstance(json.loads(answer.output_text)["a"], bool)

    def test_many_at_once(self):
        async def run():
            async with openai.AsyncOpenAI(base_url=self.address, api_key="secret", max_retries=0) as client:
                ask = lambda text: client.completions.create(model=MODEL, prompt=text, max_tokens=12, **GREEDY)  # noqa: E731
                texts = [f"Number {number}" for number in range(8)]
                together = await asyncio.gather(*map(ask, texts))
                return [(each.choices[0].text, (await ask(text)).choices[0].text) for text, each in zip(texts, together)]

        for together, alone in asyncio.run(run()):
            self.assertEqual(together, alone)


class AnthropicTest(ServeTest):
    flags = ["--sequence-length", "256", "--api-key", "secret"]

    def setUp(self):
        self.client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{self.server.port}", api_key="secret", max_retries=0)
        self.addCleanup(self.client.close)

    def test_messages(self):
        settings = {"model": MODEL, "max_tokens": 8, "messages": HELLO, "system": "Be brief.",
                    "extra_body": {"temperature": 0, "ignore_eos": True}}
        answer = self.client.messages.create(**settings)
        self.assertEqual((answer.stop_reason, answer.usage.output_tokens), ("max_tokens", 8))
        with self.client.messages.stream(**settings) as stream:
            self.assertEqual("".join(stream.text_stream), answer.content[0].text)
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(**{**settings, "extra_body": {"temperature": 5}})
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(**{**settings, "model": "none"})


if __name__ == "__main__":
    unittest.main()
