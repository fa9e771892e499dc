#!/usr/bin/env python3
# .ci/promises.py — Plays the promises of fault-tolerant frameworks, and compares each cell with the one
# that is known (runners/promises/known.toml): a framework that breaks a promise is a finding, a cell that
# changes is a failure.
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent


def play(program, arguments, lines):
    """A line of JSON a cell, and the sentences about subjects that could not be played."""
    words = [program, "promises", "--prepare", "--json", *arguments]
    with open(lines, "w", encoding="utf-8") as out:
        done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    print(done.stderr, end="", flush=True)
    return done.returncode


def judged(cell, known):
    """A JUnit test case, in the form of ctest's."""
    name = f"{cell['subject']}.{cell['fault']}"
    element = ET.Element("testcase", name=f"Promises.{name}", status="run")
    said = ET.SubElement(element, "system-out")
    said.text = f"{cell['cell']}: {cell['why']} {cell['measured']}"
    if cell["cell"] == "unknown" or not known:
        untold = cell["cell"] == "unknown"
        why = f"could not be told: {cell['why']}" if untold else f"not known before: {said.text}"
        element.set("status", "disabled")
        ET.SubElement(element, "skipped", message="SKIP_" + why)
        said.text = f": Skipped\n{why}"
    elif cell["cell"] not in known:
        element.set("status", "fail")
        ET.SubElement(element, "failure").text = f"known is {' or '.join(known)}, seen was {said.text}"
    return element


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
    suite = ET.Element("testsuite", name="promises")
    for line in options.lines.read_text(encoding="utf-8").splitlines():
        cell = json.loads(line)
        if cell["cell"] != "not_promised":
            suite.append(judged(cell, known.get(cell["subject"], {}).get(cell["fault"], [])))
    ET.ElementTree(suite).write(options.junit, encoding="utf-8")
    statuses = [case.get("status") for case in suite]
    counts = {status: statuses.count(status) for status in ("run", "fail", "disabled")}
    print(f"{counts['run']} as known, {counts['fail']} differ, {counts['disabled']} not told")
    return 1 if counts["fail"] or not counts["run"] else 0


if __name__ == "__main__":
    sys.exit(main())
