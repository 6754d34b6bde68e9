# SPDX-License-Identifier: Apache-2.0
"""What the proofs share: commands in the repository, builds of a preset, the default model."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def command(*arguments, **environment):
    """Runs a command and returns whether it succeeded, with the end of what it wrote where it did not."""
    result = subprocess.run([str(each) for each in arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, env={**os.environ, **environment})
    return {"passed": True} if result.returncode == 0 else {"passed": False, "output": result.stdout[-4000:]}


def output(*arguments):
    """What a command writes; subprocess.CalledProcessError where it fails."""
    return subprocess.run([str(each) for each in arguments], cwd=ROOT, text=True, check=True, stdout=subprocess.PIPE).stdout


def build(preset, *targets):
    """Configures a preset where it is not, and builds it, or its targets."""
    if not (ROOT / "build" / preset / "build.ninja").exists():
        output("cmake", "--preset", preset, "--log-level=NOTICE")
    output("cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []))


def test_preset(preset):
    """Builds a preset and runs its tests, with addresses that GCC 12's thread sanitizer knows."""
    build(preset)
    return command("setarch", os.uname().machine, "--addr-no-randomize", "ctest", "--preset", preset, "--parallel",
                   os.cpu_count())


def model():
    return output("tools/fetch-model").strip()


def reference_python(*packages):
    """A Python with packages, transformers among them: the one that TULLE_REFERENCE_PYTHON names, or an environment that
    is made in build/reference."""
    named = os.environ.get("TULLE_REFERENCE_PYTHON")
    if named:
        return Path(named)
    python = ROOT / "build" / "reference" / "bin" / "python"
    if not python.exists():
        output(sys.executable, "-m", "venv", python.parent.parent)
    output(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def reference_script(name, *packages):
    """The command that runs a script of this folder in that Python. -P: tokenizers.py beside it hides no package."""
    return [reference_python(*packages), "-P", ROOT / "tools" / "checks" / name]
