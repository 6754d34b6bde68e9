# SPDX-License-Identifier: Apache-2.0
"""examples/ray_batch.py and examples/ray_serve.py on a Ray of this machine: two workers, of which one is killed."""
import concurrent.futures
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from _commands import ROOT, build, output

MINUTES = 10
ABOUT = "batch jobs and a server on Ray, two workers, one killed in the middle: the texts of one process"
MODEL = ROOT / "tests" / "golden" / "models" / "gguf" / "q8_0.gguf"
EXAMPLES = ROOT / "examples"
PACKAGES = ["ray[serve,data]==2.60.0", "nanobind>=2.4", "scikit-build-core>=0.10", "numpy"]
PORT = 8123


def python():
    """Of an environment with Ray and the package of this tree; or the one that TULLE_RAY_PYTHON names."""
    if "TULLE_RAY_PYTHON" in os.environ:
        return Path(os.environ["TULLE_RAY_PYTHON"])
    folder, release = ROOT / "build" / "ray", ROOT / "build" / "release"
    if not (folder / "bin" / "ray").exists():
        output(sys.executable, "-m", "venv", folder)
        output(folder / "bin" / "pip", "install", "--quiet", *PACKAGES)
    build("release", "tulle_compiled", "tulle_hub_compiled", "tulle_sentencepiece_static")
    output(folder / "bin" / "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
           f"--config-settings=cmake.define.TULLE_BUILD_TREE={release}", ROOT / "bindings" / "python")
    return folder / "bin" / "python"


class Cluster:
    """A Ray of four CPUs, whatever the machine has."""

    def __enter__(self):
        self.python = python()
        self.folder = tempfile.TemporaryDirectory(prefix="ray")
        patience = {f"RAY_{name}": "600000" for name in ("agent_register_timeout_ms", "health_check_timeout_ms")}
        patience |= {f"RAY_{name}": "600" for name in ("raylet_start_wait_time_s", "gcs_server_request_timeout_seconds",
                                                       "worker_register_timeout_seconds")}
        self.environment = {**os.environ, **patience, "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "disabled",
                            "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(EXAMPLES)}
        self.process = self.start("-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", "0", "--num-cpus", "4",
                                  "--include-dashboard=false", "--object-store-memory", "200000000",
                                  "--temp-dir", self.folder.name)
        address = Path(self.folder.name) / "ray_current_cluster"
        while not address.exists():
            if self.process.poll() is not None:
                raise ValueError("Ray has not started")
            time.sleep(0.5)
        self.environment["RAY_ADDRESS"] = address.read_text().strip()
        return self

    def __exit__(self, *_):
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        shutil.rmtree(self.folder.name, ignore_errors=True)

    def start(self, *words):
        return subprocess.Popen([self.python, "-B", *map(str, words)], env=self.environment, cwd=EXAMPLES,
                                stdout=subprocess.DEVNULL)

    def actors(self, name):
        """Process ids of the workers that run a class."""
        return [pid for pid in descendants(self.process.pid) if f"ray::{name}" in words_of(pid)]


def words_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def descendants(pid):
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    children = [int(each) for each in " ".join(lists).split()]
    return children + [each for child in children for each in descendants(child)]


def wait_for(what, seconds=900):
    """The first true value of a function."""
    end = time.monotonic() + seconds
    while not (value := what()):
        if time.monotonic() > end:
            raise ValueError("nothing has happened for too long")
        time.sleep(0.02)
    return value


def batch():
    """A worker is killed, then the whole job, and the job is started again."""
    with tempfile.TemporaryDirectory() as name, Cluster() as cluster:
        folder = Path(name)
        prompts, alone, texts = (folder / each for each in ("prompts", "alone", "texts"))
        prompts.mkdir()
        for number in range(4):
            rows = [{"id": row, "prompt": f"Once upon a time there were {number} and {row}"} for row in range(150 + number)]
            rows.insert(70, {"prompt": "long " * 400})
            (prompts / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        flags = [EXAMPLES / "ray_batch.py", MODEL, prompts]
        more = ["--chunk", "2", "--max-new-tokens", "200", "--temperature", "0.8", "--workers", "2"]
        if cluster.start(*flags, alone, *more, "--alone").wait() != 0:
            return {"passed": False, "error": "the job has failed alone"}

        def done():
            return len([part for part in texts.glob(".*.parts/*.jsonl")])

        job = cluster.start(*flags, texts, *more)
        wait_for(lambda: done() > 10 and len(cluster.actors("MapWorker")) == 2)
        killed_at = done()
        os.kill(cluster.actors("MapWorker")[0], signal.SIGKILL)
        wait_for(lambda: done() > killed_at + 60 or job.poll() is not None)
        stopped_at = done()
        job.kill()
        job.wait()
        status = cluster.start(*flags, texts, *more).wait()
        same = all((texts / each.name).read_bytes() == each.read_bytes() for each in alone.glob("*.jsonl"))
        return {"passed": same and status == 0 and 0 < killed_at < stopped_at, "worker_killed_at_chunk": killed_at,
                "job_killed_at_chunk": stopped_at,
                "rows": sum(len(each.read_text().splitlines()) for each in texts.glob("*.jsonl"))}


def post(route, body):
    address, headers = f"http://127.0.0.1:{PORT}{route}", {"Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode(), headers), timeout=600)


def ready():
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{PORT}/v1/models", timeout=5).status == 200
    except OSError:
        return False


def served():
    """Streams on two replicas, of which one is killed: each text is that of one process, nothing twice and nothing left out."""
    bodies = [{"prompt": f"{number} Once upon a time", "max_tokens": 400, "temperature": 0.8, "seed": number,
               "ignore_eos": True, "stream": True}
              for number in range(8)]
    program = ("import json, sys; from tulle import TextGeneration; from ray_serve import options_of;"
               f"generate = TextGeneration({str(MODEL)!r}, num_cores=1, sequence_length=1024);"
               "texts = [generate(body['prompt'], **options_of(body)).sequences[0] for body in json.load(sys.stdin)];"
               "print(json.dumps(texts))")
    with Cluster() as cluster:
        alone = subprocess.run([cluster.python, "-B", "-c", program], input=json.dumps(bodies), env=cluster.environment,
                               text=True, check=True, stdout=subprocess.PIPE)
        wanted = json.loads(alone.stdout)
        serving = cluster.start("-c", f"""
from ray import serve
from ray_serve import build
serve.start(http_options={{"port": {PORT}}})
serve.run(build({{"model": {str(MODEL)!r}, "name": "tiny", "threads": 1, "sequence_length": 1024, "min_replicas": 2,
                 "max_replicas": 2}}), blocking=True)
""")
        wait_for(ready)
        wait_for(lambda: len(cluster.actors("ServeReplica:default:Model")) == 2)
        begins = [{"prompt": f"{number} " * 200 + end, "max_tokens": 1} for number in range(8) for end in ("a", "b")]
        replicas = [post("/v1/completions", body).headers["X-Replica"] for body in begins]
        together = replicas[::2] == replicas[1::2] and len(set(replicas)) == 2
        pieces = [0]

        def read(body):
            text = ""
            for line in post("/v1/completions", body):
                if line.startswith(b"data: {"):
                    text += json.loads(line[6:])["choices"][0]["text"]
                    pieces[0] += 1
            return text

        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            found = [clients.submit(read, body) for body in bodies]
            wait_for(lambda: pieces[0] > 50)
            killed_at = pieces[0]
            os.kill(cluster.actors("ServeReplica:default:Model")[0], signal.SIGKILL)
            texts = [each.result() for each in found]
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8, "temperature": 0}
        whole = json.loads(post("/v1/chat/completions", body).read())
        try:
            refused = post("/v1/completions", {"prompt": "a", "tools": []}).status
        except urllib.error.HTTPError as error:
            refused = error.code
        serving.kill()
        serving.wait()
        return {"passed": texts == wanted and whole["usage"]["completion_tokens"] > 0 and refused == 400 and together,
                "pieces_before_the_kill": killed_at, "pieces": pieces[0], "texts": len(texts),
                "equal_texts": sum(a == b for a, b in zip(texts, wanted)), "beginnings_stay_together": together}


def cells():
    return {"batch": batch, "served": served}
