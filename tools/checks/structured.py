# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import sys

from _commands import ROOT, build, model, output

MINUTES = 8
ABOUT = "500 JSON schemas: every text that ended is valid by jsonschema, the same alone and with drafts"
COUNT = 500


def texts(server, numbers, every, width):
    def ask(number):
        form = {"type": "json_schema", "json_schema": {"name": "form", "schema": every[number]}}
        body = {"messages": [{"role": "user", "content": f"Fill in the form number {number}."}], "max_tokens": 600,
                "temperature": number % 2, "seed": number, "response_format": form,
                "frequency_penalty": 1.0}  # without it a tenth of this small model's texts go in circles and never end
        status, answer = server.post("/v1/chat/completions", body)
        if status != 200:
            return status, answer["error"]["message"], None
        choice = answer["choices"][0]
        return status, choice["message"]["content"], choice["finish_reason"]

    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        return list(pool.map(ask, numbers))


def main():
    """In the environment that has jsonschema."""
    import jsonschema

    sys.path.insert(0, str(ROOT / "tests" / "serve"))
    from schemas import REFUSED, schemas
    from server import Server

    every = schemas(COUNT) + REFUSED
    path = sys.argv[1]
    flags = ["--sequence-length", "1024", "--log-level", "warn"]
    with Server(*flags, model=path) as server:
        together = texts(server, range(len(every)), every, 24)
        alone = texts(server, range(0, COUNT, 10), every, 1)
    with Server(*flags, "--draft-model", "ngram", model=path) as server:
        drafted = texts(server, range(0, COUNT, 5), every, 8)
    faults, figures = [], {"ended": 0, "cut": 0, "refused": 0}
    for number, (status, text, reason) in enumerate(together):
        figures["refused" if status == 400 else "ended" if reason == "stop" else "cut"] += 1
        if status not in (200, 400) or (number >= COUNT and status != 400):
            faults.append(f"{number}: status {status} {text} of {every[number]}")
        if reason == "stop":
            try:
                jsonschema.validate(json.loads(text), every[number], jsonschema.Draft202012Validator)
            except (ValueError, jsonschema.ValidationError) as error:
                faults.append(f"{number}: {text!r} of {every[number]}: {error}"[:500])
    for other, step in ((alone, 10), (drafted, 5)):
        faults += [f"{step * i}: another text" for i, each in enumerate(other) if each != together[step * i]]
    print(json.dumps({"passed": not faults, **figures, "output": "\n".join(faults)[:4000]}))


def schemas_of_default_model():
    build("release", "tulle_command", "tulle_serve_command")
    python = ROOT / "build" / "structured" / "bin" / "python"
    if not python.exists():
        output(sys.executable, "-m", "venv", python.parent.parent)
        output(python, "-m", "pip", "install", "--quiet", "jsonschema==4.26.0")
    os.environ["TULLE_COMMAND"] = str(ROOT / "build" / "release" / "bin" / "tulle")
    return json.loads(output(python, "-B", __file__, model()))


def cells():
    return {"schemas": schemas_of_default_model}


if __name__ == "__main__":
    main()
