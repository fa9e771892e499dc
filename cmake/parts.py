# cmake/parts.py — The code of others in what `./dev package` makes: one list, from which the licences and the SBOM of
# the wheel and of the Debian package are written.
"""usage: parts.py --version V --out DIRECTORY

Writes deadrank.cdx.json, the SBOM (CycloneDX 1.6) of programs that load shared libraries, and LICENSES-OF-OTHERS."""
from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

SBOM = "deadrank.cdx.json"  # a name by which tools know a file of CycloneDX
LICENCES = "LICENSES-OF-OTHERS"
PUBLIC_DOMAIN = "public domain"


@dataclass(frozen=True)
class Part:
    name: str
    package: str  # of Debian: its version is the part's, and its copyright file tells the licence in full
    licence: str  # an SPDX id or expression, or PUBLIC_DOMAIN, which SPDX does not have
    libraries: tuple[str, ...] = ()  # "z" of libz; none: headers alone


PARTS = [
    Part("Boost", "libboost1.74-dev", "BSL-1.0", ("boost_fiber", "boost_context", "boost_iostreams")),
    Part("bzip2", "libbz2-dev", "bzip2-1.0.6", ("bz2",)),
    Part("CLI11", "libcli11-dev", "BSD-3-Clause"),
    Part("expected", "libexpected-dev", "CC0-1.0"),
    Part("fmt", "libfmt-dev", "MIT", ("fmt",)),
    Part("JSON for Modern C++", "nlohmann-json3-dev", "MIT"),
    Part("liblzma", "liblzma-dev", PUBLIC_DOMAIN, ("lzma",)),
    Part("libstdc++ and libgcc", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", ("stdc++", "gcc", "gcc_eh")),
    Part("pugixml", "libpugixml-dev", "MIT", ("pugixml",)),
    Part("SQLite", "libsqlite3-dev", "blessing", ("sqlite3",)),
    Part("toml++", "libtomlplusplus-dev", "MIT", ("tomlplusplus",)),
    Part("xxHash", "libxxhash-dev", "BSD-2-Clause", ("xxhash",)),
    Part("yaml-cpp", "libyaml-cpp-dev", "MIT", ("yaml-cpp",)),
    Part("zlib", "zlib1g-dev", "Zlib", ("z",)),
    Part("Zstandard", "libzstd-dev", "BSD-3-Clause OR GPL-2.0-only", ("zstd",)),
]


def library_of(archive: Path) -> str:
    """libboost_fiber.a: boost_fiber"""
    return archive.name.removeprefix("lib").removesuffix(".a")


def version_of(package: str) -> str:
    """As this machine has it; empty where there is no dpkg."""
    try:
        said = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return said.stdout if said.returncode == 0 else ""


def licence_entry(licence: str) -> dict:
    if " " not in licence:
        return {"license": {"id": licence}}
    if licence == PUBLIC_DOMAIN:
        return {"license": {"name": licence}}
    return {"expression": licence}


def component(part: Part, archives: list[Path]) -> dict:
    version = version_of(part.package)
    linked = [archive for archive in archives if library_of(archive) in part.libraries]
    how = "static archive" if linked else "shared library" if part.libraries and not archives else "headers"
    entry = {"type": "library", "bom-ref": part.package, "name": part.name,
             "licenses": [licence_entry(part.licence)], "properties": [{"name": "deadrank:linked", "value": how}]}
    if version:
        entry["version"] = version
        entry["purl"] = f"pkg:deb/debian/{part.package}@{quote(version, safe='')}"
    if linked:
        entry["components"] = [
            {"type": "file", "name": archive.name,
             "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(archive.read_bytes()).hexdigest()}]}
            for archive in linked]
    return entry


def sbom(version: str, archives: list[Path]) -> str:
    """`archives`: those that are linked; without any, libraries are shared. SystemExit if one is of no part."""
    known = {library for part in PARTS for library in part.libraries}
    strange = [archive.name for archive in archives if library_of(archive) not in known]
    if strange:
        raise SystemExit(f"{', '.join(strange)}: add a row to cmake/parts.py, with the licence")
    components = [component(part, archives) for part in PARTS]
    return json.dumps({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": "deadrank", "name": "deadrank",
                                   "version": version, "licenses": [licence_entry("Apache-2.0")]}},
        "components": components,
        "dependencies": [{"ref": "deadrank", "dependsOn": [one["bom-ref"] for one in components]},
                         *({"ref": one["bom-ref"]} for one in components)],
    }, indent=2, ensure_ascii=False) + "\n"


def licences() -> str:
    """The words of those whose code is in the programs."""
    texts = ["The programs contain code of others. What their Debian packages say of it:\n"]
    for part in PARTS:
        file = Path("/usr/share/doc") / part.package / "copyright"
        if file.exists():
            texts.append(f"\n==== {part.name} ({part.package})\n\n{file.read_text(errors='replace')}")
    return "".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / SBOM).write_text(sbom(arguments.version, []))
    (arguments.out / LICENCES).write_text(licences())


if __name__ == "__main__":
    main()
