# SPDX-License-Identifier: Apache-2.0
import sys

from _commands import ROOT, command

MINUTES = 60
ABOUT = "clang-tidy over the whole tree (tools/test reads what changed)"


def cells():
    return {"tree": lambda: command(sys.executable, "-B", "tests/tidy.py", "--all", ROOT / "build" / "release",
                                    f"-isystem{ROOT}/build/deps/prefix/usr/include")}
