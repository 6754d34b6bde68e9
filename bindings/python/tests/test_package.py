# SPDX-License-Identifier: Apache-2.0
"""What pip installs, and what a source distribution holds."""
import importlib.metadata
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def test_the_licence_goes_with_the_wheel_and_with_the_sources(tmp_path):
    licence = (PACKAGE.parents[1] / "LICENSE").read_bytes()
    installed = [file for file in importlib.metadata.files("tulle") if file.name == "LICENSE"]
    assert [file.read_binary() for file in installed] == [licence]
    build = f"import scikit_build_core.build as backend; backend.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=PACKAGE, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as sources:
        [member] = [member for member in sources if Path(member.name).name == "LICENSE"]
        assert sources.extractfile(member).read() == licence


def test_types_go_with_the_wheel_and_are_those_of_the_extension(tmp_path):
    assert {"py.typed", "_core.pyi"} <= {file.name for file in importlib.metadata.files("tulle")}
    # nanobind's classes have a metaclass of its own, and take what they like to say that they cannot be made.
    allowed = tmp_path / "allowed"
    allowed.write_text("tulle\\._core\\.\\w+\ntulle\\._core\\.\\w+\\.__init__\n")
    found = subprocess.run([sys.executable, "-m", "mypy.stubtest", "tulle._core", "--allowlist", allowed],
                           cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
