# SPDX-License-Identifier: Apache-2.0
from _commands import test_preset

MINUTES = 30
ABOUT = "kernels, caches and row operations on 64-bit ARM under qemu, with and without dot products"


def cells():
    return {preset: lambda preset=preset: test_preset(preset) for preset in ("neon", "neon-dotprod")}
