# SPDX-License-Identifier: Apache-2.0
"""Runs the program `tulle` and reads its report."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


class Error(RuntimeError):
    """What the program `tulle` says: what is wrong, where, and what to do. `status`: its exit status, 2 for arguments
    that it does not take."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def find_program() -> str:
    """The program that TULLE_COMMAND names, the one in this package, or the first on the PATH."""
    named = os.environ.get("TULLE_COMMAND")
    if named:
        return named
    packed = Path(__file__).parent / "bin" / "tulle"
    found = str(packed) if packed.exists() else shutil.which("tulle")
    if found is None:
        raise FileNotFoundError("the program tulle is neither in this package nor on the PATH; build it (tools/setup, "
                                "cmake --preset release), and name it in TULLE_COMMAND")
    return found


def run_program(*arguments: Any) -> list[dict[str, Any]]:
    """The JSON objects that `tulle ARGUMENTS --json` prints, one or an array. Its progress bar shows where stderr is a terminal. Ctrl-C
    ends the program. Errors: Error, FileNotFoundError."""
    command = [find_program(), *map(str, arguments), "--json"]
    terminal = sys.stderr is not None and sys.stderr.isatty()
    # A terminal of its own, so that the progress bar is drawn and the message of an error still comes here.
    reading, writing = os.openpty() if terminal else os.pipe()
    said = bytearray()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=writing)
    except OSError as error:
        os.close(reading)
        raise FileNotFoundError(f"cannot run {command[0]}: {error.strerror}; is TULLE_COMMAND right?") from error
    finally:
        os.close(writing)
    reader = threading.Thread(target=read_messages, args=(reading, said, terminal), daemon=True)
    reader.start()
    assert process.stdout is not None
    try:
        output = process.stdout.read()
        status = process.wait()
    except BaseException:
        end(process)
        raise
    finally:
        reader.join()
        os.close(reading)
        process.stdout.close()
    if status == 128 + signal.SIGINT:
        raise KeyboardInterrupt
    if status:
        raise Error(message_of(bytes(said), status), status)
    found = json.loads(output)
    return found if isinstance(found, list) else [found]


def end(process: subprocess.Popen[bytes]) -> None:
    """What is done so far can be resumed, so the program ends as by Ctrl-C."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_messages(reading: int, said: bytearray, terminal: bool) -> None:
    """Keeps what the program writes to stderr, and passes on what is not an error message."""
    while True:
        try:
            piece = os.read(reading, 65536)
        except OSError:  # a terminal whose other end is closed
            return
        if not piece:
            return
        said += piece
        if terminal and (shown := piece.partition(b"tulle: ")[0]):
            sys.stderr.write(shown.decode("utf-8", "replace"))
            sys.stderr.flush()


def message_of(said: bytes, status: int) -> str:
    text = said.decode("utf-8", "replace").strip()
    _, found, message = text.rpartition("tulle: ")
    if found:
        return message
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"the program tulle {how}" + (f": {text}" if text else "")
