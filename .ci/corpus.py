#!/usr/bin/env python3
# .ci/corpus.py — Tests `deadrank diagnose` on logs of known truth, and writes the table of results. The
# format of the truths is in results/diagnosis/README.md. Halves are drawn by a hash of the log's name.
# With --beside it prints each answer beside the last traceback of its log instead.
import argparse
import bz2
import gzip
import hashlib
import itertools
import json
import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

OUTCOMES = ("failed", "stopped", "completed", "open")
HALVES = ("building", "unseen")
TABLE = re.compile(r"(<!-- table of the corpus -->\n).*?(<!-- end of the table -->)", re.S)
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
SOUNDS_BAD = re.compile(r"error|exception|fail|abort|killed|cancelled|timed? ?out", re.I)


def half_of(name):
    return HALVES[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def read_truths(file):
    truths = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 5:
            sys.exit(f"{file}:{number}: five fields are wanted, parted by tabs; here are {len(fields)}")
        name, *lists = fields
        outcome, symptoms, ranks, causes = ([] if one == "-" else one.split(",") for one in lists)
        if not outcome or any(one not in OUTCOMES for one in outcome):
            sys.exit(f"{file}:{number}: the outcome is one of {', '.join(OUTCOMES)}")
        truths[name] = {"outcome": outcome, "symptoms": symptoms, "causes": causes,
                        "ranks": [int(rank) for rank in ranks]}
    return truths


def told_about(deadrank, log):
    run = subprocess.run([deadrank, "diagnose", "--json", str(log)], capture_output=True, text=True)
    try:
        answer = json.loads(run.stdout)
    except ValueError:
        return {"outcome": "refused", "symptom": "", "ranks": [], "causes": [], "why": run.stderr.strip()}
    finding = answer.get("finding") or {}
    return {"outcome": answer["outcome"], "symptom": finding.get("symptom", ""),
            "ranks": finding.get("blame", {}).get("ranks", []),
            "causes": [cause["cause"] for cause in answer.get("causes", [])],
            "why": finding.get("says", "")}


def text_of(log):
    data = log.read_bytes()
    for magic, unpack in ((b"\x1f\x8b", gzip), (b"\xfd7zXZ", lzma), (b"BZh", bz2)):
        if data.startswith(magic):
            data = unpack.decompress(data)
    return data.decode("utf-8", "replace")


def last_words(text):
    """The last traceback, up to its exception; without one, the last line that looks like an error."""
    lines = [line for line in re.split(r"[\r\n]+", COLOURS.sub("", text)) if line.strip()]
    begins = [i for i, line in enumerate(lines) if "Traceback (most recent call last)" in line]
    if not begins:
        return "".join(line + "\n" for line in [one for one in lines if SOUNDS_BAD.search(one)][-1:])
    end = begins[-1] + 1
    while end < len(lines) and not re.search(r"(^|[\s\]:])[\w.]*(Error|Exception|Interrupt)\b", lines[end]):
        end += 1
    return "\n".join(lines[begins[-1]:end + 1]) + "\n"


def points(told, truth):
    right = 0
    if truth["symptoms"]:
        right += told["symptom"] in truth["symptoms"]
    if truth["ranks"]:
        right += right_rank(told, truth)
    if truth["causes"]:
        right += any(cause in truth["causes"] for cause in told["causes"][:3])
    return right


def right_rank(told, truth):
    return bool(told["ranks"]) and set(told["ranks"]) <= set(truth["ranks"])


def held(deadrank, log, truth):
    told = told_about(deadrank, log)
    with tempfile.NamedTemporaryFile("w", suffix=".log") as file:
        file.write(last_words(text_of(log)) or "nothing\n")
        file.flush()
        alone = points(told_about(deadrank, file.name), truth)
    told["beside"] = (points(told, truth) > alone) - (points(told, truth) < alone)
    told["lines"] = sum(1 for _ in re.finditer(r"[\r\n]+", text_of(log)))
    return told


def beside(deadrank, log):
    """The answer on the left, what its reader would have without it on the right."""
    run = subprocess.run([deadrank, "diagnose", log.name], cwd=log.parent, capture_output=True, text=True)
    width = 76
    sides = [[part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]
             for text in (COLOURS.sub("", run.stdout) or run.stderr, last_words(text_of(log)) or "nothing")]
    return "\n".join(f"{left:<{width}} | {right}".rstrip()
                     for left, right in itertools.zip_longest(*sides, fillvalue=""))


def of(rows):
    right, all_of_them = sum(map(bool, rows)), len(rows)
    return f"{right} of {all_of_them}" + (f" ({100 * right / all_of_them:.0f} %)" if all_of_them > 19 else "")


def column(pairs):
    failed = [(told, truth) for told, truth in pairs if "failed" in truth["outcome"]]
    calm = [(told, truth) for told, truth in pairs if "failed" not in truth["outcome"]]
    with_cause = [(told, truth) for told, truth in failed if truth["causes"]]
    beside = [told["beside"] for told, _ in failed]
    lengths = sorted(told["lines"] for told, _ in pairs)
    return [
        ("logs", f"{len(pairs)}"),
        ("of failed jobs", f"{len(failed)}"),
        ("lines of the shortest, the middle and the longest",
         ", ".join(f"{lengths[i]:,}" for i in (0, len(lengths) // 2, -1)) if lengths else "-"),
        ("right symptom", of([told["symptom"] in truth["symptoms"] for told, truth in failed])),
        ("right rank, where the log shows it",
         of([right_rank(told, truth) for told, truth in failed if truth["ranks"]])),
        ("a right cause first", of([told["causes"][:1] and told["causes"][0] in truth["causes"]
                                    for told, truth in with_cause])),
        ("a right cause among the first three",
         of([set(told["causes"][:3]) & set(truth["causes"]) for told, truth in with_cause])),
        ("jobs that did not fail or whose log is open, told so or unknown",
         of([told["outcome"] in truth["outcome"] + ["unknown"] for told, truth in calm])),
        ("of these accused", f"{sum(told['outcome'] == 'found' for told, _ in calm)}"),
        ("failed jobs called healthy or completed",
         f"{sum(told['outcome'] in ('healthy', 'completed') for told, _ in failed)}"),
        ("failed jobs left without a symptom", f"{sum(not told['symptom'] for told, _ in failed)}"),
        ("told more, the same, less than the last traceback alone",
         ", ".join(str(beside.count(sign)) for sign in (1, 0, -1))),
    ]


def miss(told, truth):
    if "failed" not in truth["outcome"]:
        return told["outcome"] not in truth["outcome"] + ["unknown"]
    wanted = sum(bool(truth[kind]) for kind in ("symptoms", "ranks", "causes"))
    return points(told, truth) < wanted


def main():
    parser = argparse.ArgumentParser(description="Holds diagnose against logs of known truth.")
    parser.add_argument("logs", type=pathlib.Path, help="directory with the logs")
    parser.add_argument("truths", type=pathlib.Path, nargs="?",
                        help="a line for each, see results/diagnosis/README.md")
    parser.add_argument("--deadrank", default="deadrank", help="the program [deadrank]")
    parser.add_argument("--half", choices=HALVES, help="this half alone; the other is not opened")
    parser.add_argument("--misses", action="store_true", help="list what was not told as it is")
    parser.add_argument("--beside", action="store_true", help="print answers beside the last tracebacks")
    parser.add_argument("--into", type=pathlib.Path, help="replace the table in this file")
    options = parser.parse_args()
    deadrank = shutil.which(options.deadrank) or sys.exit(f"{options.deadrank} is no program")
    options.deadrank = str(pathlib.Path(deadrank).resolve())
    halves = {half: [] for half in HALVES if options.half in (None, half)}
    if options.beside:
        logs = [log for log in sorted(options.logs.iterdir()) if log.is_file() and half_of(log.name) in halves]
        return print("\n\n".join(beside(options.deadrank, log) for log in logs))
    if not options.truths:
        parser.error("truths are needed for a table")
    for name, truth in sorted(read_truths(options.truths).items()):
        if half_of(name) not in halves:
            continue
        told = held(options.deadrank, options.logs / name, truth)
        halves[half_of(name)].append((told, truth))
        if options.misses and miss(told, truth):
            print(f"{name}: {told['outcome']} {told['symptom']} of {told['ranks']}, {told['causes'][:3]}: "
                  f"{told['why'][:160]!r}; it is {truth}", file=sys.stderr)
    titles = {"building": "half the rules were made with", "unseen": "unseen half"}
    rows = [[""] + [titles[half] for half in halves], ["---"] * (1 + len(halves))]
    rows += [[row[0][0]] + [cell for _, cell in row] for row in zip(*map(column, halves.values()))]
    table = "".join("| " + " | ".join(row) + " |\n" for row in rows)
    if options.into:
        text = options.into.read_text()
        if not TABLE.search(text):
            sys.exit(f"{options.into} has no place for a table")
        options.into.write_text(TABLE.sub(lambda found: found[1] + table + found[2], text))
    else:
        print(table, end="")


if __name__ == "__main__":
    main()
