# SPDX-License-Identifier: Apache-2.0
from _commands import test_preset

MINUTES = 35
ABOUT = "unit, C ABI, fuzz and server tests under the address, undefined and thread sanitizers"


def cells():
    return {preset: lambda preset=preset: test_preset(preset) for preset in ("asan", "tsan")}
