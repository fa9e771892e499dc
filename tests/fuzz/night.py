#!/usr/bin/env python3
# tests/fuzz/night.py — Plays the fuzz targets one after another and prints a table of what each was given.
"""usage: night.py BUILD [TARGET…] [--seconds N] [--runs N] [--jobs N] [--corpus DIRECTORY] [--lines FILE]

BUILD is a build directory of the preset fuzz with the target `fuzzers`. What the targets learn is kept in
BUILD/corpus/TARGET, with which the next night begins; an input that breaks a promise is kept in BUILD/finds. With
--lines each row is also appended to a file as JSON, and --sum FILE prints the table of all its rows.
Exit code: 0 no promise broke, 1 otherwise."""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
MEMORY = 2048  # MiB of one target; a reader that takes more is a find
PATIENCE = 10  # seconds for one input; likewise
LONGEST = 4096  # bytes of an input: what readers do with larger ones, their own tests ask


def seeds_of(target: str) -> list[Path]:
    files = []
    for line in (HERE / "seeds.txt").read_text().splitlines():
        name, *where = line.split()
        if name == target:
            place, ending = SOURCE / where[0], where[1] if len(where) > 1 else ""
            files += sorted(place.rglob(f"*{ending}")) if place.is_dir() else [place]
    return files


def play(target: str, arguments) -> dict:
    """Runs one target, and returns its row of the table."""
    grown = arguments.corpus / target
    seeds, finds = arguments.build / "seeds" / target, arguments.build / "finds"
    for directory in (grown, seeds, finds):
        directory.mkdir(parents=True, exist_ok=True)
    for number, file in enumerate(seeds_of(target)):
        (seeds / str(number)).write_bytes(file.read_bytes())
    places = [grown, seeds, *(place for place in [HERE / "corpus" / target] if place.is_dir())]
    words = HERE / f"{target}.dict"
    command = ["nice", arguments.build / "tests/fuzz" / f"{target}_fuzz", f"-rss_limit_mb={MEMORY}",
               f"-timeout={PATIENCE}", f"-max_len={LONGEST}", "-print_final_stats=1",
               f"-artifact_prefix={finds}/{target}-", f"-max_total_time={arguments.seconds}",
               *([f"-runs={arguments.runs}"] if arguments.runs else []),
               *([f"-dict={words}"] if words.exists() else []), *places]
    log = arguments.build / "finds" / f"{target}.log"
    with log.open("w") as out:
        code = subprocess.run(command, cwd=SOURCE, stdout=subprocess.DEVNULL, stderr=out, check=False).returncode
    said = log.read_text(errors="replace")
    final = dict(re.findall(r"stat::(\w+):\s+(\d+)", said))
    last = re.findall(r"#(\d+)\s.*\bcov: (\d+) ft: (\d+)", said)
    executions = int(final.get("number_of_executed_units", last[-1][0] if last else 0))
    return {"target": target, "executions": executions, "per_second": int(final.get("average_exec_per_sec", 0)),
            "branches": int(last[-1][1]) if last else 0, "finds": int(code != 0),
            "peak_mb": int(final.get("peak_rss_mb", 0))}


def table(rows: list[dict]) -> str:
    """One row a target: executions and finds added up, the most branches."""
    targets: dict[str, dict] = {}
    for row in rows:
        into = targets.setdefault(row["target"], {**row, "executions": 0, "finds": 0})
        into["executions"] += row["executions"]
        into["finds"] += row["finds"]
        for most in ("branches", "peak_mb", "per_second"):
            into[most] = max(into[most], row[most])
    lines = ["| target | executions | a second | branches reached | peak, MiB | stops |", "|---|---|---|---|---|---|"]
    for name in sorted(targets):
        row = targets[name]
        lines.append(f"| {name} | {row['executions']:,} | {row['per_second']:,} | {row['branches']:,} | "
                     f"{row['peak_mb']:,} | {row['finds']} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--runs", type=int, default=0, help="executions of each target at most; 0 = no bound")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time")
    parser.add_argument("--corpus", type=Path, help="where to keep what was learnt")
    parser.add_argument("--lines", type=Path)
    parser.add_argument("--sum", type=Path)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    arguments.corpus = (arguments.corpus or arguments.build / "corpus").resolve()
    if arguments.sum:
        print(table([json.loads(line) for line in arguments.sum.read_text().splitlines()]))
        return 0
    built = sorted(file.name.removesuffix("_fuzz") for file in (arguments.build / "tests/fuzz").glob("*_fuzz"))
    targets = arguments.targets or built
    if not targets or set(targets) - set(built):
        print(f"{arguments.build} has {', '.join(built) or 'no fuzz target'}: cmake --preset fuzz, then ninja -C "
              f"{arguments.build} fuzzers", file=sys.stderr)
        return 64
    rows = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as at_once:
        for row in at_once.map(lambda target: play(target, arguments), targets):
            rows.append(row)
            if arguments.lines:
                with arguments.lines.open("a") as out:
                    print(json.dumps(row), file=out)
            if row["finds"]:
                print(f"{row['target']}: see {arguments.build}/finds/{row['target']}.log", file=sys.stderr)
    print(table(rows))
    return int(any(row["finds"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
