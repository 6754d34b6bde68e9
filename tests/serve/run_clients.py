#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the official clients of OpenAI and Anthropic into an environment of their own, and runs clients.py with it.
    usage: run_clients.py BUILD_FOLDER"""
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ["openai==3.57.0", "anthropic==2.13.0"]


def main():
    folder = Path(sys.argv[1]).resolve() / "serve-clients"
    python, done = folder / "bin" / "python", folder / "done"
    if importlib.util.find_spec("ensurepip") is None:
        print("skipped: this machine has no venv (Debian: python3-venv)")
        return 0
    if not done.exists() or done.read_text().split() != PACKAGES:
        venv.create(folder, with_pip=True, clear=True)
        fetched = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                                 capture_output=True, text=True)
        if fetched.returncode:
            sys.stderr.write(fetched.stderr)
            print("skipped: this machine has no way to a Python package index")
            return 0
        done.write_text("\n".join(PACKAGES))
    return subprocess.run([python, "-B", Path(__file__).with_name("clients.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
