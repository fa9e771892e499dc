#!/usr/bin/env python3
# .ci/releases.py — Plays every bug of a published release once, and writes which were seen to happen, in
# ctest's JUnit format. What this machine cannot fetch is skipped; a bug that no detector noticed is no
# failure here.
import argparse
import json
import pathlib
import subprocess
import sys

import junit

ABSENT = ("is not on this machine", "is not pinned", "can import torch")


def judged(row):
    name = "Releases." + row["scenario"].rsplit("/", maxsplit=1)[-1]
    if row["seen"]:
        return junit.passed(name, f"seen; noticed: {row['noticed']}")
    if any(words in row["why"] for words in ABSENT):
        return junit.skipped(name, row["why"])
    return junit.failed(name, "not seen", row["why"])


def main():
    parser = argparse.ArgumentParser(description="Bugs of published releases: is each seen to happen?")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the runs, kept")
    parser.add_argument("--junit", type=pathlib.Path, required=True, help="what was seen and what was not")
    options = parser.parse_args()
    play = [options.program, "run", "--releases", "--no-heal", "--quiet", "--out", str(options.out)]
    subprocess.run(play, check=False)
    ask = [options.program, "report", "releases", "--runs", str(options.out), "--json"]
    lines = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    suite = junit.suite("releases", (judged(json.loads(line)) for line in lines))
    junit.write(suite, options.junit)
    junit.tell(suite)
    return 1 if junit.count(suite, "fail") else 0


if __name__ == "__main__":
    sys.exit(main())
