# SPDX-License-Identifier: Apache-2.0
"""Matrices as make_forms.py stores them: codes of 8 and 4 bits, bit masks and nonzeros, packed codes."""
import itertools

import numpy as np
import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32

GROUP = 32  # columns that share a scale of codes of 4 bits


class Form:
    """The tensors of a model as they are stored, and what they mean in float32."""

    def __init__(self):
        self.stored, self.weights = {}, {}

    def add_floats(self, name, values, dtype=torch.float32):
        self.stored[name] = torch.from_numpy(values).to(dtype)
        self.weights[name] = self.stored[name].float()

    def add_codes(self, layer, tensors, codes, scale):
        """`tensors`: suffix -> numpy, beside the scales."""
        self.stored.update({f"{layer}.{suffix}": torch.from_numpy(values) for suffix, values in tensors.items()})
        self.stored[f"{layer}.weight_scale"] = torch.from_numpy(scale)
        wide = np.repeat(scale.astype(np.float32), codes.shape[1] // scale.shape[1], axis=1)
        self.weights[f"{layer}.weight"] = torch.from_numpy(codes.astype(np.float32) * wide)

    def add_pruned_floats(self, layer, values):
        """A mask and the nonzeros in BF16."""
        rounded = torch.from_numpy(values).bfloat16()
        for suffix, tensor in mask_and_shape(values, 0).items():
            self.stored[f"{layer}.{suffix}"] = torch.from_numpy(tensor)
        self.stored[f"{layer}.weight_values"] = rounded[rounded != 0]
        self.weights[f"{layer}.weight"] = rounded.float()


def mask_and_shape(elements, group):
    return {"weight_mask": np.packbits(elements != 0, axis=1, bitorder="little"),
            "weight_shape": np.array([*elements.shape, group], np.int64)}


def nibbles(row):
    """The nonzeros of a row, two to a byte."""
    values = row[row != 0] & 15
    values = np.append(values, np.zeros(values.size % 2, np.int8)).astype(np.uint8)
    return values[0::2] | values[1::2] << 4


def bitmask_8(codes):
    return {**mask_and_shape(codes, 0), "weight_values": codes[codes != 0]}


def bitmask_4(codes):
    return {**mask_and_shape(codes, GROUP), "weight_values": np.concatenate([nibbles(row) for row in codes])}


def packed(codes, bits):
    return {"weight_packed": pack_to_int32(torch.from_numpy(codes), bits).numpy(),
            "weight_shape": np.array(codes.shape, np.int64)}


def quantize_4(weight, scale_type):
    """Codes [rows, columns] and scales [rows, groups]."""
    groups = weight.reshape(weight.shape[0], -1, GROUP)
    scale = (np.abs(groups).max(axis=2) / np.float32(7.5)).astype(np.float16).astype(scale_type)
    codes = np.clip(np.rint(groups / scale.astype(np.float32)[..., None]), -8, 7)
    return codes.astype(np.int8).reshape(weight.shape), scale


GAP_MASKS = np.array([[float(column in kept) for column in range(16)] for kept in itertools.combinations(range(16), 8)
                      if all(b - a <= 4 for a, b in zip((-1,) + kept, kept))], np.float32)


def prune_8_16_gap4(weight):
    """Of every 16 columns the 8 with the largest sum of squares that are at most 4 apart, out of all such masks."""
    cut = weight.reshape(-1, 16)
    return (cut * GAP_MASKS[(np.square(cut) @ GAP_MASKS.T).argmax(axis=1)]).reshape(weight.shape)


def prune_half_of_rows(weight):
    return np.where(np.abs(weight) > np.median(np.abs(weight), axis=1, keepdims=True), weight, 0)
