#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Save models/starcoder2-tiny as pytorch_model.bin, one file (pytorch/one) and shards (pytorch/shards).

Among the tensors of pytorch/one are a transposed view, a parameter, and two views of one storage. pytorch/hostile holds
files that must be refused: its names say why.

usage: make_pytorch.py [--out DIR]
Made with Python 3.11, torch 2.14.0, safetensors 0.8.0.
"""
import argparse
import io
import json
import os
import shutil
import zipfile
from pathlib import Path

import torch
from safetensors.torch import load_file

FOLDER = Path(__file__).parent
MODEL = FOLDER / "models" / "starcoder2-tiny"


class Reducer:
    """What pickle would run."""

    def __reduce__(self):
        return os.system, ("echo tulle must not run this",)


def with_views(tensors):
    state = torch.nn.Linear(1, 1).state_dict()  # an OrderedDict with the attribute _metadata, which stays
    state.clear()
    state.update(tensors)
    matrix = next(name for name in tensors if name.endswith("q_proj.weight"))
    state[matrix] = tensors[matrix].T.contiguous().T
    both = torch.cat([tensors["model.norm.weight"], tensors["model.norm.bias"]])
    weight, state["model.norm.bias"] = both.chunk(2)
    state["model.norm.weight"] = torch.nn.Parameter(weight)
    return state


def packed_again(file, method=zipfile.ZIP_STORED, change=lambda name, data: data):
    with zipfile.ZipFile(io.BytesIO(file)) as old, zipfile.ZipFile(found := io.BytesIO(), "w", method) as new:
        for member in old.infolist():
            new.writestr(zipfile.ZipInfo(member.filename), change(member.filename, old.read(member)), method)
    return found.getvalue()


def saved(value, **arguments):
    torch.save(value, found := io.BytesIO(), **arguments)
    return found.getvalue()


def main():
    parser = argparse.ArgumentParser(description="Save a tiny model as pytorch_model.bin.")
    parser.add_argument("--out", type=Path, default=FOLDER / "pytorch")
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    for name in ("one", "shards", "hostile"):
        (out / name).mkdir(parents=True)
    for name in ("one", "shards"):
        shutil.copyfile(MODEL / "config.json", out / name / "config.json")
    tensors = load_file(MODEL / "model.safetensors")
    torch.save(with_views(tensors), out / "one" / "pytorch_model.bin")

    names = sorted(tensors)
    parts, weight_map = (names[::2], names[1::2]), {}
    for number, part in enumerate(parts, 1):
        file = f"pytorch_model-{number:05}-of-00002.bin"
        torch.save({name: tensors[name] for name in part}, out / "shards" / file)
        weight_map.update({name: file for name in part})
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (out / "shards" / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")

    matrix = torch.arange(12.0).reshape(3, 4)
    plain = saved({"a": matrix})
    hostile = {
        "reducer": saved({"a": matrix, "b": Reducer()}),
        "legacy": saved({"a": matrix}, _use_new_zipfile_serialization=False),
        "view": saved({"a": matrix[:, :2]}),
        "repeated": saved({"a": matrix[:1].expand(3, 4)}),
        "nested": saved({"model": {"a": matrix}}),
        "list": saved([matrix]),
        "protocol_4": saved({"a": matrix}, pickle_protocol=4),
        "deflated": packed_again(plain, zipfile.ZIP_DEFLATED),
        "short_storage": packed_again(plain, change=lambda name, data: data[:-4] if name.endswith("/data/0") else data),
        "big_endian": packed_again(plain, change=lambda name, data: b"big" if name.endswith("/byteorder") else data),
        "no_pickle": packed_again(plain, change=lambda name, data: data).replace(b"data.pkl", b"data.PKL"),
        "cut": plain[:-8],
    }
    for name, file in hostile.items():
        (out / "hostile" / f"{name}.bin").write_bytes(file)


if __name__ == "__main__":
    main()
