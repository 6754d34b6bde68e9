# SPDX-License-Identifier: Apache-2.0
"""clang-format and clang-tidy of one version, from the Python package index into build/clang-tools; and which files are ours."""
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = {"clang-format": "19.1.7", "clang-tidy": "19.1.0.1"}
SUFFIXES = {".c", ".h", ".cpp", ".hpp"}


def tool(name):
    """The program's path; None, after a line that says why, where it cannot be fetched."""
    folder = ROOT / "build" / "clang-tools" / f"{name}-{VERSIONS[name]}"
    program = folder / "bin" / name
    if not program.exists():
        try:
            venv.create(folder, with_pip=True, clear=True)
            subprocess.run([folder / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install",
                            f"{name}=={VERSIONS[name]}"], check=True, capture_output=True)
        except subprocess.CalledProcessError:
            print(f"skipped: this machine has no way to {name} {VERSIONS[name]} in a Python package index")
            return None
    return program


def git(*arguments):
    """Lines that git prints; None where this is no checkout, or git refuses."""
    result = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    return result.stdout.splitlines() if result.returncode == 0 else None


def ours(names):
    return sorted(ROOT / name for name in names if Path(name).suffix in SUFFIXES and (ROOT / name).is_file())


def sources():
    """Every C and C++ file of the repository."""
    listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        return ours(listed)
    folders = ("include", "tests", "tools", "bench", "capi", "bindings", "examples", "wasm")
    return ours(path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*")
                if not {"node_modules", "dist"} & set(path.parts))


def changed():
    """Files that differ from where this branch left main; on main itself, those of the last commit."""
    for base in ("origin/main", "main", "origin/master", "master"):
        fork = git("merge-base", base, "HEAD")
        if fork and fork != git("rev-parse", "HEAD"):
            return ours({*git("diff", "--name-only", fork[0]), *git("ls-files", "--others", "--exclude-standard")})
    names = git("diff", "--name-only", "HEAD~1") or git("diff", "--name-only", "HEAD") or []
    return ours({*names, *(git("ls-files", "--others", "--exclude-standard") or [])})

