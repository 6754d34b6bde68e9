# SPDX-License-Identifier: Apache-2.0
import json

from _commands import build, output

MINUTES = 40
ABOUT = "tulle serve beside llama-server with 1 to 32 clients: tokens per second, in one run"


def compare(model):
    """Ahead at every number of clients; eight of them get at least three times what one gets."""
    build("release", "tulle_command", "tulle_serve_command")
    report = json.loads(output("bench/peers/run", "servers", "--model", model, "--json"))
    ratios = [value for key, value in report.items() if key.startswith("ratio_")]
    report["tulle_8_x_1"] = round(report["tulle_8"] / report["tulle_1"], 2)
    return {"passed": min(ratios) >= 1 and report["tulle_8_x_1"] >= 3, **report}


def cells():
    return {model: lambda model=model: compare(model) for model in ("smollm2-135m", "tinyllama-1.1b")}
