#!/usr/bin/env python3
# .ci/tally.py — Counts tests in ctest's JUnit files, with the reasons for skips; compares trace hashes. The
# last line is for machines. It is a failure if nothing counts as run.
import argparse
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ET


def outcome(case):
    status = case.get("status", "")
    if status == "run":
        return "passed"
    skipped = case.find("skipped")
    reason = skipped.get("message", "") if skipped is not None else ""
    if status in ("notrun", "disabled") and (status == "disabled" or reason.startswith("SKIP_")):
        return "skipped"
    return "failed"  # includes a test whose program could not be started


def skip_reason(case):
    text = case.findtext("system-out") or ""
    found = re.search(r"(?:: Skipped\n|^skipped: )(.*)", text, re.MULTILINE)  # GoogleTest's, and a script's
    return found.group(1).strip() if found and found.group(1).strip() else "no reason given"


def last_words(case, lines=40):
    """The output of a failed test without GoogleTest's framing; only its end if it is long."""
    frame = re.compile(r"\[[-= A-Z]{10}\]|Running main\(\)|Note: Google Test filter|\s*$|\s*\d+ FAILED TEST")
    text = (case.findtext("system-out") or "") + (case.findtext("failure") or "")
    said = [line for line in text.splitlines() if not frame.match(line)]
    return ["…"] + said[-lines:] if len(said) > lines else said


def tally(directory, seconds):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    reasons, failed = {}, []
    for file in sorted(pathlib.Path(directory).glob("*.xml")):
        for case in ET.parse(file).getroot().iter("testcase"):
            kind = outcome(case)
            counts[kind] += 1
            if kind == "skipped":
                reasons.setdefault(skip_reason(case), []).append(case.get("name"))
            elif kind == "failed":
                failed.append(case)
    for reason, names in sorted(reasons.items()):
        some = ", ".join(names[:4]) + (" …" if len(names) > 4 else "")
        print(f"skipped: {some} ({len(names)}): {reason}")
    for case in failed:
        name = case.get("name")
        print(f"\nfailed: {name}    again with: ./dev test --only '^{re.escape(name)}$'")
        print("\n".join("  " + line for line in last_words(case)))
    if seconds:
        print(f"{seconds} s in all")
    if counts["passed"] + counts["failed"] == 0:
        print("no test ran")
        counts["failed"] += 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", flush=True)
    return 1 if counts["failed"] else 0


def hashes(file):
    """(scenario, seed) → trace hash, from the lines of `deadrank run --json`; other lines are ignored."""
    found = {}
    for line in pathlib.Path(file).read_text(errors="replace").splitlines():
        if line.startswith("{"):
            try:
                run = json.loads(line)
                found[f"{run['scenario']} seed {run['seed']}"] = str(run["trace_hash"])
            except (ValueError, KeyError):
                pass
    return found


def difference(reference, other):
    left, right = hashes(reference), hashes(other)
    text = pathlib.Path(other).read_text(errors="replace")
    trouble = re.search(r".*(runtime error:|(ERROR|WARNING): \w+Sanitizer|CHECK failed).*", text)
    if trouble:
        return trouble.group(0)[:300]
    if not left or not right:
        return f"no trace hash in {reference if not left else other}: {text.strip()[-300:]}"
    for key in sorted(left.keys() | right.keys()):
        if left.get(key) != right.get(key):
            return f"{key}: {left.get(key)} by the product, {right.get(key)} in {pathlib.Path(other).stem}"
    return None


def compare(reference, other, junit, name):
    problem = difference(reference, other)
    case = ET.Element("testcase", name=name, status="fail" if problem else "run")
    if problem:
        ET.SubElement(case, "failure").text = problem
        print(f"{name}: {problem}")
    else:
        print(f"  {name}: {len(hashes(other))} trace hashes equal")
    suite = ET.Element("testsuite", name="builds")
    suite.append(case)
    ET.ElementTree(suite).write(junit, encoding="utf-8", xml_declaration=True)
    return 1 if problem else 0


def main():
    parser = argparse.ArgumentParser(description="Counts tests, or compares the trace hashes of two builds.")
    parser.add_argument("directory", nargs="?", help="where ctest's JUnit files lie")
    parser.add_argument("--seconds", default="")
    parser.add_argument("--compare", nargs=2, metavar=("REFERENCE", "OTHER"))
    parser.add_argument("--junit")
    parser.add_argument("--name")
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare, options.junit, options.name)
    return tally(options.directory, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
