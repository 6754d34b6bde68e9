# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import sys

from _commands import ROOT, build, output

MINUTES = 10
ABOUT = "schemathesis over /openapi.json of tulle serve: no 5xx, every answer as the document says"
MODEL = ROOT / "tests" / "golden" / "models" / "gguf" / "q8_0.gguf"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def fuzz():
    build("release", "tulle_command", "tulle_serve_command")
    environment = ROOT / "build" / "schemathesis"
    if not (environment / "bin" / "schemathesis").exists():
        output(sys.executable, "-m", "venv", environment)
        output(environment / "bin" / "python", "-m", "pip", "install", "--quiet", "schemathesis")
    server = subprocess.Popen([ROOT / "build" / "release" / "bin" / "tulle", "serve", MODEL, "--port", "0", "--request-time", "2",
                               "--log-level", "warn"], stderr=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+) ", server.stderr.readline())[1]
        result = subprocess.run([environment / "bin" / "schemathesis", "run", f"http://127.0.0.1:{port}/openapi.json",
                                 "--checks", CHECKS, "--max-examples", "100"], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, cwd=environment)
        return {"passed": result.returncode == 0 and server.poll() is None, "output": result.stdout[-3000:]}
    finally:
        server.terminate()
        server.wait()


def cells():
    return {"fuzz": fuzz}
