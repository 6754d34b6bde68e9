# SPDX-License-Identifier: Apache-2.0
import json

from _commands import build, command, output

MINUTES = 60
ABOUT = "clang-tidy over the whole tree (tools/test reads what changed)"


def tree():
    build("release", "tulle_catch2")
    test = json.loads(output("ctest", "--preset", "release", "--show-only=json-v1", "--tests-regex", "^tidy$"))["tests"][0]
    return command(*test["command"], "--all")


def cells():
    return {"tree": tree}
