#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the official clients of OpenAI and Anthropic into a folder of their own, and runs clients.py or clients.mjs
with them.
    usage: run_clients.py BUILD_FOLDER python|node"""
import importlib.util
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = {"python": ["openai==3.57.0", "anthropic==2.13.0", "jsonschema==4.26.0"], "node": ["openai@6.30.1", "@anthropic-ai/sdk@0.90.0"]}


def lacking(language):
    """What this machine has not and the clients need."""
    if language == "python":
        return "venv (Debian: python3-venv)" if importlib.util.find_spec("ensurepip") is None else None
    if not shutil.which("npm"):
        return "npm"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    return None if int(version.strip()[1:].split(".")[0]) >= 20 else f"Node 20 (found {version.strip()})"


def install(language, folder):
    """False where there is no way to a package index."""
    if language == "python":
        venv.create(folder, with_pip=True, clear=True)
        command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    else:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder]
    fetched = subprocess.run([*command, *PACKAGES[language]], capture_output=True, text=True)
    sys.stderr.write(fetched.stderr)
    return fetched.returncode == 0


def run(language, folder):
    if language == "python":
        return subprocess.run([folder / "bin" / "python", "-B", HERE / "clients.py"]).returncode
    from server import Q8_0, Server

    with Server("--sequence-length", "256", "--api-key", "secret") as server:
        return subprocess.run(["node", "--test", HERE / "clients.mjs"],
                              env={**os.environ, "TULLE_CLIENTS": str(folder), "TULLE_MODEL": str(Q8_0),
                                   "TULLE_SERVER": f"http://127.0.0.1:{server.port}"}).returncode


def main():
    language = sys.argv[2]
    folder = Path(sys.argv[1]).resolve() / "serve-clients" / language
    done = folder / "done"
    if missing := lacking(language):
        print(f"skipped: this machine has no {missing}")
        return 0
    if not done.exists() or done.read_text().split() != PACKAGES[language]:
        if not install(language, folder):
            print("skipped: this machine has no way to a package index")
            return 0
        done.write_text("\n".join(PACKAGES[language]))
    return run(language, folder)


if __name__ == "__main__":
    sys.exit(main())
