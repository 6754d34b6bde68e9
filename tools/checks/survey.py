# SPDX-License-Identifier: Apache-2.0
"""The forms of compress/plan/matrix_form.hpp that fit the default model, four plans, and for each form a plan as small and
as fast; build/survey/survey.html has all."""
import json
import math
import zipfile

from _commands import ROOT, build, model, output
from _wiki_text import FOLDER, wiki_texts

MINUTES = 180
ABOUT = "which form for which matrix of the default model: uniform forms and plans, on prose and on code"
WORK = ROOT / "build" / "survey"
FORMS = ["int8", "int4-32", "int4-64", "int4-32-min", "int4-64-min", "8:16-gap4-int8", "2:4-int8", "4:16-int8",
         "8:16-gap4-int4", "2:4-int4", "4:16-int4", "50%-int8", "60%-int8", "70%-int8", "80%-int8", "90%-int8",
         "60%-int4", "70%-int4", "80%-int4", "90%-int4"]
PLANS = ["plan-0.60", "plan-0.52", "plan-0.45", "plan-0.40"]
BESIDE = "plan-as-"  # and the name of a form


def code_text():
    """Python sources of gensim 4.4.0, whose package the prose comes from (LGPL-2.1, so they are never committed)."""
    path = FOLDER / "code.txt"
    if not path.exists():
        with zipfile.ZipFile(next(FOLDER.glob("gensim-*.whl"))) as wheel:
            names = sorted(name for name in wheel.namelist() if name.startswith("gensim/models/") and name.endswith(".py"))
            path.write_text("\n\n".join(wheel.read(name).decode()[:6000] for name in names))
    return path


def least_ratio(own, others):
    """Of perplexities, a standard error below: own over the others' weighed geometric mean, sequence by sequence.
    `others`: [(weight, text)], weights that sum to 1."""
    tokens = own["tokens"]
    differences = [(own["nll"][i] - sum(weight * text["nll"][i] for weight, text in others)) / count
                   for i, count in enumerate(tokens)]
    mean = sum(count * each for count, each in zip(tokens, differences)) / sum(tokens)
    variance = sum((count * (each - mean)) ** 2 for count, each in zip(tokens, differences)) / sum(tokens) ** 2
    return math.exp(mean - math.sqrt(variance * len(tokens) / (len(tokens) - 1)))


def text_of(cell, name):
    return next(text for text in cell["texts"] if text["name"] == name)


def matrices_speed(plan, form):
    """Of decoding the matrices in a form, over int8: measured for all forms in turn, and the plan's own is made of it. Whole
    tokens are measured too, but each cell's in another hour: plans of 0.52 bytes were 0.78, 0.94 and 1.08 times as fast as
    the file in three of them."""
    return next(each["speedup"] for each in plan["plan"]["uniform"] if each["form"] == form["name"])


def faults_of(plan, name, forms):
    """Of a plan on a text: it is no worse than any form of no more bytes and lies below the line that joins its neighbours
    among the forms, both within a standard error, and no form of no fewer bytes is as good and faster (by 3 %)."""
    own, at = text_of(plan, name), plan["bytes_per_weight"]
    below, above = ([form for form in forms if (form["bytes_per_weight"] <= at) == side] for side in (True, False))
    faults = [f"{form['name']} is smaller and better" for form in below if least_ratio(own, [(1, text_of(form, name))]) > 1]
    faults += [f"{form['name']} is larger, as good and faster" for form in above
               if text_of(form, name)["ratio"] <= own["ratio"]
               and matrices_speed(plan, form) > 1.03 * plan["plan"]["speedup"]]
    if below and above:
        x0, x1 = max(form["bytes_per_weight"] for form in below), min(form["bytes_per_weight"] for form in above)
        left, right = (min((text_of(form, name) for form in forms if form["bytes_per_weight"] == x),
                           key=lambda text: text["ratio"]) for x in (x0, x1))
        share = (at - x0) / (x1 - x0)
        if least_ratio(own, [(1 - share, left), (share, right)]) > 1:
            faults.append("it lies above the line that joins its neighbours")
    return faults


def faults_beside(plan, form, text):
    """Of a plan made for a form's bytes and speed: it is no larger, no slower (within 3 %) and no worse (within a standard
    error)."""
    faults = []
    if plan["bytes_per_weight"] > 1.01 * form["bytes_per_weight"]:
        faults.append("it is larger than the form")
    if plan["plan"]["speedup"] < 0.97 * matrices_speed(plan, form):
        faults.append("it decodes slower than the form")
    if text["ratio_to_form"] - text["standard_error_to_form"] > 1:
        faults.append("it is worse than the form")
    return faults


def measure(cell):
    build("release", "tulle_compress_command")
    wanted = ["model", cell.removeprefix(BESIDE), cell]  # a plan beside a form needs that form
    calibration, _ = wiki_texts()
    flags = [each for name in wanted for each in ("--cells", name)]
    survey = json.loads(output(ROOT / "build" / "release" / "bin" / "tulle-compress", model(), "--survey", "--dataset",
                               calibration, "--second-dataset", code_text(), "-o", WORK, "--num-samples", 96, "--held-out",
                               64, "--max-seq-length", 512, *flags, "--quiet", "--json"))
    cells = {each["name"]: each for each in survey["cells"]}
    found = cells[cell]
    result = {"passed": True, "bytes_per_weight": round(found["bytes_per_weight"], 3),
              "decode": round(found["decode_tokens_per_second"]), "decode_ratio": round(found["decode_ratio"], 3),
              "prefill": round(found["prefill_tokens_per_second"])}
    if "plan" in found:
        result["matrices"] = round(found["plan"]["speedup"], 2)
    errors = []
    for text, name in zip(found["texts"], ("prose", "code")):
        result[name] = round(text["perplexity"], 3)
        result[name + "_ratio"], result[name + "_error"] = round(text["ratio"], 4), round(text["standard_error"], 4)
        faults = []
        if cell in PLANS:
            faults = faults_of(found, text["name"], [each for each in cells.values() if each["kind"] == "form"])
        elif cell.startswith(BESIDE):
            faults = faults_beside(found, cells[found["form"]], text)
            result[name + "_to_form"] = round(text["ratio_to_form"], 4)
            result[name + "_to_form_error"] = round(text["standard_error_to_form"], 4)
        errors += [f"on {name}: {fault}" for fault in faults]
    if errors:
        result["passed"], result["error"] = False, "; ".join(errors)
    return result


def cells():
    return {cell: lambda cell=cell: measure(cell) for cell in ["model", *FORMS, *PLANS, *(BESIDE + form for form in FORMS)]}
