#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the official clients of OpenAI and Anthropic into an environment of their own, and runs clients.py with it.
    usage: run_clients.py BUILD_FOLDER"""
import subprocess
import sys
from pathlib import Path

PACKAGES = ["openai==3.57.0", "anthropic==2.13.0"]


def main():
    environment = Path(sys.argv[1]) / "serve-clients"
    python, done = environment / "bin" / "python", environment / "packages.txt"
    if not done.exists() or done.read_text().split() != PACKAGES:
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        install = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
                                 capture_output=True, text=True)
        if install.returncode != 0:
            if "No matching distribution" not in install.stderr and "Connection" in install.stderr:
                print("skipped: this machine has no package index")
                return 0
            print(install.stderr)
            return 1
        done.write_text("\n".join(PACKAGES))
    return subprocess.run([python, "-B", Path(__file__).with_name("clients.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
