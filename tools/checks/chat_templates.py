# SPDX-License-Identifier: Apache-2.0
import json
import subprocess

from _commands import ROOT, build, reference_script
from _published_templates import FOLDER, PACKAGES, templates

MINUTES = 3
ABOUT = "published chat templates over conversations with tools, calls and reasoning: transformers' texts, byte for byte"
RENDER = ROOT / "build" / "release" / "tests" / "render_chat_templates"


def measure(source):
    build("release", "render_chat_templates")
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(reference_script("_transformers_chats.py", "transformers", "jinja2"),
                          input=json.dumps({"templates": templates(source)}), text=True, check=True, stdout=subprocess.PIPE)
    ours = subprocess.run([RENDER], input=made.stdout, text=True, check=True, stdout=subprocess.PIPE)
    (FOLDER / f"{source}.json").write_text(made.stdout)  # to look into
    equal, cases, different = {}, {}, []
    for case, own in zip(json.loads(made.stdout)["cases"], json.loads(ours.stdout)):
        name = case["template"]
        same = own.get("text") == case.get("text")  # where transformers raises both have none
        cases[name] = cases.get(name, 0) + 1
        equal[name] = equal.get(name, 0) + same
        if not same:
            different.append({**case, "ours": own})
    return {"passed": not different, "templates": len(cases), "cases": sum(cases.values()), "equal": sum(equal.values()),
            "refused": sum("error" in case for case in json.loads(made.stdout)["cases"]),
            "names": ", ".join(name if equal[name] == cases[name] else f"{name} ({equal[name]} of {cases[name]})" for name in cases),
            "different": different[:50]}


def cells():
    return {source: lambda source=source: measure(source) for source in ("default_model", *PACKAGES)}
