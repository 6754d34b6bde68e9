# SPDX-License-Identifier: Apache-2.0
import sys

from _commands import ROOT, command

MINUTES = 5
ABOUT = "every public header by itself, the server's too (tools/test compiles those when they changed)"


def cells():
    prefix = ROOT / "build" / "deps"
    return {"tree": lambda: command(sys.executable, "-B", "tests/headers.py", "--all", "c++", ROOT / "build" / "check" / "headers",
                                    f"-isystem{prefix}/prefix/usr/include", f"-isystem{prefix}/src/cpp-httplib",
                                    "-DCPPHTTPLIB_OPENSSL_SUPPORT", "-DTULLE_COMPILED", "-DTULLE_SERVE_COMPILED")}
