# SPDX-License-Identifier: Apache-2.0
"""The forms of compress/plan/matrix_form.hpp that fit the default model, and four plans; build/survey/survey.html has all."""
import json
import zipfile

from _commands import ROOT, build, model, output
from _wiki_text import FOLDER, wiki_texts

MINUTES = 120
ABOUT = "which form for which matrix of the default model: uniform forms and plans, on prose and on code"
WORK = ROOT / "build" / "survey"
FORMS = ["int8", "int4-32", "int4-64", "int4-32-min", "int4-64-min", "8:16-gap4-int8", "2:4-int8", "4:16-int8",
         "8:16-gap4-int4", "2:4-int4", "4:16-int4", "50%-int8", "60%-int8", "70%-int8", "80%-int8", "90%-int8"]
PLANS = ["plan-0.60", "plan-0.52", "plan-0.45", "plan-0.40"]


def code_text():
    """Python sources of gensim 4.4.0, whose package the prose comes from (LGPL-2.1, so they are never committed)."""
    path = FOLDER / "code.txt"
    if not path.exists():
        with zipfile.ZipFile(next(FOLDER.glob("gensim-*.whl"))) as wheel:
            names = sorted(name for name in wheel.namelist() if name.startswith("gensim/models/") and name.endswith(".py"))
            path.write_text("\n\n".join(wheel.read(name).decode()[:6000] for name in names))
    return path


def faults_of(plan, text, forms):
    """A plan is no worse than any form of no more bytes and lies below the line that joins its neighbours among the forms,
    both within a standard error, and no form of no fewer bytes is as good and decodes faster (by 5 %, both over the dense
    model's speed in the same minute)."""
    bytes_of_plan, worst = plan["bytes_per_weight"], text["ratio"] - text["standard_error"]
    points = sorted((form["bytes_per_weight"], next(each["ratio"] for each in form["texts"] if each["name"] == text["name"]),
                     form["decode_ratio"], form["name"]) for form in forms)
    below, above = ([point for point in points if (point[0] <= bytes_of_plan) == side] for side in (True, False))
    faults = [f"{name} is smaller and better" for _, ratio, _, name in below if worst > ratio]
    faults += [f"{name} is larger, as good and faster" for _, ratio, speed, name in above
               if ratio <= text["ratio"] and speed > 1.05 * plan["decode_ratio"]]
    if below and above:
        (x0, _, _, _), (x1, _, _, _) = below[-1], above[0]
        y0, y1 = (min(ratio for x, ratio, _, _ in points if x == at) for at in (x0, x1))
        if worst > y0 + (y1 - y0) * (bytes_of_plan - x0) / (x1 - x0):
            faults.append("it lies above the line that joins its neighbours")
    return faults


def measure(cell):
    build("release", "tulle_compress_command")
    calibration, _ = wiki_texts()
    survey = json.loads(output(ROOT / "build" / "release" / "bin" / "tulle-compress", model(), "--survey", "--dataset",
                               calibration, "--second-dataset", code_text(), "-o", WORK, "--num-samples", 96, "--held-out",
                               64, "--max-seq-length", 512, "--cells", cell, "--quiet", "--json"))
    cells = {each["name"]: each for each in survey["cells"]}
    found = cells[cell]
    result = {"passed": True, "bytes_per_weight": round(found["bytes_per_weight"], 3),
              "decode": round(found["decode_tokens_per_second"]), "decode_ratio": round(found["decode_ratio"], 3),
              "prefill": round(found["prefill_tokens_per_second"])}
    for text, name in zip(found["texts"], ("prose", "code")):
        result[name] = round(text["perplexity"], 3)
        result[name + "_ratio"], result[name + "_error"] = round(text["ratio"], 4), round(text["standard_error"], 4)
        if cell in PLANS:
            faults = faults_of(found, text, [each for each in cells.values() if each["kind"] == "form"])
            if faults:
                result["passed"], result["error"] = False, f"on {name}: " + "; ".join(faults)
    return result


def cells():
    return {cell: lambda cell=cell: measure(cell) for cell in ["model", *FORMS, *PLANS]}
