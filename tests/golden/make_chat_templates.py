#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/golden/chat_templates.json: what Jinja2, set up as transformers sets it up, makes of chat templates.

The templates are the .jinja files in chat_templates/, all our own. The environment comes from transformers itself
(sandboxed, trim_blocks, lstrip_blocks, break and continue, `generation` blocks, tojson without HTML escaping,
raise_exception, strftime_now); only the clock is stopped.

usage: make_chat_templates.py --smollm2 chat_template.jinja [--out chat_templates.json]
Made with Python 3.11, jinja2 3.1.6, transformers 5.17.0.
"""
import argparse
import json
import os
import re
from datetime import datetime
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import jinja2
import transformers
from transformers.utils import chat_template_utils

HERE = Path(__file__).parent
NOW = "2026-11-21T09:05:07"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
BASE = {**TOKENS, "tools": None, "documents": None}

SYSTEM = {"role": "system", "content": "  You are a pirate.\n"}
USER = {"role": "user", "content": "Where is the treasure?"}
ASSISTANT = {"role": "assistant", "content": " Under the palm, matey! \n"}
ODD = {"role": "user", "content": "<b>\"5 > 3\" & 'é'</b> \U0001f600\n\ttab\\n {{ not.rendered }} {% if %}"}
EMPTY = {"role": "user", "content": ""}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather\nat a place, in <degrees> & \u00b0C.", "parameters": {
    "type": "object", "properties": {"place": {"type": "string", "description": "A town"}, "unit": {"type": "string", "enum": ["C", "F"]},
                                     "days": {"type": "array", "items": {"type": "integer"}}}, "required": ["place"]}}}
CLOCK = {"name": "clock", "parameters": {"type": "object", "properties": {}}, "price": 0.25, "free": False, "note": None}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": {"place": "K\u00f6ln", "unit": "C", "days": [1, 2]}}}]}
TWO_CALLS = {"role": "assistant", "content": "Let me look.", "tool_calls": [{"function": {"name": "get_weather", "arguments": "{\"place\": \"Rome\"}"}}, {"name": "clock", "arguments": {}}]}
RESULT = {"role": "tool", "content": "{\"degrees\": 21.5}"}
THINKING = {"role": "assistant", "content": "<think>\nHmm, \"treasure\".\n</think>\n\nUnder the palm."}
REASONING = {"role": "assistant", "reasoning_content": "\nHe asks again.\n", "content": "Still there."}

CONVERSATIONS = {
    "user": {"messages": [USER]},
    "system and user": {"messages": [SYSTEM, USER]},
    "three turns": {"messages": [USER, ASSISTANT, {"role": "user", "content": "Which palm?"}]},
    "system and four turns": {"messages": [SYSTEM, USER, ASSISTANT, ODD, ASSISTANT]},
    "odd characters": {"messages": [ODD]},
    "empty text": {"messages": [EMPTY]},
    "two users": {"messages": [USER, ODD]},
    "assistant first": {"messages": [ASSISTANT, USER]},
    "late system": {"messages": [USER, ASSISTANT, SYSTEM, USER]},
    "unknown role": {"messages": [USER, {"role": "critic", "content": "Boo."}]},
    "no messages": {"messages": []},
}
TOOL_CONVERSATIONS = {
    "tools offered": {"messages": [SYSTEM, USER], "tools": [WEATHER, CLOCK]},
    "a call and its result": {"messages": [USER, CALL, RESULT], "tools": [WEATHER]},
    "two calls, two results, an answer": {"messages": [USER, TWO_CALLS, RESULT, {"role": "tool", "content": "noon"}, ASSISTANT, USER], "tools": [WEATHER, CLOCK]},
    "empty list of tools": {"messages": [USER], "tools": []},
    "thoughts": {"messages": [USER, THINKING, USER, REASONING]},
    "old thoughts": {"messages": [SYSTEM, USER, THINKING, USER]},
}
PARTS = {"messages": [{"role": "user", "content": [{"type": "text", "text": "What is this? "}, {"type": "image"}, {"type": "text", "text": " And "}, {"type": "image_url"}]}]}
BAD_PARTS = {"messages": [{"role": "user", "content": [{"type": "video"}]}]}

# template: further contexts beside CONVERSATIONS
TEMPLATES = {
    "chatml": {},
    "zephyr": {},
    "inst": {},
    "headers": {**TOOL_CONVERSATIONS, "given date": {"messages": [USER], "date_string": "1 April 2025"},
                "result as a list": {"messages": [USER, CALL, {"role": "tool", "content": [{"b": 1, "a": [True, None, 1.5, "\u00e9<"]}]}]}},
    "tools": {**TOOL_CONVERSATIONS, "no thinking": {"messages": [USER], "enable_thinking": False}, "thinking": {"messages": [USER], "enable_thinking": True}},
    "macros": {**TOOL_CONVERSATIONS, "parts": PARTS, "bad parts": BAD_PARTS},
    "alternating": {"at most two turns": {"messages": [USER, ASSISTANT, USER, ASSISTANT], "max_turns": 2}},
    "lines": {"names": {"messages": [{**USER, "name": "ann"}, {**USER, "name": "bob"}, {"role": "assistant", "content": None}]}},
}

# Small templates, one feature each: with messages = [SYSTEM, USER, ASSISTANT] and the values below.
VALUES = {"n": 7, "f": 2.5, "t": True, "none_value": None, "s": "Hello, <World> & \"you\"", "e": "", "list": [3, 1, 2], "words": ["b", "a", "C", "a"],
          "d": {"b": 1, "a": {"x": [1, 2, {"y": None}]}}, "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, {"k": "x", "v": 3}], "u": "\u00e4\u4e16\U0001f600"}
FEATURES = [
    "{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'b', none] ~ {'k': 'v'} }}",
    "{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ (1 + 2) * 3 }} {{ 1 / 4 }} {{ 1e3 }}",
    "{{ n > 3 and n < 10 }} {{ not n == 7 }} {{ n >= 7 or f }} {{ 1 < 2 < 3 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ '1' == 1 }} {{ none == false }}",
    "{{ e or 'default' }} {{ n and 'yes' }} {{ [] or 'empty' }} {{ 0 or none }} {{ 'x' if n else 'y' }} [{{ 'x' if e }}]",
    "{{ 'Wor' in s }} {{ 'b' in d }} {{ 3 in list }} {{ 9 not in list }} {{ 'k' in rows[0] }} {{ '' in s }}",
    "{{ s[0] }} {{ s[-1] }} {{ s[1:4] }} {{ s[:-1] }} {{ s[::-1] }} {{ list[1:] }} {{ list[::2] }} {{ list[-2:] }} {{ u[1] }} {{ u[-1:] }} {{ u | length }}",
    "{{ d.b }} {{ d['a'].x[2].y }} {{ d.a['x'][0] }} [{{ d.missing }}] [{{ missing }}] {{ missing is defined }} {{ d.missing is defined }} {{ d.get('q', 5) }} {{ d.get('q') }}",
    "{{ missing.further }}", "{{ none_value.x is defined }}", "{{ d.missing.x }}", "{{ list[10] is defined }} {{ list[10] }}|", "{{ 'a' + 1 }}", "{{ n() }}", "{{ s.nothing() }}",
    "{{ 1 / 0 }}", "{{ 'x' | no_such_filter }}", "{{ n is no_such_test }}", "{% if %}", "{{ 'unclosed", "{% for x in list %}", "{% endfor %}", "{{ raise_exception('Stop: ' ~ n) }}", "{% unknown %}",
    "{{ s | upper }} {{ s | lower }} {{ 'heLLo woRLD' | capitalize }} {{ 'hello world-wide' | title }} {{ '  x ' | trim }}| {{ 'xxaxx' | trim('x') }} {{ u | upper }}",
    "{{ s | length }} {{ list | count }} {{ list | first }} {{ list | last }} {{ s | first }} {{ list | min }} {{ list | max }} {{ list | sort }} {{ words | sort }} {{ words | sort(case_sensitive=true, reverse=true) }}",
    "{{ words | unique | list }} {{ words | join }} {{ words | join(', ') }} {{ rows | join('; ', attribute='k') }} {{ list | reverse | list }} {{ 'abc' | reverse }} {{ 'abc' | list }}",
    "{{ missing | default('d') }} {{ e | default('d') }}| {{ e | default('d', true) }} {{ none_value | default('d') }} {{ none_value | d('d', boolean=true) }}",
    "{{ rows | map(attribute='v') | list }} {{ words | map('upper') | join('-') }} {{ rows | map(attribute='z', default='?') | list }}",
    "{{ rows | selectattr('k', 'equalto', 'x') | list }} {{ rows | rejectattr('k', '==', 'x') | map(attribute='v') | list }} {{ list | select('>', 1) | list }} {{ list | reject('odd') | list }} {{ words | select('in', ['a']) | list }} {{ rows | selectattr('v') | list | length }}",
    "{{ d | items | list }} {{ d.items() | list }} {{ d | dictsort }} {{ d.keys() | list }} {{ d.values() | list }} {% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{{ d | tojson }} {{ u | tojson }} {{ s | tojson }} {{ f | tojson }} {{ [1.0, 1e-7, 1e22, -0.0, true, none] | tojson }} {{ '\\n\\t\\u0001\\x7f/' | tojson }}",
    "{{ d | tojson(indent=2) }}", "{{ rows | tojson(separators=(',', ':')) }} {{ d | tojson(sort_keys=true) }} {{ u | tojson(ensure_ascii=true) }} {{ [] | tojson(indent=1) }} {{ {} | tojson(indent=1) }}",
    "{{ 'a-b-c' | replace('-', '+') }} {{ 'a-b-c' | replace('-', '+', 1) }} {{ '12' | int + 1 }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ '2.5' | float }} {{ 3.7 | int }} {{ n | string ~ 'x' }} {{ -3 | abs }}",
    "{{ s | escape }} {{ s | e }} {{ '<a>' | safe }} {{ '%s is %d' | format('x', 3) }}",
    "{{ 'line one\nline two\n\nline four' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(width=3, blank=true) }}|",
    "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.find('c') }} {{ 'abc'.index('b') }}",
    "{{ '  x '.strip() }}|{{ '--x--'.strip('-') }}|{{ '  x '.lstrip() }}|{{ '  x '.rstrip() }}|{{ 'xyx'.rstrip('x') }}|{{ 'aXb'.upper() }}{{ 'aXb'.lower() }}{{ 'a b'.title() }}{{ 'ab'.capitalize() }}",
    "{{ 'a.b'.replace('.', '!') }} {{ ','.join(words) }} {{ 'aba'.count('a') }} {{ '12'.isdigit() }} {{ 'a\nb'.splitlines() }} {{ '{} {}'.format(1, 'x') }} {{ 'xaby'.removeprefix('x').removesuffix('y') }}",
    "{{ n is number }} {{ f is float }} {{ n is integer }} {{ s is string }} {{ t is boolean }} {{ d is mapping }} {{ list is sequence }} {{ list is iterable }} {{ none_value is none }} {{ n is odd }} {{ n is even }} {{ t is true }} {{ t is false }} {{ missing is undefined }} {{ s is not none }} {{ t is number }} {{ n is eq 7 }} {{ n is in [7] }} {{ n is gt 3 }}",
    "{% for x in list %}{{ loop.index }}:{{ x }}{{ ',' if not loop.last }}{% else %}none{% endfor %} {% for x in [] %}{% else %}none{% endfor %}",
    "{% for x in list if x > 1 %}{{ loop.index0 }}/{{ loop.length }}={{ x }} {% endfor %}{% for a, b in [(1, 2), (3, 4)] %}{{ a }}-{{ b }} {% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %} {{ range(3) | list }} {{ range(5, 1, -2) | list }}",
    "{% for row in rows %}{{ loop.previtem.v if loop.previtem is defined }}<{{ row.v }}>{{ loop.nextitem.v if not loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{% endfor %}",
    "{% set x = 1 %}{% for i in list %}{% set x = x + i %}{% endfor %}{{ x }} {% set ns = namespace(x=1, l=[]) %}{% for i in list %}{% set ns.x = ns.x + i %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.x }} {{ ns.l }}",
    "{% if n == 1 %}one{% elif n == 7 %}seven{% else %}other{% endif %} {% set a, b = 1, 2 %}{{ a + b }} {% set q %}  block {{ n }}  {% endset %}[{{ q }}] {% set q | trim %}  block  {% endset %}[{{ q }}]",
    "{% macro m(a, b='B', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=2) }} {{ m(1, 2, 3) }} {{ m() }}",
    "{% filter upper %}loud {{ s }}{% endfilter %}",
    "a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a  {%- if t -%}  b  {%- endif -%}  c", "a\n{{ n }}\nb\n\n", "  {{- n -}}  |  {%+ if t %} x {% endif +%}\n y", "a {# comment #} b\n  {# line #}\nc{#- tight -#} d",
    "{{ '{{' }} {{ \"it's\" }} {{ 'q\\'q' }} {{ 'tab\\tnl\\n\\\\' }} {{ '\\u00e9\\x41' }}",
    "{{ messages | map(attribute='role') | join(',') }} {{ messages[0].content | trim }} {{ messages[-1]['role'] }} {{ messages | selectattr('role', 'eq', 'user') | list | length }} {{ (messages | last).content }}",
    "{{ strftime_now('%Y-%m-%d') }} {{ strftime_now('%d %b %Y') }} {{ strftime_now('%B %-d, %A %H:%M:%S %j %y') }}",
    "{{ [1, 2] + [3] }} {{ [0] * 3 }} {{ 'ab' * 2 }} {{ (1, 2) }} {{ (1,) }} {{ {'a': [1, {'b': none}], 2: 'x'} }} {{ ['it\\'s', \"q\\\"q\", 'é'] }} {{ [[]] }} {{ [true, 1.5, -2] }}",
    "{{ dict(a=1, b='x') }} {{ dict(a=1) | tojson }} {{ d == {'a': {'x': [1, 2, {'y': none}]}, 'b': 1} }} {{ [1, 2] == [1, 2] }}",
    "{{ rows | sort(attribute='v', reverse=true) | map(attribute='v') | list }}",
    "{{ s|upper|replace('H', 'J')|length + 1 }} {{ -n|abs }} {{ (-n)|abs }} {{ n|string|length }} {{ not e|length }} {{ 1 if n is odd and n is not even else 2 }} {{ n is odd or false }} {{ 'a' 'b' }}",
    "{{ True }} {{ False }} {{ None }} {{ true and none }} {{ 3.0 }} {{ 1.5e-5 }} {{ 100000000000000000000.0 }} {{ 0.1 + 0.2 }} {{ 5 | float }} {{ 7 / 7 }}",
    "{%- generation -%} kept {%- endgeneration -%} {{ self is defined }} {% do_nothing %}", "{% generation %}x{{ n }}{% endgeneration %}", "{% set d2 = d %}{{ d2.update({'z': 1}) }}", "{{ list.append(4) }}", "{{ s.__class__ }}",
    "{{ loop is defined }} {{ caller is defined }}",
    "{{ d[1:] }}", "{{ none_value[1:] }}", "{{ n[:2] }}", "{{ missing[1:] }}", "{{ rows[::-1] | map(attribute='v') | list }}",  # slices
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*['x']) }}{{ m(**{'a': 1}) }}{{ {'f': m}['f']('y') }}", "{{ '<|x{}|>'.format('y') }} {{ '%s=%s' | format('k', d) }}",
    "{{ \"Use '\" | safe + s + \"'\" }} {{ d | tojson | safe }}", "{{ rows | rejectattr('k', 'equalto', 'x') | list }} {{ rows | selectattr('z', 'undefined') | list | length }}",
]


def compiled_with_a_stopped_clock(template):
    """transformers' compiled template with the clock stopped."""
    compiled = chat_template_utils._compile_jinja_template(template)
    compiled.globals["strftime_now"] = compiled.environment.globals["strftime_now"] = lambda form: datetime.fromisoformat(NOW).strftime(form)
    return compiled


def run(template, context):
    """{"expected": text} or {"error": kind, "message": text}."""
    try:
        return {"expected": compiled_with_a_stopped_clock(template).render(**json.loads(json.dumps(context)))}
    except jinja2.exceptions.TemplateSyntaxError as error:
        return {"error": "syntax", "message": str(error)}
    except jinja2.exceptions.UndefinedError as error:
        return {"error": "undefined", "message": str(error)}
    except jinja2.exceptions.SecurityError as error:
        return {"error": "forbidden", "message": str(error)}
    except jinja2.exceptions.TemplateRuntimeError as error:
        return {"error": "runtime", "message": str(error)}
    except jinja2.exceptions.TemplateError as error:
        return {"error": "raised", "message": str(error)}
    except (TypeError, ZeroDivisionError, ValueError, AttributeError) as error:
        return {"error": "runtime", "message": f"{type(error).__name__}: {error}"}


def split(feature):
    """A row of plain expressions becomes one feature each."""
    if "{%" in feature or "{{-" in feature or "{#" in feature or not re.fullmatch(r"(\{\{ .*? \}\}[ |]*)+", feature, re.S):
        return [feature]
    return re.findall(r"\{\{ .*? \}\}", feature, re.S)


def cases(templates):
    for name, template in templates.items():
        for what, conversation in {**CONVERSATIONS, **TEMPLATES.get(name, {})}.items():
            for prompt in (False, True):
                context = {**BASE, **conversation, "add_generation_prompt": prompt}
                yield {"template": name, "conversation": what, "add_generation_prompt": prompt, **run(template, context)}


def main():
    parser = argparse.ArgumentParser(description="Render chat templates with transformers' Jinja2.")
    parser.add_argument("--out", type=Path, default=HERE / "chat_templates.json")
    parser.add_argument("--smollm2", type=Path, required=True, help="the template in SmolLM2-135M-Instruct's GGUF, as a file")
    arguments = parser.parse_args()
    templates = {name: (HERE / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8") for name in TEMPLATES}
    values = {**TOKENS, **VALUES, "messages": [SYSTEM, USER, ASSISTANT]}
    features = [{"template": t, **run(t, values)} for row in FEATURES for t in split(row)]
    rendered = list(cases({**templates, "smollm2": arguments.smollm2.read_text(encoding="utf-8")}))
    conversations = {name: c for more in [CONVERSATIONS, *TEMPLATES.values()] for name, c in more.items()}
    parts = {"now": NOW, "made_with": {"jinja2": jinja2.__version__, "transformers": transformers.__version__}, "templates": templates,
             "base_context": BASE, "conversations": conversations, "cases": rendered, "feature_context": values, "features": features}
    lines = []
    for key, value in parts.items():
        if isinstance(value, list):
            value = "[\n" + ",\n".join("    " + json.dumps(v, ensure_ascii=False) for v in value) + "\n  ]"
        elif key in ("templates", "conversations"):
            value = "{\n" + ",\n".join(f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()) + "\n  }"
        else:
            value = json.dumps(value, ensure_ascii=False)
        lines.append(f"  {json.dumps(key)}: {value}")
    arguments.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    errors = sum("error" in c for c in features + rendered)
    print(f"{len(features)} features, {len(rendered)} cases, {errors} of them errors")


if __name__ == "__main__":
    main()
