# SPDX-License-Identifier: Apache-2.0
from _commands import build, command

MINUTES = 45
ABOUT = "decoding and prompts beside the engines of bench/peers, in one run"


def measure():
    build("release", "tulle_command")
    return command("bench/peers/run")


def cells():
    return {"run": measure}
