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


def listed(program):
    """The cells that something is promised for, and the names of all faults."""
    said = subprocess.run([program, "report", "promises", "--list", "--json"], stdout=subprocess.PIPE, text=True,
                          cwd=ROOT, check=True).stdout
    rows = [json.loads(line) for line in said.splitlines()]
    promised = [row for row in rows if row["cell"] != "not_promised"]
    return promised, list(dict.fromkeys(row["fault"] for row in rows))


def in_parts(program, arguments, place, at_once, work):
    """Plays `work`, pairs of a subject and its faults, and writes a file of lines for each. A subject mostly
    waits for time-outs, so some are played at once, each by a process of its own: what a run leaves behind is
    then found below the process that started it."""
    waiting, codes = queue.Queue(), [0]
    for pair in work:
        waiting.put(pair)

    def play_some():
        while not waiting.empty():
            try:
                subject, faults = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            words = [program, "report", "promises", "--prepare", "--json", "--subject", subject, "--fault",
                     ",".join(faults), *arguments]
            with open(place / (subject + ".jsonl"), "w", encoding="utf-8") as out:
                done = subprocess.run(words, stdout=out, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                                      check=False)
            codes.append(done.returncode)
            told = "".join(line + "\n" for line in done.stderr.splitlines())
            print(f"{told}{place.name} {subject}: {time.monotonic() - began:.0f} s", flush=True)

    place.mkdir(parents=True)
    threads = [threading.Thread(target=play_some) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(codes)


def cells_in(places):
    """The cells of all parts; a cell that was played again is the last one."""
    cells = {}
    for place in places:
        for part in sorted(place.glob("*.jsonl")):
            for line in part.read_text(encoding="utf-8").splitlines():
                cell = json.loads(line)
                cells[cell["subject"], cell["fault"]] = cell
    return cells


def untold(cells):
    """What a busy machine may have hidden: unknown cells of subjects of which something was told."""
    told = {subject for (subject, fault), cell in cells.items()
            if fault != "healthy" and cell["cell"] not in ("unknown", "not_promised")}
    again = {}
    for (subject, fault), cell in cells.items():
        if cell["cell"] == "unknown" and subject in told:
            again.setdefault(subject, []).append(fault)
    return list(again.items())


def play(program, arguments, lines, at_once, known):
    """Healthy runs come first, since they are played under load, which would disturb faults beside them. Then
    come the faults, those subjects first that took longest when last played: they would end alone. What could
    not be told is played once more, when fewer play at once."""
    promised, faults = listed(program)
    subjects = sorted(dict.fromkeys(row["subject"] for row in promised),
                      key=lambda name: -known.get(name, {}).get("seconds", float("inf")))
    parts = lines.with_suffix(".parts")  # stays: what a killed play has told so far can be judged
    shutil.rmtree(parts, ignore_errors=True)
    places = [parts / "healthy", parts / "faults", parts / "again"]
    broken = [fault for fault in faults if fault != "healthy"]
    code = in_parts(program, arguments, places[0], at_once, [(subject, ["healthy"]) for subject in subjects])
    if code != 64:
        code = in_parts(program, arguments, places[1], at_once, [(subject, broken) for subject in subjects])
        in_parts(program, arguments, places[2], 2, untold(cells_in(places[:2])))
    lines.write_text("".join(json.dumps(cell) + "\n" for cell in cells_in(places).values()), encoding="utf-8")
    return code


def write_table(program, lines, table, page, seconds, at_once):
    """The table of all that was played, with the commit and how long it took."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], stdout=subprocess.PIPE, text=True,
                            cwd=ROOT, check=False).stdout.strip() or "unknown"
    about = f"At commit {commit}, {time.strftime('%Y-%m-%d', time.gmtime())}; {seconds:.0f} s in all" \
            f", {at_once} subjects at once."
    words = [program, "report", "promises", "--from", str(lines), "--about", about, "--json"]
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
