#!/usr/bin/env python3
# .ci/promises.py — Plays the promises of fault-tolerant frameworks, and compares each cell with the known one
# (runners/promises/known.toml): a broken promise is a finding, a changed cell is a failure.
import argparse
import json
import pathlib
import queue
import shutil
import subprocess
import sys
import threading
import time
import tomllib

import junit

ROOT = pathlib.Path(__file__).resolve().parent.parent


def subjects_of(program, known):
    """The names of the subjects that promise something, those first that took longest when last played: they
    would end alone. Those that cannot be played are told by the table."""
    listed = subprocess.run([program, "promises", "--list", "--json"], stdout=subprocess.PIPE, text=True,
                            cwd=ROOT, check=True).stdout
    rows = map(json.loads, listed.splitlines())
    promising = dict.fromkeys(row["subject"] for row in rows if row["cell"] != "not_promised")
    return sorted(promising, key=lambda name: -known.get(name, {}).get("seconds", float("inf")))


def play(program, arguments, lines, at_once, known):
    """One line of JSON per cell. A subject mostly waits for time-outs, so some are played at once, each by a
    process of its own: what a run leaves behind is then found below the process that started it."""
    waiting, codes = queue.Queue(), []
    for subject in subjects_of(program, known):
        waiting.put(subject)

    def play_some(place):
        while not waiting.empty():
            try:
                subject = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            words = [program, "promises", "--prepare", "--json", "--subject", subject, *arguments]
            with open(place / (subject + ".jsonl"), "w", encoding="utf-8") as out:
                done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                                      check=False)
            codes.append(done.returncode)
            told = "".join(line + "\n" for line in done.stderr.splitlines())
            print(f"{told}{subject}: {time.monotonic() - began:.0f} s", flush=True)

    place = lines.with_suffix(".parts")  # stays: what a killed play has told so far can be judged
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    threads = [threading.Thread(target=play_some, args=(place,)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines.write_text("".join(part.read_text(encoding="utf-8") for part in sorted(place.glob("*.jsonl"))),
                     encoding="utf-8")
    return max(codes)


def write_table(program, lines, table, page, seconds, at_once):
    """The table of all that was played, with the commit and how long it took."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], stdout=subprocess.PIPE, text=True,
                            cwd=ROOT, check=False).stdout.strip() or "unknown"
    about = f"At commit {commit}, {time.strftime('%Y-%m-%d', time.gmtime())}; {seconds:.0f} s in all" \
            f", {at_once} subjects at once."
    words = [program, "promises", "--from", str(lines), "--about", about, "--json"]
    for option, file in (("--table", table), ("--html", page)):
        words += [option, str(file)] if file else []
    told = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                          check=False)
    print(told.stderr, end="", flush=True)


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
    parser.add_argument("--table", type=pathlib.Path, help="the table as Markdown")
    parser.add_argument("--html", type=pathlib.Path, help="the table as a page")
    parser.add_argument("--at-once", type=int, default=5, help="subjects that are played at once")
    parser.add_argument("--judge", action="store_true", help="play nothing, judge the lines")
    options, rest = parser.parse_known_args()
    known = tomllib.loads((ROOT / "runners/promises/known.toml").read_text(encoding="utf-8"))
    began = time.monotonic()
    if not options.judge and play(options.program, rest, options.lines, options.at_once, known) == 64:
        return 64
    if not options.judge:
        write_table(options.program, options.lines, options.table, options.html, time.monotonic() - began,
                    options.at_once)
    cells = [json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]
    suite = junit.suite("promises", (judged(cell, known.get(cell["subject"], {}).get(cell["fault"], []))
                                     for cell in cells if cell["cell"] != "not_promised"))
    junit.write(suite, options.junit)
    kept, differ = junit.count(suite, "run"), junit.count(suite, "fail")
    print(f"{kept} as known, {differ} differ, {junit.count(suite, 'disabled')} not told")
    return 1 if differ or not kept else 0


if __name__ == "__main__":
    sys.exit(main())
