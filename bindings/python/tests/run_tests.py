#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the package with pip into a virtual environment of the build folder, on the libraries that were built there,
checks its types and runs the tests of this folder.      usage: run_tests.py BUILD_FOLDER"""
import importlib.util
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

TOOLS = ["nanobind>=2.4", "scikit-build-core>=0.10", "numpy", "pytest", "mypy"]
STREAMERS = ["transformers>=4.40"]
HERE = Path(__file__).resolve().parent


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "python-tests"
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-compile"]
    if not Path(sysconfig.get_path("include"), "Python.h").exists() or importlib.util.find_spec("ensurepip") is None:
        print("skipped: this machine has no Python.h or no venv (Debian: python3-dev python3-venv)")
        return 77
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True, clear=True)
        fetched = subprocess.run([*pip, *TOOLS, *STREAMERS], capture_output=True, text=True)
        if fetched.returncode:
            sys.stderr.write(fetched.stderr)
            print("skipped: this machine has no way to a Python package index")
            return 77
        (folder / "done").touch()
    # As a debug build: else nanobind adds -Os, and the compiler takes longer.
    subprocess.run([*pip, "--no-build-isolation", "--no-deps", f"--config-settings=build-dir={build / 'python'}",
                    f"--config-settings=cmake.define.TULLE_BUILD_TREE={build}",
                    "--config-settings=cmake.build-type=Debug", "--config-settings=cmake.define.CMAKE_CXX_FLAGS_DEBUG=-O0",
                    HERE.parent], check=True)
    types = subprocess.run([python, "-m", "mypy", "--no-error-summary", "-p", "tulle"], cwd=folder).returncode
    tests = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not real_model", HERE],
                           cwd=folder).returncode
    return types or tests


if __name__ == "__main__":
    sys.exit(main())
