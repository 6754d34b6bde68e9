# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess

from _commands import ROOT, build, output

MINUTES = 30
ABOUT = "bench_kernels of this tree and of commit CHECK_BASE (default HEAD~1), interleaved: no kernel slower by 2 %"
ROWS = (1, 16, 128)  # of activations
ROUNDS = 5
LIMIT = 1.02  # of the fastest of all runs, over that of the base; on a machine that does nothing else


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


def fastest(table):
    """(kernel, sparsity) -> milliseconds of its fastest run, of a table that bench_kernels wrote."""
    rows = re.findall(r"^\| (\S+) \| ([^|]*?) *\| [\d.]+ \| [\d.]+ \(([\d.]+) - ", table, re.MULTILINE)
    return {(kernel, sparsity): float(best) for kernel, sparsity, best in rows}


def measure(rows):
    build("release", "bench_kernels")
    programs = {"base": base_program(), "this": ROOT / "build" / "release" / "bin" / "bench_kernels"}
    best = {name: {} for name in programs}
    for _ in range(ROUNDS):
        for name, program in programs.items():
            for kernel, time in fastest(output(program, "--inputs", rows)).items():
                best[name][kernel] = min(time, best[name].get(kernel, time))
    ratios = {kernel: best["this"][kernel] / time for kernel, time in best["base"].items() if kernel in best["this"]}
    if not ratios:
        raise ValueError("the two programs have no kernel in common")
    slower = [f"{' '.join(kernel).strip()}: {ratio:.3f}" for kernel, ratio in ratios.items() if ratio > LIMIT]
    return {"passed": not slower, "kernels": len(ratios), "worst_ratio": round(max(ratios.values()), 3), "slower": slower}


def cells():
    return {f"rows_{rows}": lambda rows=rows: measure(rows) for rows in ROWS}
