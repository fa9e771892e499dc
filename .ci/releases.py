#!/usr/bin/env python3
# .ci/releases.py — Plays every bug of a published release once, and writes which of them were seen to
# happen, as ctest's JUnit. What cannot be had here is skipped; that no detector noticed a bug is no failure
# here.
import argparse
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ET

ABSENT = ("is not on this machine", "is not pinned", "can import torch")


def judged(row):
    name = row["scenario"].rsplit("/", maxsplit=1)[-1]
    case = ET.Element("testcase", name=f"Releases.{name}", status="run")
    said = ET.SubElement(case, "system-out")
    if row["seen"]:
        said.text = f"seen; noticed: {row['noticed']}"
    elif any(words in row["why"] for words in ABSENT):
        case.set("status", "disabled")
        ET.SubElement(case, "skipped", message="SKIP_" + row["why"])
        said.text = f": Skipped\n{row['why']}"
    else:
        case.set("status", "fail")
        ET.SubElement(case, "failure").text = row["why"]
    return case


def main():
    parser = argparse.ArgumentParser(description="Bugs of published releases: is each seen to happen?")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the runs, kept")
    parser.add_argument("--junit", type=pathlib.Path, required=True, help="what was seen and what was not")
    options = parser.parse_args()
    play = [options.program, "run", "--releases", "--no-heal", "--quiet", "--out", str(options.out)]
    subprocess.run(play, check=False)
    ask = [options.program, "releases", "--runs", str(options.out), "--json"]
    lines = subprocess.run(ask, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    suite = ET.Element("testsuite", name="releases")
    suite.extend(judged(json.loads(line)) for line in lines)
    ET.ElementTree(suite).write(options.junit, encoding="utf-8")
    for case in suite:
        said = case.findtext("failure") or case.findtext("system-out")
        print(f"{case.get('status'):9} {case.get('name')}: {said}")
    return 1 if any(case.get("status") == "fail" for case in suite) else 0


if __name__ == "__main__":
    sys.exit(main())
