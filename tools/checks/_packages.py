# SPDX-License-Identifier: Apache-2.0
"""Files of published packages, fetched once and known by their SHA-256."""
import hashlib
import subprocess
import urllib.request
from pathlib import Path

PYTHON_INDEX = "https://files.pythonhosted.org/packages"
CRATES = "https://static.crates.io/crates"


def checked(path, digest):
    """Errors: ValueError where it is not the file that was published; it is removed then."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        path.unlink()
        raise ValueError(f"{path.name} is not the file that was published")
    return path


def download(folder, address, digest):
    path = folder / Path(address).name
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with urllib.request.urlopen(address, timeout=300) as answer:
        part.write_bytes(answer.read())
    return checked(part, digest).rename(path)


def python_package(folder, address, digest):
    """The path of a file of the Python package index. (pip would build what it downloads.)"""
    return download(folder, f"{PYTHON_INDEX}/{address}", digest)


def crate(folder, name, version, digest):
    """The path of the archive of a crate."""
    return download(folder, f"{CRATES}/{name}/{name}-{version}.crate", digest)


def npm_package(folder, name, version, digest):
    """The path of the archive of a package of npm."""
    path = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return checked(path, digest)
