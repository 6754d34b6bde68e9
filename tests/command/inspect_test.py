# SPDX-License-Identifier: Apache-2.0
"""tulle inspect on tiny models."""

import json
import struct
import tempfile
import unittest
from pathlib import Path

from command import CONTEXT, MODELS, Q8_0, CommandTest


def tensors_of(model):
    """name -> (type, shape, bytes)"""
    data = (model / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, tensor in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            tensors[name] = (tensor["dtype"], tensor["shape"], data[8 + size + begin : 8 + size + end])
    return tensors


def write_model(folder, config, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    Path(folder, "config.json").write_text(json.dumps(config))
    Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def config_of(model):
    return json.loads((model / "config.json").read_text())


class InspectTest(CommandTest):
    def inspect(self, model, *flags):
        return json.loads(self.succeed("inspect", "--model", model, "--json", *flags))

    def test_adapters(self):
        adapter = MODELS.parent / "lora" / "llama" / "adapter"
        model = MODELS / "llama-tiny-gqa"
        self.assertEqual(self.inspect(model)["adapters"], [])
        self.assertEqual(self.inspect(model, f"--lora={adapter}=0.5")["adapters"], [{"path": str(adapter), "scale": 0.5}])
        text = self.succeed("inspect", model, "--lora", adapter).decode()
        self.assertEqual(text.splitlines()[1], f"with {adapter}, scale 1.0")

    def test_architecture_and_tensors(self):
        report = self.inspect(MODELS / "llama-tiny-gqa")
        self.assertEqual(report["format"], "safetensors")
        wanted = {
            "family": "llama",
            "vocabulary": 272,
            "hidden": 48,
            "layers": 2,
            "heads": 4,
            "kv_heads": 2,
            "head_dim": 12,
            "intermediate": 80,
            "context_length": CONTEXT,
            "tied_head": False,
            "eos": [2],
        }
        self.assertEqual({key: report["architecture"][key] for key in wanted}, wanted)
        tensors = {tensor["name"]: tensor for tensor in report["tensors"]}
        self.assertEqual(len(tensors), 3 + 2 * 9)
        down = tensors["model.layers.1.mlp.down_proj.weight"]
        self.assertEqual((down["shape"], down["type"], down["bytes"]), ([48, 80], "F32", 48 * 80 * 4))
        self.assertEqual((down["sparsity"], down["structure"], down["kernel"]), (0, "dense", "dense_f32"))
        self.assertNotIn("kernel", tensors["model.embed_tokens.weight"])
        self.assertEqual(report["types"]["F32"]["tensors"], 21)
        self.assertEqual(report["types"]["F32"]["bytes"], sum(tensor["bytes"] for tensor in tensors.values()))

    def test_parts_of_fused_tensors_count_once(self):
        for name in ("gpt-oss-tiny", "gpt-oss-tiny-mxfp4"):
            report = self.inspect(MODELS / name)
            size = sum(each["bytes"] for each in report["types"].values())
            self.assertLess(size, (MODELS / name / "model.safetensors").stat().st_size)
            shapes = {tensor["shape"][0] for tensor in report["tensors"] if tensor["name"].endswith("gate_proj.bias")}
            self.assertEqual(shapes, {json.loads((MODELS / name / "config.json").read_text())["intermediate_size"]})

    def test_layers_are_in_the_order_of_their_numbers(self):
        tiny = MODELS / "llama-tiny-llama3"
        layers = {}
        for name, tensor in tensors_of(tiny).items():
            for layer in range(12) if ".layers.0." in name else [None]:
                if ".layers.1." not in name:
                    layers[name if layer is None else name.replace(".layers.0.", f".layers.{layer}.")] = tensor
        with tempfile.TemporaryDirectory() as folder:
            write_model(folder, {**config_of(tiny), "num_hidden_layers": 12}, layers)
            names = [tensor["name"] for tensor in self.inspect(Path(folder))["tensors"]]
        norms = [int(name.split(".")[2]) for name in names if name.endswith("input_layernorm.weight")]
        self.assertEqual(norms, list(range(12)))

    def test_sparsity_is_measured(self):
        report = self.inspect(MODELS / "llama-tiny-int8")
        for tensor in report["tensors"]:
            name = tensor["name"]
            if ".layers.0." in name and tensor["type"] == "I8":
                self.assertEqual(tensor["structure"], "unstructured", name)
                self.assertGreaterEqual(tensor["sparsity"], 0.5, name)
            elif ".layers.1." in name and tensor["type"] == "I8":
                self.assertEqual(tensor["structure"], "8:16", name)
                self.assertGreaterEqual(tensor["sparsity"], 0.5, name)
            elif name == "lm_head.weight":
                self.assertEqual(tensor["structure"], "dense")

    def test_kernels_follow_the_file_or_the_flag(self):
        for name, kernel in [("f32", "dense_f32"), ("f16", "dense_f16"), ("q8_0", "dense_i8"), ("q4_0", "dense_i4")]:
            report = self.inspect(MODELS / "gguf" / f"{name}.gguf")
            self.assertEqual(report["format"], "gguf")
            self.assertIn(kernel, {matrix["kernel"] for matrix in report["matrices"]}, name)
        for kernel in ["dense_f32", "dense_f16", "dense_i8", "dense_i4"]:
            report = self.inspect(Q8_0, "--kernel", kernel)
            self.assertEqual({matrix["kernel"] for matrix in report["matrices"]}, {kernel})
        codegen = self.inspect(MODELS / "codegen-tiny")
        self.assertEqual({matrix["kernel"] for matrix in codegen["matrices"]}, {"dense_f16"})
        self.assertEqual(codegen["architecture"]["family"], "codegen")

    def test_what_keeping_values_costs(self):
        storage = {
            (entry["type"], entry["kernel"]): entry
            for name in ("k_quants", "low_bits", "four_bits")
            for entry in self.inspect(MODELS / "gguf" / f"{name}.gguf")["storage"]
        }
        for of, file, packed in [
            (("Q4_K", "dense_i4"), 144 / 256, 0.5 + 2 / 32 + 4 / 256),
            (("Q5_K", "dense_i8"), 176 / 256, 1 + 2 / 32 + 4 / 256),
            (("Q6_K", "dense_i8"), 210 / 256, 1 + 1 / 16 + 2 / 256),
            (("Q2_K", "dense_i4"), 84 / 256, 0.5 + 2 / 16 + 4 / 256),
            (("TQ1_0", "dense_i4"), 54 / 256, 0.5 + 2 / 32),
            (("IQ4_NL", "dense_i8"), 18 / 32, 1 + 2 / 32),
        ]:
            self.assertAlmostEqual(storage[of]["file_bytes_per_weight"], file)
            self.assertAlmostEqual(storage[of]["packed_bytes_per_weight"], packed)
        self.assertNotIn("note", storage["Q4_K", "dense_i4"])
        self.assertIn("--kernel i4 takes 0.56", storage["IQ4_NL", "dense_i8"]["note"])
        self.assertIn("0.21 bytes a weight in the file, 0.56 in memory", storage["TQ1_0", "dense_i4"]["note"])
        self.assertNotIn("--kernel", storage["TQ1_0", "dense_i4"]["note"])
        self.assertFalse(any("note" in entry for entry in self.inspect(Q8_0, "--kernel", "dense_f32")["storage"]))
        text = self.succeed("inspect", "--model", MODELS / "gguf" / "four_bits.gguf").decode()
        self.assertIn(storage["IQ4_NL", "dense_i8"]["note"], text)

    def test_what_zeros_of_floats_would_bring(self):
        codegen = MODELS / "codegen-tiny"
        tensors = tensors_of(codegen)
        for name, (dtype, shape, data) in tensors.items():
            if "_proj.weight" in name:  # two of every four f16
                tensors[name] = dtype, shape, b"".join(bytes(4) + data[at + 4 : at + 8] for at in range(0, len(data), 8))
        with tempfile.TemporaryDirectory() as folder:
            write_model(folder, config_of(codegen), tensors)
            of = lambda *flags: [entry.get("note") for entry in self.inspect(Path(folder), *flags)["storage"]]
            [note] = of()
            self.assertIn("F16: 50.0 % of the pruned weights are zeros, kept as floats", note)
            self.assertRegex(note, r"--kernel i8 takes \S+ bytes a weight \(.*2:4_i8\); --kernel i4 .* \(.*2:4_i4\)")
            self.assertEqual(of("--kernel", "dense_f16"), [None])
            text = self.succeed("inspect", "--model", folder).decode()
            self.assertIn(note, text)

    def test_what_codes_cost_that_become_floats(self):
        def storage(model, change):
            tensors = tensors_of(MODELS / model)
            for name in list(tensors):
                change(tensors, name)
            with tempfile.TemporaryDirectory() as folder:
                write_model(folder, config_of(MODELS / model), tensors)
                report = self.inspect(Path(folder))
                self.assertEqual(self.inspect(Path(folder), "--kernel", "i8")["storage"][0].get("note"), None)
            return report, {entry["type"]: entry for entry in report["storage"] if entry["kernel"] == "dense_f32"}

        def act_order(tensors, name):
            if name.endswith(".weight_scale"):
                groups = tensors[name][1][1]
                of_columns = [column % groups for column in range(32 * groups)]
                index = name.replace("_scale", "_g_idx")
                tensors[index] = "I32", [len(of_columns)], struct.pack(f"<{len(of_columns)}i", *of_columns)

        def zero_points(tensors, name):
            if name.endswith(".weight_scale"):
                shape = tensors[name][1]
                tensors[name.replace("_scale", "_zero_point")] = "I8", shape, bytes([1]) * (shape[0] * shape[1])

        def scaled_f8(tensors, name):
            dtype, shape, data = tensors[name]
            if dtype == "F16" and "_proj.weight" in name:  # the upper byte of an f16 is an F8_E5M2
                tensors[name] = "F8_E5M2", shape, data[1::2]
                tensors[name + "_scale"] = "F32", [1], struct.pack("<f", 0.9)

        other = "--kernel i8 takes 1.06, --kernel i4 takes 0.56: both round them"
        report, packed = storage("pack-quantized-int4", act_order)
        self.assertRegex(packed["pack-quantized"]["note"], r"0\.[5-9]\d bytes a weight in the file, 4\.00 in memory on dense_f32.*" + other)
        self.assertIn("dense_f32", {each.get("kernel") for each in report["tensors"] if each["name"].endswith("_packed")})
        for model, change, name in [("int-quantized-int8", zero_points, "I8"), ("codegen-tiny", scaled_f8, "F8_E5M2")]:
            note = storage(model, change)[1][name]["note"]
            self.assertIn("1.00 bytes a weight in the file, 4.00 in memory on dense_f32", note)
            self.assertIn(other, note)

    def test_memory(self):
        small, large = (self.inspect(Q8_0, "--sequence-length", length)["memory"] for length in (64, 256))
        self.assertEqual((small["sequence_length"], large["sequence_length"]), (64, 256))
        self.assertGreater(large["cache_bytes"], 3 * small["cache_bytes"])
        for memory in (small, large):
            self.assertEqual(
                memory["total_bytes"], memory["weights_bytes"] + memory["cache_bytes"] + memory["workspace_bytes"]
            )
        f32 = self.inspect(Q8_0, "--kernel", "dense_f32")["memory"]
        self.assertGreater(f32["weights_bytes"], 3 * large["weights_bytes"])
        bytes_of = lambda dtype: self.inspect(Q8_0, "--cache-dtype", dtype)["memory"]["cache_bytes"]
        self.assertGreater(bytes_of("f32"), bytes_of("f16"))
        self.assertGreater(bytes_of("f16"), bytes_of("i8"))
        for flags, dtype in [([], "f16"), (["--kernel", "dense_f32"], "f32"), (["--cache-dtype", "i8"], "i8")]:
            memory = self.inspect(Q8_0, *flags)["memory"]
            self.assertEqual(memory["cache_dtype"], dtype)
            self.assertEqual(memory["cache_bytes"], bytes_of(dtype))

    def test_text(self):
        text = self.succeed("inspect", "--model", MODELS / "llama-tiny-int8").decode()
        for words in [
            "family: llama",
            "model.layers.1.mlp.down_proj.weight",
            "8:16",
            "unstructured",
            "_i8",
            "MiB",
            "cache",
        ]:
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
