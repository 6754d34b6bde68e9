# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

from _commands import ROOT, build, output

MINUTES = 30
ABOUT = "bench_kernels of this tree and of commit CHECK_BASE (default HEAD~1), interleaved, by rows of activations"
ROWS = (1, 16, 128)
ROUNDS = 3


def base_program():
    """bench_kernels of the commit to compare with, built in build/check/base."""
    commit = output("git", "rev-parse", os.environ.get("CHECK_BASE", "HEAD~1")).strip()
    folder = ROOT / "build" / "check" / "base" / commit[:12]
    program = folder / "build" / "bin" / "bench_kernels"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
        output("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
               f"-DTULLE_DEPS={ROOT / 'build' / 'deps'}")
        output("cmake", "--build", folder / "build", "--target", "bench_kernels")
    return program


def measure(rows):
    build("release", "bench_kernels")
    programs = {"base": base_program(), "this": ROOT / "build" / "release" / "bin" / "bench_kernels"}
    texts = {name: [] for name in programs}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            texts[name].append(output(program, "--inputs", rows))
    return {"passed": True, **texts}


def cells():
    return {f"rows_{rows}": lambda rows=rows: measure(rows) for rows in ROWS}
