# SPDX-License-Identifier: Apache-2.0
"""What transformers makes of chat templates, for tools/checks/chat_templates.py; runs in the Python that has transformers.
    usage: _transformers_chats.py < templates > cases
Reads {"templates": {name: source}}. Adds "now" and "cases": a list of {"template", "conversation", "context"} with the
`text` that transformers renders, or the `error` that it raises. A template that knows nothing of thinking, tools or
documents meets those conversations too."""
import json
import sys
from datetime import datetime

from transformers.utils import chat_template_utils

NOW = datetime(2026, 11, 21, 9, 5, 7)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}

SYSTEM = {"role": "system", "content": "You are a  pirate.\n"}
USER = {"role": "user", "content": " Where is the \"treasure\"? <b>5 > 3</b> & 'é' \U0001f600\n"}
ANSWER = {"role": "assistant", "content": "Under the palm, matey!"}
AGAIN = {"role": "user", "content": "Which palm?"}
THOUGHT = {"role": "assistant", "content": "<think>\nHe wants \"it\".\n</think>\n\nUnder the palm."}
REASONING = {"role": "assistant", "reasoning_content": "He asks.\nAgain.", "content": "The old one."}
REASONED = {"role": "assistant", "reasoning": "He asks.", "thinking": "He asks.", "content": "The old one."}
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather at a place,\nin <degrees> & \u00b0C.",
    "parameters": {"type": "object", "required": ["place"], "properties": {
        "place": {"type": "string", "description": "A town"}, "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "days": {"type": "array", "description": "Which", "items": {"type": "integer"}}, "deep": {
            "type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}}},
    "return": {"type": "number", "description": "Degrees"}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time", "parameters": {"type": "object", "properties": {}}}}
def array(kind, **more):
    return {"type": "array", "items": {"type": kind}, **more}


# Each way to describe a parameter that some template knows.
SCHEMAS = {"text": {"type": "string", "description": "Free \"text\"", "default": "x", "nullable": True, "format": "uri", "minLength": 1},
           "count": {"type": "integer", "minimum": 0, "maximum": 9, "default": 3, "examples": [1, 2]}, "share": {"type": "number", "nullable": True, "default": 0.5},
           "flag": {"type": "boolean", "default": False, "description": ""}, "kind": {"type": "string", "enum": ["a", "b"], "examples": ["a"]},
           "either": {"type": ["string", "integer"]}, "one": {"oneOf": [{"type": "string", "description": "words", "format": "date"}, {"type": "number", "format": "date"}], "default": "w"},
           "objects": {"oneOf": [{"type": "object"}, {"type": "object"}]}, "any": {"anyOf": [{"type": "string", "default": "d"}, {"type": "integer"}]},
           "texts": array("string", nullable=True, description="Several"), "numbers": array("number", nullable=True), "counts": array("integer"),
           "flags": array("boolean"), "untyped": {"type": "array"}, "nested": array("array"), "things": {"type": "array", "nullable": True, "items": {
               "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "boolean", "enum": [True]}}}},
           "map": {"type": "object", "additionalProperties": {"type": "string"}}, "object": {"type": "object", "nullable": True, "required": ["p"], "properties": {
               "p": {"type": "string", "description": "Deep"}, "q": array("string", minItems=1)}}, "unknown": {}}
EVERYTHING = {"type": "function", "function": {"name": "everything", "description": "All kinds", "parameters": {
    "type": "object", "properties": SCHEMAS, "required": ["text", "object"]}, "response": {"type": "object", "description": "Much"},
    "returns": {"type": "object", "properties": {"sum": {"type": "integer", "description": "A sum"}}}}}
BARE = {"name": "clock", "description": "The time", "parameters": {"type": "object", "properties": {}}, "price": 0.25, "free": False}
PLACE = {"place": "K\u00f6ln", "unit": "C", "days": [1, 2], "deep": {"a": None, "b": 1.5}, "now": True}


def call(name, arguments, identity="abcdefgh1"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made, **more):
    return {"role": "assistant", "content": "", **more, "tool_calls": list(made)}


def result(content, name="get_weather", identity="abcdefgh1"):
    return {"role": "tool", "name": name, "tool_call_id": identity, "content": content}


def parts(message):
    """The message with its content as a list of parts."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


DEGREES = "{\"degrees\": 21.5}"
BOTH = [call("get_weather", PLACE), call("clock", {}, "abcdefgh2")]
RESULTS = [result(DEGREES), result("noon", "clock", "abcdefgh2")]
TOOLS = [WEATHER, CLOCK]
DOCUMENTS = [{"title": "Palms", "text": "They are old."}, {"title": "Sand", "text": "It is dry.", "doc_id": 7}]
# Chats that most templates take, then those that some do.
CONVERSATIONS = {
    "user": {"messages": [USER]},
    "system": {"messages": [SYSTEM, USER]},
    "turns": {"messages": [USER, ANSWER, AGAIN]},
    "system and turns": {"messages": [SYSTEM, USER, ANSWER, AGAIN, ANSWER, USER]},
    "ends with an answer": {"messages": [SYSTEM, USER, ANSWER]},
    "developer": {"messages": [{**SYSTEM, "role": "developer"}, USER]},
    "late system": {"messages": [USER, ANSWER, SYSTEM, AGAIN]},
    "two users": {"messages": [USER, AGAIN]},
    "assistant first": {"messages": [ANSWER, USER]},
    "unknown role": {"messages": [USER, {"role": "critic", "content": "Boo."}]},
    "no messages": {"messages": []},
    "empty contents": {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": ""}, {"role": "assistant", "content": None}]},
    "parts": {"messages": [parts(SYSTEM), parts(USER), parts(ANSWER), parts(AGAIN)]},
    "image": {"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}]},
    "thinking": {"messages": [USER], "enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    "no thinking": {"messages": [SYSTEM, USER], "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
    "system says no thinking": {"messages": [{"role": "system", "content": "/no_think Be short."}, USER]},
    "thoughts": {"messages": [USER, THOUGHT, AGAIN]},
    "reasoning": {"messages": [USER, REASONING, AGAIN, REASONING], "enable_thinking": True, "thinking": True},
    "other reasoning": {"messages": [SYSTEM, USER, REASONED, AGAIN, REASONED]},
    "tools": {"messages": [USER], "tools": TOOLS},
    "tools and system": {"messages": [SYSTEM, USER], "tools": TOOLS},
    "bare tools": {"messages": [SYSTEM, USER], "tools": [BARE]},
    "no tools": {"messages": [USER], "tools": []},
    "tools without thinking": {"messages": [SYSTEM, USER], "tools": TOOLS, "enable_thinking": False},
    "call": {"messages": [USER, calls(call("get_weather", PLACE))], "tools": TOOLS},
    "call and result": {"messages": [SYSTEM, USER, calls(call("get_weather", PLACE)), result(DEGREES)], "tools": TOOLS},
    "call of a text": {"messages": [USER, calls(call("get_weather", json.dumps(PLACE))), result(DEGREES)], "tools": TOOLS},
    "call, result, answer": {"messages": [USER, calls(call("get_weather", PLACE)), result(DEGREES), ANSWER, AGAIN], "tools": TOOLS},
    "call without tools": {"messages": [USER, calls(call("get_weather", PLACE)), result(DEGREES), ANSWER]},
    "call with a null": {"messages": [USER, calls(call("clock", {}), content=None), result("noon", "clock"), ANSWER], "tools": TOOLS},
    "call with words": {"messages": [USER, calls(call("clock", {}), content="Let me look."), result("noon", "clock")], "tools": TOOLS},
    "call with reasoning": {"messages": [USER, calls(call("clock", {}), reasoning_content="The clock.", thinking="The clock."), result("noon", "clock")], "tools": TOOLS},
    "two calls": {"messages": [SYSTEM, USER, calls(*BOTH), *RESULTS], "tools": TOOLS},
    "two calls and an answer": {"messages": [USER, calls(*BOTH), *RESULTS, ANSWER, AGAIN], "tools": TOOLS},
    "bare call": {"messages": [USER, {"role": "assistant", "content": "", "tool_calls": [{"name": "clock", "arguments": {}}]}, {"role": "tool", "content": {"time": "noon"}}], "tools": TOOLS},
    "calls in two turns": {"messages": [USER, calls(call("clock", {})), result("noon", "clock"), calls(call("get_weather", PLACE)), result(DEGREES), ANSWER], "tools": TOOLS},
    "result as a list": {"messages": [USER, calls(call("get_weather", PLACE)), result([{"type": "text", "text": "21"}])], "tools": TOOLS},
    "tools in the user's turn": {"messages": [SYSTEM, USER], "tools": TOOLS, "tools_in_user_message": False, "date_string": "1 April 2025"},
    "tools by name": {"messages": [SYSTEM, USER], "builtin_tools": ["wikipedia", "python", "browser"], "model_identity": "You are a parrot.", "tools": TOOLS},
    "every schema": {"messages": [SYSTEM, USER], "tools": [EVERYTHING, CLOCK, {"type": "code_interpreter"}]},
    "call with everything": {"messages": [USER, calls(call("everything", {"text": "it's <b>", "count": 3, "share": 0.1, "flag": False, "texts": [], "map": {}, "things": [{"a": "\u4e16"}, None]}))], "tools": [EVERYTHING]},
    "built-in tool": {"messages": [USER, calls(call("python", {"code": "print(1)", "lang": "py"})), result("1", "python")], "tools": TOOLS, "builtin_tools": ["python"]},
    "tool plan": {"messages": [SYSTEM, USER, calls(*BOTH, tool_plan="I'll look."), *RESULTS, {**ANSWER, "tool_plan": "Done."}], "tools": TOOLS, "enable_citations": True, "safety_mode": "strict"},
    "user first, then a call": {"messages": [{**SYSTEM, "content": "/think Be long."}, USER, {**ANSWER, "prefix": True}], "reasoning_mode": "/think", "custom_instructions": "Be kind.", "thinking_budget": 0},
    "pictures": {"messages": [{"role": "user", "content": [{"type": "image", "image": "a.png"}, {"type": "video"}, {"type": "audio"}, {"type": "image_url"}, {"type": "text", "text": " What? "}]}, ANSWER], "add_vision_id": True},
    "kept thoughts": {"messages": [USER, THOUGHT, AGAIN, REASONING, USER], "preserve_thinking": True, "keep_past_thinking": True, "clear_thinking": False, "truncate_history_thinking": False, "enable_thinking": True},
    "cut thoughts": {"messages": [USER, THOUGHT, AGAIN, REASONING, USER], "preserve_thinking": False, "clear_thinking": True, "truncate_history_thinking": True, "thinking_mode": "disabled", "low_effort": True},
    "custom tools": {"messages": [SYSTEM, USER], "custom_tools": TOOLS, "xml_tools": ["<a/>"], "python_tools": ["f()"], "response_format": {"type": "json_object"}, "knowledge_cutoff": "2025-01", "current_date": "2026-11-21"},
    "documents": {"messages": [SYSTEM, USER], "documents": DOCUMENTS, "available_tools": TOOLS, "citation_mode": "fast", "controls": {"citations": True, "hallucinations": True, "length": "short", "originality": "abstractive"}},
}


def environment(source):
    """transformers' template, its clock stopped."""
    template = chat_template_utils._compile_jinja_template(source)
    template.globals["strftime_now"] = template.environment.globals["strftime_now"] = NOW.strftime
    return template


def render(source, context):
    try:
        return {"text": environment(source).render(**json.loads(json.dumps(context)))}
    except Exception as error:  # templates make Python raise whatever it likes
        return {"error": f"{type(error).__name__}: {error}"}


def cases(templates):
    for name, source in templates.items():
        for conversation, given in CONVERSATIONS.items():
            for prompt in (False, True):
                context = {**TOKENS, "tools": None, "documents": None, **given, "add_generation_prompt": prompt}
                yield {"template": name, "conversation": f"{conversation}, {'prompt' if prompt else 'whole'}", "context": context,
                       **render(source, context)}


def main():
    templates = json.load(sys.stdin)["templates"]
    now = NOW.timetuple()
    json.dump({"now": [*now[:6], (now.tm_wday + 1) % 7, now.tm_yday - 1], "templates": templates,
               "cases": list(cases(templates))}, sys.stdout)


if __name__ == "__main__":
    main()
