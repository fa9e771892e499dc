# cmake/wheel.py — Writes the Python wheel from a build directory: what `cmake --install` lays down, with the
# programs that carry their libraries in place of those that load them. A library that a wheel may not count
# on is refused here, and so is a symbol of a glibc newer than the one that the tag names.
"""usage: wheel.py BUILD --version V --glibc V --out DIRECTORY --cmake PROGRAM --strip PROGRAM --readelf PROGRAM
                [--archives ARCHIVE…]"""
from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import parts

SOURCE = Path(__file__).resolve().parent.parent
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}


def stage(arguments, prefix: Path) -> None:
    """Lays the component `program` below `prefix`, stripped, its programs linked to glibc alone."""
    subprocess.run([arguments.cmake, "--install", arguments.build, "--component", "program", "--strip",
                    "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    for program in (arguments.build / "alone").iterdir():
        [place] = [at for at in prefix.rglob(program.name) if at.is_file() and os.access(at, os.X_OK)]
        subprocess.run([arguments.strip, program, "-o", place], check=True)
    for name in (parts.SBOM, parts.LICENCES):  # of programs that load their libraries; the wheel has its own
        for other in prefix.rglob(name):
            other.unlink()


def is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def refuse_needs(path: Path, readelf: str, own: set[str], glibc: str) -> None:
    """Raises if the file needs a library besides glibc and `own`, or a version of glibc newer than `glibc`."""
    said = subprocess.run([readelf, "--wide", "--dynamic", "--version-info", path], check=True, text=True,
                          capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout
    others = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said)) - GLIBC - own
    if others:
        raise SystemExit(f"{path.name} needs {', '.join(sorted(others))}, which a wheel may not count on")
    oldest = tuple(map(int, glibc.split(".")))
    newer = {version for version in re.findall(r"GLIBC_([\d.]+)", said)
             if tuple(map(int, version.split("."))) > oldest}
    if newer:
        raise SystemExit(f"{path.name} needs symbols of glibc {', '.join(sorted(newer))}; the wheel is for {glibc}: "
                         "link it with deadrank_link_older_glibc(), and add what glibc lacks to cmake/glibc/")


class Wheel:
    def __init__(self, path: Path, name: str):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.name = name
        self.record = []

    def add(self, place: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(place, date_time=(2020, 1, 1, 0, 0, 0))  # equal content, equal wheel
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{place},sha256={digest},{len(content)}")

    def close(self) -> None:
        place = f"{self.name}.dist-info/RECORD"
        self.add(place, "\n".join([*self.record, f"{place},,", ""]).encode())
        self.zip.close()


def place_in_wheel(relative: Path, name: str) -> str:
    """Where pip must find a file so that it lies in the environment as below any other prefix."""
    if relative.parts[0] == "bin":
        return f"{name}.data/scripts/{relative.name}"
    return f"{name}.data/data/{relative.as_posix()}"


def metadata(version: str, readme: str) -> str:
    return f"""Metadata-Version: 2.1
Name: deadrank
Version: {version}
Summary: Deterministic fault scenarios for distributed deep-learning training
License: Apache-2.0
License-File: LICENSE
License-File: LICENSES-OF-OTHERS
Requires-Python: >=3.9
Provides-Extra: pytest
Requires-Dist: pytest>=7; extra == "pytest"
Classifier: Framework :: Pytest
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

{readme}"""


def write(arguments, prefix: Path) -> Path:
    files = sorted(path for path in prefix.rglob("*") if path.is_file())
    programs = [file for file in files if is_elf(file)]
    own = {file.name for file in programs}
    for file in programs:
        refuse_needs(file, arguments.readelf, own, arguments.glibc)
    tag = f"py3-none-manylinux_{arguments.glibc.replace('.', '_')}_{platform.machine()}"
    name = f"deadrank-{arguments.version}"
    path = arguments.out / f"{name}-{tag}.whl"
    wheel = Wheel(path, name)
    plugin = prefix / "share/deadrank/pytest"
    package = prefix / "share/deadrank/sim/managed/python"
    for file in files:
        if file.is_relative_to(plugin):  # a package of this environment, found by its entry point
            inside = file.relative_to(plugin)
            if inside.parts[0] == "pytest_deadrank":
                wheel.add(inside.as_posix(), file.read_bytes())
            continue
        if file.is_relative_to(package / "deadrank"):  # `import deadrank`, for users; ranks find it in the program's data
            wheel.add(file.relative_to(package).as_posix(), file.read_bytes())
        wheel.add(place_in_wheel(file.relative_to(prefix), name), file.read_bytes(),
                  file in programs and ".so" not in file.suffixes)
    info = f"{name}.dist-info"
    wheel.add(f"{info}/licenses/LICENSE", (SOURCE / "LICENSE").read_bytes())
    wheel.add(f"{info}/licenses/{parts.LICENCES}", parts.licences().encode())
    wheel.add(f"{info}/sboms/{parts.SBOM}", parts.sbom(arguments.version, arguments.archives).encode())
    wheel.add(f"{info}/entry_points.txt", b"[pytest11]\ndeadrank = pytest_deadrank.plugin\n")
    kind = f"Wheel-Version: 1.0\nGenerator: deadrank\nRoot-Is-Purelib: false\nTag: {tag}\n"
    wheel.add(f"{info}/WHEEL", kind.encode())
    wheel.add(f"{info}/METADATA", metadata(arguments.version, (SOURCE / "README.md").read_text()).encode())
    wheel.close()
    return path


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--archives", nargs="*", type=Path, default=[])
    for option in ("version", "glibc", "cmake", "strip", "readelf"):
        parser.add_argument(f"--{option}", required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for older in arguments.out.glob("deadrank-*.whl"):
        older.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        stage(arguments, Path(scratch))
        print(write(arguments, Path(scratch)))


if __name__ == "__main__":
    main()
