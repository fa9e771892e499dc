#!/usr/bin/env python3
# .ci/frameworks.py — Plays the bugs of runners/backends/local/reactions.toml once against the frameworks
# named there, and compares how each reacted. An unknown outcome is skipped, never passed. --lines DIR keeps
# the results: a second call plays only what is missing.
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import tomllib

import junit

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOCAL = ROOT / "runners" / "backends" / "local"


def scenario_of(bug):
    return bug if "/" in bug else f"scenarios/frameworks/{bug}.toml"


def pairs_by_subject(reactions):
    """{"fsdp2": [bug, …], "data_parallel --debug detail": […]}"""
    bugs = {}
    for bug, known in reactions.items():
        for subject in known:
            bugs.setdefault(subject, []).append(bug)
    return bugs


def file_of(lines, subject):
    return lines / (subject.replace(" --", "-").replace(" ", "-") + ".jsonl")


def read_lines(file):
    """Lines of an earlier run, which may have been killed in the middle of one."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def key_of(bug):
    return bug.rsplit("/", maxsplit=1)[-1]


def play(program, subject, bugs, file, jobs):
    """Appends to the file. Bugs with an outcome are not played again."""
    told = {key_of(case["scenario"]) for case in read_lines(file) if case.get("stood")}
    missing = [scenario_of(bug) for bug in bugs if key_of(bug) not in told]
    if not missing:
        return
    command = [program, "run", *missing, "--runner", "local", "--no-heal", "--json"]
    command += ["--jobs", str(jobs), *shlex.split(f"--subject {subject}")]
    command += [] if "--ranks" in command else ["--ranks", "2"]
    with file.open("a", encoding="utf-8") as out:
        subprocess.run(command, cwd=ROOT, stdout=out, check=False)


def judged(case, subject, bug, known):
    name, stood = f"Frameworks.{bug}.{subject}", case.get("stood") if case else None
    if stood is None:
        untold = (case or {}).get("untold") or (case or {}).get("reason") or "it was not played"
        return junit.skipped(name, f"could not be told: {untold}")
    if not known:
        return junit.skipped(name, f"not known before: {stood['response']}")
    said = f"{stood['response']}: {stood['says']}"
    if stood["response"] not in known:
        return junit.failed(name, said, f"known is {' or '.join(known)}, seen was {said}")
    return junit.passed(name, said)


def judge_all(reactions, lines):
    cases = []
    for subject, bugs in pairs_by_subject(reactions).items():
        seen = {}
        for case in read_lines(file_of(lines, subject)):  # the last line with an outcome counts
            if case.get("stood") or key_of(case["scenario"]) not in seen:
                seen[key_of(case["scenario"])] = case
        for bug in bugs:
            cases.append(judged(seen.get(key_of(bug)), subject, bug, reactions[bug][subject]))
    return junit.suite("frameworks", cases)


def main():
    parser = argparse.ArgumentParser(description="Frameworks under injected faults, against known reactions.")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--table", type=pathlib.Path, help="the table, into a file or its place on a page")
    summary = {"type": pathlib.Path, "nargs": "*", "default": []}
    parser.add_argument("--summary", **summary, help="a row a framework, likewise, on each of these pages")
    parser.add_argument("--junit", type=pathlib.Path, help="write what agreed and what did not")
    parser.add_argument("--lines", type=pathlib.Path, help="directory of the runs' lines, kept")
    parser.add_argument("--only", nargs="*", default=[], help="these subjects")
    parser.add_argument("--jobs", type=int, default=3, help="runs at once [3]: most of them wait")
    parser.add_argument("--judge", action="store_true", help="play nothing, judge the lines")
    options = parser.parse_args()
    reactions = tomllib.loads((LOCAL / "reactions.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        lines = options.lines or pathlib.Path(scratch)
        lines.mkdir(parents=True, exist_ok=True)
        for subject, bugs in pairs_by_subject(reactions).items():
            if not options.judge and (not options.only or subject in options.only):
                play(options.program, subject, bugs, file_of(lines, subject), options.jobs)
        suite = judge_all(reactions, lines)
        files = [file_of(lines, subject) for subject in pairs_by_subject(reactions)]
        files.sort(key=lambda file: -len(read_lines(file)))  # the one with most bugs comes first
        files = [str(file) for file in files if file.exists()]
        for option, page in (("--table", options.table), *(("--summary", page) for page in options.summary)):
            if page and files:
                words = [options.program, "resilience", *files, option, str(page)]
                subprocess.run(words, cwd=ROOT, check=False)
    junit.tell(suite)
    if options.junit and len(suite):
        junit.write(suite, options.junit)
    agreed, failed = junit.count(suite, "run"), junit.count(suite, "fail")
    bugs = {case.get("name").split(".")[1] for case in suite if case.get("status") != "disabled"}
    told = f"{len(bugs)} bugs, {agreed + failed} runs told"
    print(f"{told}: {agreed} agree, {failed} differ; {len(suite) - agreed - failed} not told")
    return 1 if failed or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
