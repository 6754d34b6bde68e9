# SPDX-License-Identifier: Apache-2.0
"""JSON schemas in the manner of the JSON-Schema-Test-Suite and of tools, for tests of structured output. The first ones
hold every keyword; the others are drawn, always the same. Most are bounded, so that a text that follows one ends."""
import itertools
import random

SHORT = {"type": "string", "maxLength": 8}
COUNT = {"type": "integer", "minimum": 0, "maximum": 99}


def closed(required=None, **properties):
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required,
            "additionalProperties": False}


# What must be refused: a keyword of each is not supported, or no value is valid.
REFUSED = [
    False, {"not": {"type": "string"}}, {"if": {}, "then": {}}, {"type": "array", "uniqueItems": True, "items": COUNT},
    {"type": "array", "contains": COUNT}, {"allOf": [closed(a=COUNT), {"required": ["b"]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"type": "integer", "minimum": 3, "maximum": 2},
    {"type": "number", "multipleOf": 0.1}, {"enum": ["a"], "type": "integer"}, {"type": "unknown"}, {"enum": []},
    {"$ref": "#/$defs/none"}, {"$ref": "https://example.org/schema"}, {"$ref": "#"}, 5, {"type": "object", "properties": 1},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"type": "string", "pattern": "(?=a)b"},
    {"type": "object", "additionalProperties": False, "required": ["a"]}, {"type": "string", "minLength": 2, "maxLength": 1},
    {"type": "string", "pattern": "[a"}, {"type": "object", "propertyNames": {"maxLength": 2}},
    {"type": "object", "dependentRequired": {"a": ["b"]}}, {"type": "array", "minItems": 100000, "items": COUNT},
    {"type": "object", "properties": {"gr\u00f6\u00dfe": COUNT}, "additionalProperties": True},
    {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#"}},
    {"type": "object", "properties": {f"p{i}": COUNT for i in range(100)}, "minProperties": 1, "additionalProperties": False},
    {"type": "integer", "minimum": 2**53 + 1}, {"type": "integer", "exclusiveMinimum": 2**60},
    {"type": "string", "pattern": "^(a?){9}$"}, {"type": "string", "pattern": "a{4294967297}"},
    {"type": "string", "format": "date-time", "pattern": "Z$"}, {"type": "string", "format": "email", "maxLength": 20},
    {"enum": [str(number) for number in range(5001)]}, {"enum": ["a" * 60_000, "b" * 60_000]},
    closed(**{f"p{number}": COUNT for number in range(5001)}), closed([], **{f"p{number}": COUNT for number in range(501)}),
    {"$ref": "#/$defs/0", "$defs": {**{str(i): {"$ref": f"#/$defs/{i + 1}"} for i in range(2000)}, "2000": COUNT}},
]

FIRST = [
    closed(name=SHORT, age=COUNT),
    {"enum": ["red", 1, 2.5, None, True, ["a"], {"b": 1}]},
    {"const": {"a": [1, "\u00e9\"\\"]}},
    {"type": "array", "items": COUNT, "minItems": 1, "maxItems": 3},
    {"type": "array", "prefixItems": [COUNT, {"type": "boolean"}], "items": False},
    {"type": "array", "prefixItems": [COUNT, SHORT], "items": {"type": "null"}, "maxItems": 3},
    {"type": ["integer", "null"], "minimum": -5, "exclusiveMaximum": 5},
    {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    {"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 50},
    {"type": "string", "minLength": 2, "maxLength": 5},
    {"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"},
    {"type": "string", "pattern": "a|b.{1,3}c"},
    {"type": "string", "format": "date"},
    {"anyOf": [COUNT, SHORT, {"type": "null"}]},
    {"oneOf": [closed(kind={"const": "cat"}, lives=COUNT), closed(kind={"const": "dog"}, tricks=SHORT)]},
    {"allOf": [closed(a={"type": "boolean"})], "title": "one"},
    {"$defs": {"node": closed(value={"enum": [1, 2]}, next={"anyOf": [{"type": "null"}, {"$ref": "#/$defs/leaf"}]}),
               "leaf": closed(value=COUNT)}, "$ref": "#/$defs/node"},
    {"type": "object", "properties": {"a": COUNT, "b": SHORT, "c": {"type": "null"}}, "minProperties": 2, "maxProperties": 2,
     "additionalProperties": False},
    {"type": "object", "patternProperties": {"^x[a-c]$": COUNT}, "additionalProperties": False, "maxProperties": 2},
    {"type": "object", "additionalProperties": COUNT, "maxProperties": 2},
    {"type": "object", "properties": {"a": COUNT}, "required": ["a", "z"], "maxProperties": 2},
    {"properties": {"deep": closed(er=closed(est={"type": "array", "items": closed(x=COUNT), "maxItems": 2}))}},
    {"type": "integer", "minimum": 0.5, "maximum": 3.5},
    {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
    {"type": "object", "properties": {"q\"\\\n": {"const": "\u2603"}}, "required": ["q\"\\\n"]},
    closed(long={"type": "string", "pattern": "^[^\u00e9]{1,300}$"}, empty={"type": "string", "maxLength": 1000}),
    {"type": "array", "items": {"type": "string", "pattern": "^[^\u00e9]{3}$"}, "minItems": 6, "maxItems": 6},
    {"type": "array", "items": {"type": "string", "pattern": "^\\t\"\\\\[ -~][\\s\\S]$"}, "minItems": 6, "maxItems": 6},
    {"type": "array", "prefixItems": [{"type": "null"}, COUNT], "minItems": 1, "maxItems": 1},
    {"type": "array", "items": {"type": "string", "format": "relative-json-pointer"}, "minItems": 1, "maxItems": 1},
    {"type": "number", "minimum": 0.25, "maximum": 0.25},
    closed(**{"a%b": COUNT, "c": {"$ref": "#/properties/a%25b"}}),
    {"type": "array", "items": {"type": "string", "format": "ipv4", "maxLength": 15}, "minItems": 1, "maxItems": 1},
    {"type": ["object", "number"], "anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, closed(a=COUNT)]},
]


def drawn(random_, depth=0):
    """A schema; deeper ones are simpler."""
    def leaf():
        low = random_.randint(-1000, 1000)
        high = low + random_.randint(0, 500)
        length = random_.randint(0, 6)
        return random_.choice([
            lambda: {"type": "boolean"}, lambda: {"type": "null"}, lambda: {"const": random_.choice(["x", 3, None, [1]])},
            lambda: {"type": "integer", "minimum": low, "maximum": high},
            lambda: {"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": high + 2},
            lambda: {"type": "number", "minimum": low / 8, "maximum": high / 8},
            lambda: {"type": "number", "minimum": low, "exclusiveMaximum": high + 1},
            lambda: {"type": "integer", "multipleOf": random_.randint(2, 9), "minimum": low, "maximum": high + 20},
            lambda: {"type": "string", "minLength": length, "maxLength": length + random_.randint(0, 6)},
            lambda: {"type": "string", "pattern": random_.choice([
                "^[a-z]{1,8}$", "^(foo|bar)+$", "\\d{4}-\\d{2}", "^\\+?[0-9]{3,6}$", "[^\"]{2,4}", "^\\w+@\\w+\\.(com|org)$", ".{3}",
                "^#[0-9a-fA-F]{6}$", "^/[a-z]{1,5}(/[a-z]{1,5}){0,2}$", "^v[0-9]\\.[0-9]$"])},
            lambda: {"type": "string", "format": random_.choice(["date", "time", "date-time", "uuid", "ipv4", "email", "color"])},
            lambda: {"enum": random_.sample(["celsius", "fahrenheit", "low", "high", 1, 2, None, True, 0.5], 3)},
            lambda: {"type": random_.choice([["boolean", "null"], ["integer", "null"], ["string", "integer"]]),
                     "minimum": 0, "maximum": 9, "maxLength": 4},
            lambda: {"type": "integer", "multipleOf": 5}, lambda: {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
            # What is not followed, now and then.
            lambda: leaf() if random_.random() < 0.7 else random_.choice([{"type": "number", "multipleOf": 0.25}, {"not": {"type": "null"}},
                                    {"type": "array", "items": COUNT, "uniqueItems": True}]),
        ])()

    def child():
        return drawn(random_, depth + 1) if depth < 2 and random_.random() < 0.5 else leaf()

    def record():
        names = random_.sample(["id", "name", "city", "unit", "query", "limit", "tags", "price", "a b", "\u00fc", "$ref2"],
                               random_.randint(1, 4))
        schema = {"type": "object", "title": "T", "properties": {name: child() for name in names},
                  "required": random_.sample(names, random_.randint(0, len(names)))}
        if random_.random() < 0.5:
            schema["additionalProperties"] = False
        if random_.random() < 0.1:
            schema["additionalProperties"] = leaf()
            schema["maxProperties"] = len(names) + 1
        return schema

    return random_.choice([
        record, record, record, leaf,
        lambda: {"type": "array", "items": child(), "minItems": random_.randint(0, 2), "maxItems": random_.randint(2, 4)},
        lambda: {"type": "array", "prefixItems": [child(), child()], "items": random_.choice([False, leaf()]), "maxItems": 3},
        lambda: {"anyOf": [child(), child()]},
        lambda: {"oneOf": [closed(type={"const": name}, value=child()) for name in "abc"]},
        lambda: {"$defs": {"one": leaf()}, **closed(first={"$ref": "#/$defs/one"}, second={"$ref": "#/$defs/one"})},
        lambda: {"allOf": [child()]},
    ])()


def all_schemas():
    """Endless."""
    yield from FIRST
    random_ = random.Random(31)
    while True:
        yield drawn(random_)


def schemas(count):
    return list(itertools.islice(all_schemas(), count))


def tool(name, **parameters):
    return {"type": "function", "function": {"name": name, "description": f"The {name}.", "parameters": closed(**parameters)}}


TOOLS = [tool("get_weather", city=SHORT, unit={"enum": ["celsius", "fahrenheit"]}), tool("set_alarm", hour=COUNT)]
