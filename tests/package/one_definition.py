#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every definition that an object file got from headers alone may stand in a second file of the same program: nm lists it as
weak or unique. The program's own `main` is the only other one.      usage: one_definition.py NM OBJECT"""
import subprocess
import sys

lines = subprocess.run([sys.argv[1], "--defined-only", "--extern-only", "--demangle", sys.argv[2]], check=True,
                       capture_output=True, text=True).stdout.splitlines()
strong = [line.split(" ", 2)[2] for line in lines if line.split(" ", 2)[1] not in "VWuvw"]
if strong != ["main"]:
    sys.exit("defined once a file, not once a program; make them inline:\n" + "\n".join(strong))
