#!/usr/bin/env python3
# .ci/promises.py — Plays the promises of fault-tolerant frameworks, and compares each cell with the known one
# (runners/promises/known.toml): a broken promise is a finding, a changed cell is a failure.
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib

import junit

ROOT = pathlib.Path(__file__).resolve().parent.parent


def play(program, arguments, lines):
    """One line of JSON per cell, and the sentences about subjects that could not be played."""
    words = [program, "promises", "--prepare", "--json", *arguments]
    with open(lines, "w", encoding="utf-8") as out:
        done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    print(done.stderr, end="", flush=True)
    return done.returncode


def judged(cell, known):
    name = f"Promises.{cell['subject']}.{cell['fault']}"
    said = f"{cell['cell']}: {cell['why']} {cell['measured']}"
    if cell["cell"] == "unknown":
        return junit.skipped(name, f"could not be told: {cell['why']}")
    if not known:
        return junit.skipped(name, f"not known before: {said}")
    if cell["cell"] not in known:
        return junit.failed(name, said, f"known is {' or '.join(known)}, seen was {said}")
    return junit.passed(name, said)


def main():
    parser = argparse.ArgumentParser(description="Promises of frameworks under faults, against known cells.")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--junit", type=pathlib.Path, required=True)
    parser.add_argument("--lines", type=pathlib.Path, required=True)
    parser.add_argument("--judge", action="store_true", help="play nothing, judge the lines")
    options, rest = parser.parse_known_args()
    known = tomllib.loads((ROOT / "runners/promises/known.toml").read_text(encoding="utf-8"))
    if not options.judge and play(options.program, rest, options.lines) == 64:
        return 64
    cells = [json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]
    suite = junit.suite("promises", (judged(cell, known.get(cell["subject"], {}).get(cell["fault"], []))
                                     for cell in cells if cell["cell"] != "not_promised"))
    junit.write(suite, options.junit)
    kept, differ = junit.count(suite, "run"), junit.count(suite, "fail")
    print(f"{kept} as known, {differ} differ, {junit.count(suite, 'disabled')} not told")
    return 1 if differ or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
