# SPDX-License-Identifier: Apache-2.0
"""Shared by the comparisons: running Tulle, and tables of medians and ratios."""

import json
import os
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "peers"
TULLE = ROOT / "build" / "release" / "bin" / "tulle"


def usable_cores():
    return len(os.sched_getaffinity(0))


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def tulle_results(*flags):
    """name -> result, of one short `tulle benchmark`."""
    report = json.loads(output_of(TULLE, "benchmark", *flags, "--verify-rows", 1, "--quiet", "--json"))
    return {result["name"]: result for result in report["results"]}


def spread(values, digits=0):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def ratio(values, others):
    """Of the medians of two lists whose entries were measured one after the other."""
    return f"{statistics.median(value / other for value, other in zip(values, others)):.2f}"


def table_row(row):
    return "| " + " | ".join(row) + " |"


def table(rows):
    """The first row is the heading."""
    lines = list(map(table_row, rows))
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)
