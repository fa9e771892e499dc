# cmake/glibc/stubs.py — Writes a folder for the linker's -L with libc.so and libm.so of an older glibc. They are
# libraries without code, made from the symbols of this machine's glibc. Each symbol has the newest version that
# the older glibc has too. A symbol that it lacks comes from the archive of this folder's C files, or the link fails.
"""usage: stubs.py FOLDER --glibc 2.28 --archive FILE --cc COMPILER --readelf PROGRAM"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

LOADER = "ld-linux-x86-64.so.2"
START = "__libc_start_main"
# glibc 2.34 moved the functions of these libraries into libc.so.6. A program that calls one has to need its old
# library, or an older loader does not find the function.
MOVED = {
    "libpthread.so.0": r"(__)?pthread_|sem_",
    "libdl.so.2": r"dl",
    "librt.so.1": r"aio_|lio_|mq_|shm_|timer_",
}


class Symbol(NamedTuple):
    name: str
    version: tuple[int, ...]
    address: int
    size: int
    kind: str


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C"}).stdout.strip()


def file_of(library: str, cc: str) -> str:
    return output_of(cc, f"-print-file-name={library}")


def symbols_of(library: str, cc: str, readelf: str) -> list[Symbol]:
    """The versioned symbols that a library of this machine defines, without glibc's private ones."""
    table = output_of(readelf, "--wide", "--dyn-syms", file_of(library, cc))
    row = r"^ *\d+: ([0-9a-f]+) +(\w+) (\w+) +\w+ +\w+ +\w+ (\w+)@@?GLIBC_([\d.]+)$"
    return [Symbol(name, tuple(map(int, version.split("."))), int(address, 16), int(size, 0), kind)
            for address, size, kind, name, version in re.findall(row, table, re.M)]


def older(symbols: list[Symbol], newest: tuple[int, ...]) -> tuple[list[Symbol], set[str]]:
    """Each symbol that is as old as `newest`, once; and the names that also have a later version."""
    versions = defaultdict(list)
    for symbol in symbols:
        versions[symbol.name].append(symbol)
    kept = [max(symbol for symbol in symbols if symbol.version <= newest) for symbols in versions.values()
            if min(symbols).version <= newest]
    return kept, {symbol.name for symbol in kept if max(versions[symbol.name]).version > newest}


def version_name(symbol: Symbol) -> str:
    return f"GLIBC_{'.'.join(map(str, symbol.version))}"


def source(symbols: list[Symbol]) -> str:
    """Assembly that defines the symbols. Names of one object share its address, as `environ` and `__environ` do."""
    lines = ['.section .note.GNU-stack,"",@progbits', ".text"]
    objects = defaultdict(list)
    for symbol in symbols:
        if symbol.kind == "OBJECT":
            objects[symbol.address].append(symbol)
        else:
            lines.append(f".globl {symbol.name}; .type {symbol.name},@function; {symbol.name}: .byte 0")
    # No default version: programs start by the function of start.c, which asks for this version by its name.
    lines += [f".symver {START}, {START}@{version_name(symbol)}, remove"
              for symbol in symbols if symbol.name == START]
    lines.append(".bss")
    for names in objects.values():
        lines.append(".balign 64")
        for name, size in ((symbol.name, symbol.size) for symbol in names):
            lines.append(f".globl {name}; .type {name},@object; .size {name},{size}; {name}:")
        lines.append(f".zero {max(symbol.size for symbol in names)}")
    return "\n".join([*lines, ""])


def version_script(symbols: list[Symbol]) -> str:
    nodes = defaultdict(list)
    for symbol in symbols:
        nodes[version_name(symbol)].append(symbol.name)
    return "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in sorted(nodes.items()))


def write_library(folder: Path, library: str, symbols: list[Symbol], cc: str) -> Path:
    assembly, script, path = (folder / f"{library}{ending}" for ending in (".s", ".map", ""))
    assembly.write_text(source(symbols))
    script.write_text(version_script(symbols))
    subprocess.run([cc, "-shared", "-nostdlib", f"-Wl,-soname,{library},--version-script={script}", assembly,
                    "-o", path], check=True)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=Path)
    for option in ("glibc", "archive", "cc", "readelf"):
        parser.add_argument(f"--{option}", required=True)
    arguments = parser.parse_args()
    newest = tuple(map(int, arguments.glibc.split(".")))
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)

    libraries = {library: older(symbols_of(library, arguments.cc, arguments.readelf), newest)
                 for library in ("libc.so.6", "libm.so.6", LOADER)}
    libc, moved = libraries["libc.so.6"]
    written = {library: symbols for library, (symbols, _) in libraries.items()}
    for library, names in MOVED.items():
        written[library] = [symbol for symbol in libc if symbol.name in moved and re.match(names, symbol.name)]
        libc = [symbol for symbol in libc if symbol not in written[library]]
    written["libc.so.6"] = libc
    paths = {library: str(write_library(folder, library, symbols, arguments.cc))
             for library, symbols in written.items()}

    rest = file_of("libc_nonshared.a", arguments.cc)
    if_called = " ".join(paths[library] for library in (*MOVED, LOADER))
    (folder / "libm.so").write_text(f"INPUT ( {paths['libm.so.6']} )\n")
    (folder / "libc.so").write_text(
        f"GROUP ( {arguments.archive} {paths['libc.so.6']} {rest} AS_NEEDED ( {if_called} ) )\n")


if __name__ == "__main__":
    main()
