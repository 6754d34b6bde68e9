# SPDX-License-Identifier: Apache-2.0
"""Models of a hub, over HTTP: `tulle --model hf:org/name`, libtulle and the server."""
import ctypes
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "command"), str(ROOT / "serve")]
import server as serve_module  # noqa: E402
from command import COMMAND, GOLDEN, MODELS, Q8_0, CommandTest, chat_model, environment  # noqa: E402
from hub import COMMIT, Hub  # noqa: E402

NAME = "hf:org/tiny"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
NEEDED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
          "model.safetensors.index.json", *SHARDS)


def model_files(folder):
    """A model in shards, with files that nobody needs."""
    model = chat_model(folder)
    return {**{name: (model / name).read_bytes() for name in NEEDED}, "README.md": b"# tiny", "pytorch_model.bin": b"zip",
            "onnx/model.onnx": b"onnx", "modeling.py": b"import os"}


class HubTest(CommandTest):
    def hub(self, files=None):
        hub = Hub(model_files(self.folder / "model") if files is None else files)
        self.addCleanup(hub.close)
        self.hubs = getattr(self, "hubs", 0) + 1
        self.home = self.folder / f"hf{self.hubs}"
        self.repository = self.home / "hub" / "models--org--tiny"
        self.snapshot = self.repository / "snapshots" / COMMIT
        return hub

    def env(self, hub, **changes):
        kept = {key: value for key, value in environment().items() if not key.startswith(("HF_", "HUGGING"))}
        address = {"HF_ENDPOINT": hub.address} if hub else {"HF_HUB_OFFLINE": "1"}
        return {**kept, "HF_HOME": str(self.home), **address, **changes}

    def inspect(self, hub, model=NAME, **changes):
        return self.succeed("inspect", "--model", model, "--json", env=self.env(hub, **changes))

    def refuse_model(self, hub, saying, model=NAME, **changes):
        message = self.refuse(1, "inspect", "--model", model, saying=saying, env=self.env(hub, **changes))
        self.assertEqual(list(self.folder.rglob("*.incomplete")), [])
        return message

    def partial(self):
        return [path.name for path in (self.repository / "blobs").glob("*.incomplete")]

    def test_downloads_once_into_the_layout_of_the_hub(self):
        hub = self.hub()
        self.inspect(hub, HF_TOKEN="hf_secret\n")
        self.assertEqual({path.name for path in self.snapshot.iterdir()}, set(NEEDED))
        self.assertEqual((self.repository / "refs" / "main").read_text(), COMMIT)
        for name in NEEDED:
            self.assertEqual(os.readlink(self.snapshot / name), f"../../blobs/{hub.etag(name)}")
            self.assertEqual((self.snapshot / name).read_bytes(), hub.files[name])
        self.assertEqual({headers.get("Authorization") for _, headers in hub.sent("hub")}, {"Bearer hf_secret"})
        self.assertEqual([headers.get("Authorization") for _, headers in hub.sent("large")], [None, None])
        hub.requests.clear()
        prompt = ("generate", "--prompt", "abc", "--max-new-tokens", "4")
        mine = self.succeed(*prompt, "--model", NAME, env=self.env(hub))
        self.assertEqual(mine, self.succeed(*prompt, "--model", self.snapshot, env=self.env(None)))
        self.assertEqual(hub.requests, [])

    def test_a_token_is_read_from_the_file_of_the_hubs_tools(self):
        hub = self.hub()
        self.home.mkdir()
        (self.home / "token").write_text("hf_file\n")
        self.inspect(hub, NAME + "@refs/pr/1")
        path, headers = hub.sent("hub")[0]
        self.assertEqual((path, headers["Authorization"]), ("/api/models/org/tiny/revision/refs%2Fpr%2F1", "Bearer hf_file"))
        self.assertEqual((self.repository / "refs" / "refs" / "pr" / "1").read_text(), COMMIT)
        self.inspect(None, NAME + "@" + COMMIT)

    def test_only_the_tokenizer_is_downloaded_for_it(self):
        hub = self.hub()
        self.succeed("tokenize", "--model", NAME, stdin="abc", env=self.env(hub))
        self.assertEqual(hub.sent("large"), [])
        self.inspect(hub)  # the weights follow
        self.assertEqual(len(hub.sent("large")), 2)

    def test_a_cut_or_stalled_download_goes_on_where_it_was(self):
        hub = self.hub()
        hub.cuts, hub.stalls = {SHARDS[0]: 1, SHARDS[1]: 2}, 1
        self.inspect(hub, HF_HUB_DOWNLOAD_TIMEOUT="1")
        self.assertEqual([bool(headers.get("Range")) for _, headers in hub.sent("large")], [False, True, False, True, True])
        self.assertEqual((self.snapshot / SHARDS[1]).read_bytes(), hub.files[SHARDS[1]])

    def test_a_download_goes_on_after_the_program_ended(self):
        for ranges in (True, False):
            hub = self.hub()
            hub.ranges = ranges
            hub.cuts = {SHARDS[1]: 99}
            message = self.refuse(1, "inspect", "--model", NAME, saying=(SHARDS[1], "try again"), env=self.env(hub))
            self.assertIn("stopped by", message)
            self.assertEqual(self.partial(), [hub.etag(SHARDS[1]) + ".incomplete"])
            self.assertFalse((self.snapshot / SHARDS[1]).exists())
            hub.cuts, hub.requests = {}, []
            self.inspect(hub)
            [(_, headers)] = hub.sent("large")
            self.assertIn("Range", headers)
            self.assertEqual((self.snapshot / SHARDS[1]).read_bytes(), hub.files[SHARDS[1]])

    def test_what_is_not_what_was_promised_is_refused_and_removed(self):
        for name in (SHARDS[0], "config.json"):
            hub = self.hub()
            hub.contents[name] = hub.files[name][:-1] + b"x"
            self.refuse_model(hub, ("another content", name))
            self.assertFalse((self.repository / "blobs" / hub.etag(name)).exists())
        size = len(hub.files[SHARDS[0]])
        for lie in (size - 1, size + 1):
            hub = self.hub()
            hub.promises[SHARDS[0]] = {"X-Linked-Size": str(lie)}
            self.refuse_model(hub, ("another size", SHARDS[0]))
        hub = self.hub()
        hub.promises[SHARDS[0]] = {"X-Linked-Size": str(1 << 60)}
        self.refuse_model(hub, ("MiB free", "HF_HOME"))
        hub = self.hub()
        hub.promises[SHARDS[0]] = {"X-Linked-ETag": '"../../evil"'}
        self.refuse_model(hub, "ETag")

    def test_names_that_lead_elsewhere_are_refused(self):
        hub = self.hub()
        for name in ("../evil", "/etc/evil", "a/../../evil", "a\\evil", "c:evil", "", "a//b", "evil\n"):
            hub.names = [*hub.files, name]
            self.refuse_model(hub, "refused")
        hub = self.hub()
        hub.files["model.safetensors.index.json"] = b'{"weight_map": {"a": "../evil.safetensors"}}'
        self.refuse_model(hub, "no plain file name")
        hub = self.hub()
        hub.files["model.safetensors.index.json"] = b'{"weight_map": {"a": "other.safetensors"}}'
        self.refuse_model(hub, "does not have")
        self.assertEqual(list(self.folder.rglob("*evil*")), [])

    def test_every_refusal_says_what_to_do(self):
        hub = self.hub()
        for status, headers, saying in ((401, {}, "HF_TOKEN"), (403, {}, "refuses it (403)"),
                                        (403, {"X-Error-Message": "This is disabled."}, "disabled"),
                                        (403, {"X-Error-Code": "GatedRepo"}, "accept its terms"),
                                        (401, {"X-Error-Code": "GatedRepo"}, "accept its terms"),
                                        (404, {}, "no such model or revision"), (429, {}, "429"), (500, {}, "status 500"),
                                        (404, {"X-Error-Code": "RevisionNotFound"}, 'no revision "main"'),
                                        (302, {"Location": "ftp://x"}, "redirects"), (200, {}, "JSON")):
            hub.status = (status, headers)
            self.refuse_model(hub, saying)
        hub = self.hub()  # gated: its files are listed, and the page that refuses one has an ETag
        hub.refusals = {"config.json": (401, {"X-Error-Code": "GatedRepo", "ETag": 'W/"8c-6WrD95JiXZalWmyM/8wvo3ELvyY"'})}
        self.refuse_model(hub, ("is gated", "accept its terms"))
        self.assertEqual(list(self.home.rglob("*6WrD*")), [])
        self.refuse_model(None, ("not in the cache", "HF_HUB_OFFLINE"))
        self.refuse_model(hub, "no answer", HF_ENDPOINT="http://127.0.0.1:9")
        self.refuse_model(hub, "HF_ENDPOINT", HF_ENDPOINT="huggingface.co")
        self.refuse_model(hub, "HF_TOKEN", HF_TOKEN="a\nb")
        self.refuse_model(hub, ("SparseZoo", "June 2025", "RedHatAI"), model="zoo:codegen_mono-350m")
        self.refuse_model(hub, "hf:org/name", model="hf:org/../x")

    def test_a_model_that_another_tool_downloaded_is_used_without_network(self):
        self.hub()
        (self.repository / "refs").mkdir(parents=True)
        (self.repository / "refs" / "main").write_text(COMMIT)
        self.snapshot.mkdir(parents=True)
        for name in ("config.json", "model.safetensors"):
            (self.snapshot / name).symlink_to(MODELS / "codegen-tiny" / name)
        self.inspect(None)
        self.refuse_model(None, "not in the cache", model=NAME + "@other")
        unreachable = self.env(None, HF_HUB_OFFLINE="0", HF_ENDPOINT="http://127.0.0.1:9")
        self.succeed("inspect", "--model", NAME, env=unreachable)  # it may have a tokenizer: that is looked for
        (self.snapshot / "model.safetensors").unlink()
        self.refuse_model(None, "not in the cache")

    def test_gguf_files_are_chosen_by_name(self):
        parts = {f"parts/{path.name}": path.read_bytes() for path in (MODELS / "gguf-parts").glob("*.gguf")}
        hub = self.hub({"q8_0.gguf": Q8_0.read_bytes(), **parts})
        message = self.refuse_model(hub, ("several GGUF models", "hf:org/tiny:q8_0.gguf"))
        self.assertIn("hf:org/tiny:parts/q8_0-00001-of-00003.gguf", message)
        self.assertNotIn("00002", message)
        self.refuse_model(hub, "no file", model=NAME + ":q4_0.gguf")
        self.inspect(hub, NAME + ":parts/q8_0-00001-of-00003.gguf")
        self.assertEqual(len(list((self.snapshot / "parts").iterdir())), 3)
        self.inspect(hub, NAME + ":q8_0.gguf")
        self.inspect(None, NAME + ":q8_0.gguf")
        self.refuse_model(self.hub({"README.md": b""}), "holds no model", model=NAME + "@other")

    def test_a_gguf_file_beside_a_configuration_is_used_where_the_hub_is_not_reached(self):
        files = {"config.json": (MODELS / "codegen-tiny" / "config.json").read_bytes(), "q8_0.gguf": Q8_0.read_bytes()}
        self.inspect(self.hub(files), NAME + ":q8_0.gguf")
        (self.snapshot / "config.json").write_bytes(files["config.json"])
        mine = self.inspect(None)
        self.assertEqual(json.loads(mine)["format"], "gguf")
        self.assertEqual(self.inspect(None, HF_HUB_OFFLINE="0", HF_ENDPOINT="http://127.0.0.1:9"), mine)
        weights = (MODELS / "codegen-tiny" / "model.safetensors").read_bytes()
        hub = Hub({**files, "model.safetensors": weights})  # which has what comes before it
        self.addCleanup(hub.close)
        self.assertEqual(json.loads(self.inspect(hub))["format"], "safetensors")

    def test_two_processes_download_a_file_once(self):
        hub = self.hub({"q8_0.gguf": Q8_0.read_bytes()})
        hub.delay = 0.5
        command = [COMMAND, "inspect", "--model", NAME, "--json"]
        both = [subprocess.Popen(command, env=self.env(hub), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in "ab"]
        for process in both:
            _, said = process.communicate(timeout=60)
            self.assertEqual((process.returncode, said), (0, b""))
        self.assertEqual(len(hub.sent("large")), 1)
        self.assertEqual((self.snapshot / "q8_0.gguf").read_bytes(), Q8_0.read_bytes())

    def test_adapters_come_from_the_hub_too(self):
        adapter = GOLDEN / "lora" / "llama" / "adapter"
        hub = self.hub({path.name: path.read_bytes() for path in adapter.iterdir()})
        command = ("inspect", "--model", MODELS / "llama-tiny-gqa", "--json")
        mine = self.succeed(*command, "--lora", NAME + "=0.5", env=self.env(hub))
        other = self.succeed(*command, "--lora", f"{adapter}=0.5")
        self.assertEqual(mine.replace(str(self.snapshot).encode(), str(adapter).encode()), other)

    def test_a_draft_model_comes_from_the_hub_too(self):
        hub = self.hub()
        prompt = ("generate", "--model", self.folder / "model", "--prompt", "abc", "--max-new-tokens", "4")
        plain = self.succeed(*prompt, env=self.env(None))
        self.assertEqual(plain, self.succeed(*prompt, "--draft-model", f"ngram+{NAME}", env=self.env(hub)))
        self.assertTrue(self.snapshot.is_dir())

    def test_the_server_takes_it_on_the_command_line_and_in_yaml(self):
        hub = self.hub({"q8_0.gguf": Q8_0.read_bytes()})
        config = self.folder / "config.yaml"
        config.write_text(f"endpoints:\n  - task: text_generation\n    model: {NAME}\n")
        for model, flags in ((NAME, ()), (None, ("--config-file", config))):
            with patch.object(serve_module, "environment", lambda: self.env(hub)), \
                    serve_module.Server(*flags, model=model) as server:
                status, _, body = server.request("POST", "/v1/completions", {"model": NAME, "prompt": "a", "max_tokens": 1})
                self.assertEqual(status, 200, body)

    def test_a_server_answers_while_its_model_is_downloaded_and_stops_in_the_middle(self):
        hub = self.hub({"q8_0.gguf": Q8_0.read_bytes()})
        hub.delay = 60
        variables = self.env(hub, HF_HUB_DOWNLOAD_TIMEOUT="1")
        with patch.object(serve_module, "environment", lambda: variables), serve_module.Server(model=NAME) as server:
            self.assertEqual([server.request("GET", path)[0] for path in ("/health", "/ready")], [200, 503])
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(list(self.snapshot.iterdir()) if self.snapshot.exists() else [], [])

    @unittest.skipUnless(os.environ.get("TULLE_LIBRARY"), "this build has no libtulle")
    def test_the_c_abi_takes_it(self):
        hub = self.hub({"q8_0.gguf": Q8_0.read_bytes()})
        library = ctypes.CDLL(os.environ["TULLE_LIBRARY"])
        variables = {"HF_ENDPOINT": hub.address, "HF_HOME": str(self.home), "HF_HUB_OFFLINE": "0", "HF_TOKEN": ""}
        for name, value in variables.items():
            self.addCleanup(os.environ.__setitem__, name, os.environ.get(name, ""))
            os.environ[name] = value
        class Failure(ctypes.Structure):
            _fields_ = [("size", ctypes.c_uint32), ("status", ctypes.c_int32), ("message", ctypes.c_char * 1016)]
        failure, model = Failure(1024), ctypes.c_void_p()
        name = NAME.encode()
        status = library.tulle_model_load(name, ctypes.c_size_t(len(name)), None, ctypes.byref(model), ctypes.byref(failure))
        self.assertEqual((status, failure.message), (0, b""))
        library.tulle_model_free(model)
        status = library.tulle_model_load(b"zoo:x", ctypes.c_size_t(5), None, ctypes.byref(model), ctypes.byref(failure))
        self.assertEqual(status, 1)
        self.assertIn(b"SparseZoo", failure.message)


if __name__ == "__main__":
    unittest.main()
