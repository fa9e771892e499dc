#!/usr/bin/env python3
# .ci/frameworks.py — Plays every bug of the resilience table against every framework, once, and compares how
# each stood it with runners/local/reactions.toml. What could not be told is skipped, never passed.
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUBJECTS = ("ddp", "fsdp2", "torch_pipeline", "deepspeed_zero2", "deepspeed_zero3", "megatron_tp")
CATALOGUED = (
    "initialization/rank_variable_missing_on_one_process",
    "communication/dead_process_seen_as_timeout",
)


def bugs():
    own = sorted((ROOT / "runners" / "local" / "bugs").glob("*.toml"))
    return [*CATALOGUED, *(str(file.relative_to(ROOT)) for file in own)]


def command(program, table):
    words = [program, "run", *bugs(), "--runner", "local", "--ranks", "2", "--no-heal"]
    words += ["--jobs", "2", "--json"]
    for subject in SUBJECTS:
        words += ["--subject", subject]
    return words + (["--table", str(table)] if table else [])


def known_of(reactions, scenario, subject):
    """The responses that agree, or None where nobody has seen this pair before."""
    name = scenario.rsplit("/", maxsplit=1)[-1]
    for bug, by_subject in reactions.items():
        if pathlib.Path(bug).stem == name:
            return by_subject.get(subject, by_subject.get("*"))
    return None


def judged(case, reactions):
    """A JUnit test case, in the form of ctest's."""
    subject = case["subject"]["name"] or "?"
    element = ET.Element("testcase", name=f"Frameworks.{case['scenario']}.{subject}", status="run")
    known = known_of(reactions, case["scenario"], subject)
    stood = case.get("stood")
    said = ET.SubElement(element, "system-out")
    if stood is None or known is None:
        element.set("status", "disabled")
        why = "could not be told on this machine" if stood is None else "no reaction is known yet"
        ET.SubElement(element, "skipped", message="SKIP_" + why)
        said.text = f": Skipped\n{why}"
        return element
    said.text = f"{stood['response']}: {stood['says']}"
    if stood["response"] not in known:
        element.set("status", "fail")
        ET.SubElement(element, "failure").text = f"known is {' or '.join(known)}, seen was {said.text}"
    return element


def main():
    parser = argparse.ArgumentParser(description="Frameworks under injected faults, against known reactions.")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--table", type=pathlib.Path, help="the table, into a file or its place on a page")
    parser.add_argument("--junit", type=pathlib.Path, help="write what agreed and what did not")
    parser.add_argument("--from-json", type=pathlib.Path, help="judge the lines of an earlier run instead")
    options = parser.parse_args()
    reactions = tomllib.loads((ROOT / "runners" / "local" / "reactions.toml").read_text(encoding="utf-8"))
    if options.from_json:
        lines = options.from_json.read_text(encoding="utf-8")
    else:
        played = subprocess.run(
            command(options.program, options.table), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        lines = played.stdout
    suite = ET.Element("testsuite", name="frameworks")
    suite.extend(judged(json.loads(line), reactions) for line in lines.splitlines() if line.startswith("{"))
    for case in suite:
        said = case.findtext("failure") or case.findtext("system-out")
        print(f"{case.get('status'):9} {case.get('name')}: {said}")
    if options.junit and len(suite):
        ET.ElementTree(suite).write(options.junit, encoding="utf-8")
    agreed = sum(case.get("status") == "run" for case in suite)
    failed = sum(case.get("status") == "fail" for case in suite)
    print(f"{agreed} agree, {failed} differ, {len(suite) - agreed - failed} not told")
    return 1 if failed or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
