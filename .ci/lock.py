#!/usr/bin/env python3
# .ci/lock.py — Writes .ci/locks/*.txt: every Python package that ./dev fetches, at its version, with the hashes of its
# files. pip installs from them with --require-hashes, so that a file that the index exchanged is refused.
"""usage: lock.py [NAME…]: asks the package index; run it after a change of a list that it names"""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / "runners/backends/local"
PYTHONS = ["3.11", "3.12", "3.13"]  # of the systems on which these lists are installed

# What pip is asked for, and whether with what it needs.
ASKED = {
    "torch": (["-r", LOCAL / "requirements.txt", "-c", LOCAL / "constraints.txt"], False),
    "newer_torch": (["torch==2.15.0", "nvidia-nvshmem-cu13==3.7.2"], False),
    "frameworks": (["-r", LOCAL / "requirements-frameworks.txt"], False),
    "tools": (["gpucm==0.0.2", "traincheck-lint==0.1.0", "httpx", "langchain-core", "numpy"], True),
    "resiliency_extension": (["nvidia-resiliency-ext==0.7.0", "--platform", "manylinux_2_39_x86_64"], False),
    "clients": (["mcp==2.3.0", "opentelemetry-proto==1.45.2", "pre-commit==4.7.0", "check-jsonschema==0.39.0"], True),
    "nccl": (["nvidia-nccl-cu12==2.21.5"], False),
}


def files_of(asked: list, needs: bool, python: str) -> dict[str, str]:
    """name==version: hash, as pip would choose for this Python; none where it cannot."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        said = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", report,
             "--only-binary=:all:" if needs else "--no-deps", *asked, "--python-version", python, "--target", scratch],
            check=False, capture_output=True, text=True)
        if said.returncode != 0:
            print(f"  not for Python {python}: {said.stderr.strip().splitlines()[0]}", file=sys.stderr)
            return {}
        return {f"{one['metadata']['name'].lower().replace('_', '-')}=={one['metadata']['version']}":
                one["download_info"]["archive_info"]["hashes"]["sha256"]
                for one in json.loads(report.read_text())["install"]}


def main() -> None:
    for name in sys.argv[1:] or ASKED:
        asked, needs = ASKED[name]
        hashes: dict[str, set[str]] = {}
        pythons: dict[str, list[str]] = {}
        able = []
        for python in PYTHONS:
            files = files_of(asked, needs, python)
            able += [python] if files else []
            for pin, digest in files.items():
                hashes.setdefault(pin, set()).add(digest)
                pythons.setdefault(pin, []).append(python)
        lines = [f"# .ci/locks/{name}.txt — Written by .ci/lock.py."]
        for pin in sorted(hashes):
            where = " or ".join(f'python_version == "{python}"' for python in pythons[pin])
            lines.append(" ".join([pin, *([f"; {where}"] if pythons[pin] != able else []),
                                   *(f"--hash=sha256:{digest}" for digest in sorted(hashes[pin]))]))
        (ROOT / ".ci/locks" / f"{name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{name}: {len(hashes)} packages", file=sys.stderr)


if __name__ == "__main__":
    main()
