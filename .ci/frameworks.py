#!/usr/bin/env python3
# .ci/frameworks.py — Plays the bugs of runners/backends/local/reactions.toml against the frameworks named
# there, --runs times each, and compares how each reacted. An unknown outcome is skipped, never passed.
# --lines DIR keeps the results: a second call plays only what is missing.
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
WHEN = ("before", "after")  # an answer is known before its run, or was set after one was seen


def read_reactions(file):
    """{(bug, subject): (the responses that agree, "before" or "after")}"""
    pairs = {}
    for bug, by_when in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for when, known in by_when.items():
            if when not in WHEN:
                sys.exit(f"{file}: [\"{bug}\".{when}] is neither of {', '.join(WHEN)}")
            for subject, responses in known.items():
                if (bug, subject) in pairs:
                    sys.exit(f"{file}: '{subject}' stands twice under '{bug}': leave one out")
                pairs[bug, subject] = (responses, when)
    return pairs


def bugs_by_subject(pairs):
    """{"fsdp2": [bug, …], "data_parallel --debug detail": […]}"""
    bugs = {}
    for bug, subject in pairs:
        bugs.setdefault(subject, []).append(bug)
    return bugs


def scenario_of(bug):
    return bug if "/" in bug else f"scenarios/frameworks/{bug}.toml"


def file_of(lines, subject):
    return lines / (subject.replace(" --", "-").replace(" ", "-") + ".jsonl")


def read_lines(file):
    """Lines of an earlier run, which may have been killed in the middle of one."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def key_of(bug):
    return bug.rsplit("/", maxsplit=1)[-1]


def seen_runs(file):
    """{(bug, run): its line}: the last that tells something, else the last."""
    seen = {}
    for case in read_lines(file):
        key = key_of(case["scenario"]), case.get("run", 1)
        if case.get("stood") or key not in seen:
            seen[key] = case
    return seen


def play(program, subject, bugs, file, run, jobs):
    """Appends to the file, each line with its run's number. What was told already is not played again."""
    told = {bug for (bug, number), case in seen_runs(file).items() if number == run and case.get("stood")}
    missing = [scenario_of(bug) for bug in bugs if key_of(bug) not in told]
    if not missing:
        return
    command = [program, "run", *missing, "--runner", "local", "--no-heal", "--json"]
    command += ["--jobs", str(jobs), *shlex.split(f"--subject {subject}")]
    command += [] if "--ranks" in command else ["--ranks", "2"]
    torn = file.exists() and not file.read_bytes().endswith(b"\n")
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as played, \
            file.open("a", encoding="utf-8") as out:
        out.write("\n" if torn else "")
        for line in played.stdout:
            if line.endswith("}\n"):
                out.write(json.dumps(json.loads(line) | {"run": run}, ensure_ascii=False) + "\n")
                out.flush()


def tally(responses):
    """["hang", "clear_error", "hang"] → "clear_error 1, hang 2"; of one kind the word alone."""
    kinds = sorted(set(responses))
    return kinds[0] if len(kinds) == 1 else ", ".join(f"{kind} {responses.count(kind)}" for kind in kinds)


def judged(cases, runs, subject, bug, known):
    """One cell: it agrees where each of its runs is among the known, and none is missing."""
    name = f"Frameworks.{bug}.{subject}"
    told = [case["stood"] for case in cases if case and case.get("stood")]
    if not told:
        case = next((case for case in cases if case), {})
        return junit.skipped(name, "could not be told: " + (case.get("untold") or case.get("reason")
                                                            or "it was not played"))
    responses = [stood["response"] for stood in told]
    said = tally(responses) + ": " + "; ".join(dict.fromkeys(stood["says"] for stood in told))
    if known and not set(responses) <= set(known):
        return junit.failed(name, said, f"known is {' or '.join(known)}, seen was {said}")
    if not known:
        return junit.skipped(name, f"not known before: {tally(responses)}")
    if len(told) < runs:
        return junit.skipped(name, f"{len(told)} of {runs} runs were told: {tally(responses)}")
    return junit.passed(name, said)


def judge_all(pairs, lines, runs):
    cases = []
    for subject, bugs in bugs_by_subject(pairs).items():
        seen = seen_runs(file_of(lines, subject))
        for bug in bugs:
            of_bug = [seen.get((key_of(bug), run)) for run in range(1, runs + 1)]
            cases.append(judged(of_bug, runs, subject, bug, pairs[bug, subject][0]))
    return junit.suite("frameworks", cases)


def options_of():
    parser = argparse.ArgumentParser(description="Frameworks under injected faults, against known reactions.")
    parser.add_argument("program", help="deadrank")
    parser.add_argument("--runs", type=int, default=3, help="runs a cell [3]")
    parser.add_argument("--table", type=pathlib.Path, help="the table, into a file or its place on a page")
    summary = {"type": pathlib.Path, "nargs": "*", "default": []}
    parser.add_argument("--summary", **summary, help="a row a framework, likewise, on each of these pages")
    parser.add_argument("--junit", type=pathlib.Path, help="write what agreed and what did not")
    parser.add_argument("--lines", type=pathlib.Path, help="directory of the runs' lines, kept")
    parser.add_argument("--only", nargs="*", default=[], help="these subjects")
    parser.add_argument("--bugs", nargs="*", default=[], help="these bugs")
    parser.add_argument("--reactions", type=pathlib.Path, default=LOCAL / "reactions.toml", help="known ones")
    parser.add_argument("--jobs", type=int, default=3, help="runs at once [3]: most of them wait")
    parser.add_argument("--judge", action="store_true", help="play nothing, judge the lines")
    return parser.parse_args()


def play_all(options, pairs, lines):
    """The first run of all cells before the second of any: a play that is stopped has a whole table."""
    for run in range(1, options.runs + 1):
        for subject, bugs in bugs_by_subject(pairs).items():
            play(options.program, subject, bugs, file_of(lines, subject), run, options.jobs)


def write_pages(options, pairs, lines, scratch):
    """From each file's whole lines, and with each when its answer was written down."""
    known = {(key_of(bug), subject): when for (bug, subject), (_, when) in pairs.items()}
    for subject in bugs_by_subject(pairs):
        cases = read_lines(file_of(lines, subject))
        texts = [json.dumps(case | {"known": known.get((key_of(case["scenario"]), subject), "")},
                            ensure_ascii=False) + "\n" for case in cases]
        if texts:
            file_of(scratch, subject).write_text("".join(texts), encoding="utf-8")
    files = sorted(scratch.glob("*.jsonl"), key=lambda file: -len(read_lines(file)))  # most bugs met first
    for option, page in (("--table", options.table), *(("--summary", page) for page in options.summary)):
        if page and files:
            command = [options.program, "report", "resilience", *files, option, page.resolve()]
            subprocess.run(command, cwd=ROOT, check=False)


def main():
    options = options_of()
    every = read_reactions(options.reactions)
    pairs = {(bug, subject): known for (bug, subject), known in every.items()
             if (not options.only or subject in options.only) and (not options.bugs or bug in options.bugs)}
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as pages:
        lines = options.lines or pathlib.Path(scratch)
        lines.mkdir(parents=True, exist_ok=True)
        if not options.judge:
            play_all(options, pairs, lines)
        suite = judge_all(pairs, lines, options.runs)
        write_pages(options, every, lines, pathlib.Path(pages))
    junit.tell(suite)
    if options.junit and len(suite):
        junit.write(suite, options.junit)
    agreed, failed = junit.count(suite, "run"), junit.count(suite, "fail")
    bugs = {case.get("name").split(".")[1] for case in suite if case.get("status") != "disabled"}
    told = f"{len(bugs)} bugs, {agreed + failed} cells of {options.runs} runs told"
    print(f"{told}: {agreed} agree, {failed} differ; {len(suite) - agreed - failed} not told in every run")
    return 1 if failed or not agreed else 0


if __name__ == "__main__":
    sys.exit(main())
