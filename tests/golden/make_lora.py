#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Save LoRA adapters of tiny golden models in tests/golden/lora, with the logits of the merged models.

PEFT makes, scales and saves every adapter; the logits are those of its merged model. One directory a case:

  adapter, ...   what save_pretrained wrote
  case.json      the model, the adapters with their scales, tokens
  logits.npy     float32 [tokens, vocabulary]

usage: make_lora.py [--out DIR]
Made with Python 3.11, peft 0.21.2, torch 2.14.0, transformers 5.17.0, all on the CPU.
"""
import argparse
import json
import os
import shutil
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import peft
import safetensors.torch
import torch
import transformers

FOLDER = Path(__file__).parent
TOKENS = 24


def load(name):
    """Matrices in their file's type, in which PEFT merges; norms and biases in float32."""
    files = (FOLDER / "models" / name).glob("*.safetensors")
    dtypes = {t.dtype for file in files for t in safetensors.torch.load_file(file).values() if t.dim() == 2}
    assert len(dtypes) == 1, dtypes
    model = transformers.AutoModelForCausalLM.from_pretrained(FOLDER / "models" / name, dtype=torch.float32).eval()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data = parameter.data.to(*dtypes)
    return model


def config(**arguments):
    return peft.LoraConfig(task_type="CAUSAL_LM", **arguments)


def draw(model, name, generator):
    """Gives the adapter's tensors random values whose product is of the size of the weights."""
    for key, tensor in model.named_parameters():
        if f".{name}" not in key:
            continue
        if "modules_to_save" in key:
            tensor.data += 0.2 * torch.randn(tensor.shape, generator=generator).to(tensor.dtype) * tensor.std()
        elif "lora_" in key:
            rank = tensor.shape[0] if "_A" in key else tensor.shape[1]
            size = tensor.shape[1] if "_A" in key and "embedding" not in key else rank
            tensor.data = torch.randn(tensor.shape, generator=generator).to(tensor.dtype) / size ** 0.5


class Case:
    def __init__(self, out, name, model, gguf=None):
        """`gguf`: a file in models/gguf with the same weights."""
        self.directory = out / name
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.name, self.gguf = model, gguf
        self.base = load(model)
        self.plain = load(model)
        self.generator = torch.Generator().manual_seed(len(name) * 1000 + len(model))
        self.adapters = []

    def add(self, name, scale=1.0, **arguments):
        """Trains (draws) an adapter on the unchanged model, saves it, and merges it into ours with that scale."""
        trained = peft.get_peft_model(load(self.name), config(**arguments))
        draw(trained, "default", self.generator)
        trained.save_pretrained(self.directory / name)
        (self.directory / name / "README.md").unlink()
        path = self.directory / name / "adapter_config.json"
        written = json.loads(path.read_text()) | {"base_model_name_or_path": self.name}
        path.write_text(json.dumps(written, indent=2) + "\n")
        loaded = peft.PeftModel.from_pretrained(self.base, self.directory / name)
        for module in loaded.modules():
            if isinstance(module, peft.tuners.lora.LoraLayer):
                module.scale_layer(scale)
        self.base = loaded.merge_and_unload()
        self.adapters.append({"path": name, "scale": scale})

    @torch.no_grad()
    def finish(self):
        vocabulary = self.base.config.vocab_size
        tokens = torch.randint(0, vocabulary, (1, TOKENS), generator=self.generator)
        logits = self.base.float()(tokens).logits[0].numpy()
        before = self.plain.float()(tokens).logits[0].numpy()
        assert np.abs(logits - before).max() > 0.2 * np.ptp(before), "the adapter changes too little"
        np.save(self.directory / "logits.npy", logits)
        case = {"model": self.name, "gguf": self.gguf, "adapters": self.adapters, "tokens": tokens[0].tolist()}
        (self.directory / "case.json").write_text(json.dumps(case) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Save tiny LoRA adapters and the logits of the merged models.")
    parser.add_argument("--out", type=Path, default=FOLDER / "lora")
    out = parser.parse_args().out
    attention = ["q_proj", "v_proj"]

    case = Case(out, "llama", "llama-tiny-gqa")
    case.add("adapter", r=4, lora_alpha=8, target_modules=attention + ["o_proj", "down_proj", "gate_proj"])
    case.finish()

    case = Case(out, "patterns", "llama-tiny-yarn", "llama-yarn")
    case.add("adapter", r=4, lora_alpha=6, target_modules=attention + ["up_proj"],
             rank_pattern={"layers.1.self_attn.q_proj": 2, "up_proj": 3}, alpha_pattern={"^model.layers.0.mlp.up_proj": 5})
    case.finish()

    case = Case(out, "two", "llama-tiny-gqa")
    case.add("first", 0.5, r=2, lora_alpha=4, target_modules=attention)
    case.add("second", -1.5, r=3, lora_alpha=3, use_rslora=True, target_modules=["v_proj", "lm_head"])
    case.finish()

    case = Case(out, "embedding", "llama-tiny-gqa")
    case.add("adapter", r=2, lora_alpha=3, target_modules=["embed_tokens", "k_proj"],
             modules_to_save=["lm_head", "model.norm"])
    case.finish()

    case = Case(out, "gpt2", "gpt2-tiny", "gpt2")
    case.add("adapter", r=3, lora_alpha=6, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)
    case.finish()

    case = Case(out, "tied", "gpt2-tiny")  # PEFT rounds the change of an embedding to BF16 before it adds it
    case.add("adapter", r=3, lora_alpha=6, target_modules=["wte"])
    case.finish()

    case = Case(out, "phi3", "phi3-tiny", "phi3")
    case.add("adapter", r=2, lora_alpha=4, target_modules=["qkv_proj", "gate_up_proj"])
    case.finish()

    case = Case(out, "router", "qwen2-moe-tiny")
    case.add("adapter", r=2, lora_alpha=2, target_modules=["q_proj", "shared_expert_gate", "shared_expert.up_proj"])
    case.finish()

    # Adapters as PEFT and torch also wrote them: an adapter's name in the names of tensors, and a pickle.
    for name, form in (("named", "safetensors"), ("pickled", "bin")):
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(out / "llama" / "adapter", folder)
        tensors = {key.replace(".weight", ".default.weight") if name == "named" else key: tensor for key, tensor in
                   safetensors.torch.load_file(folder / "adapter_model.safetensors").items()}
        (folder / "adapter_model.safetensors").unlink()
        if form == "bin":
            torch.save(tensors, folder / "adapter_model.bin")
        else:
            safetensors.torch.save_file(tensors, folder / "adapter_model.safetensors")


if __name__ == "__main__":
    main()
