#!/usr/bin/env python3
# tests/mutation/mutate_detectors.py — Changes detectors one line at a time (a threshold doubled or halved, a
# comparison turned round) and plays the whole catalogue. A change that no verdict shows has survived: nothing
# holds that line.
"""Usage: mutate_detectors.py BUILD [--count N] [--seed S] [--least SHARE] [--only FILE] [--json FILE]

BUILD is a build directory with an up-to-date program. Exit code 0, 1 when fewer than SHARE of the changes
were found out, 2 when nothing could be tried."""
import argparse
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DETECTORS = ROOT / "results/detectors"
TURNED = {" < ": " >= ", " > ": " <= ", " <= ": " > ", " >= ": " < "}
TURNED |= {" == ": " != ", " != ": " == ", " && ": " || "}
NUMBER = re.compile(r"^(constexpr [^=;\"]*= |constexpr Time [^=;\"]*\()(\d[\d']*)(\.\d+)?(?=[;,)])")
TOO_LONG = 600  # seconds; a program that hangs under a change is found out


def changes_of(path):
    """(line number, line before, line after) of each change that may be made to a file."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.split("//")[0]
        if match := NUMBER.search(code.lstrip()):
            indent = len(code) - len(code.lstrip())
            value = float(match[2].replace("'", "") + (match[3] or ""))
            for other in (value * 2, value / 2):
                text = repr(other) if match[3] else str(max(int(other), 0))
                if float(text) != value:
                    head, tail = line[: indent + match.end(1)], line[indent + match.end() :]
                    found.append((number, line, head + text + tail))
        if "operator" in code or "template" in code or "#" in code:
            continue
        for before, after in TURNED.items():
            for at in (m.start() for m in re.finditer(re.escape(before), code)):
                if code[:at].count('"') % 2 == 0:
                    found.append((number, line, line[:at] + after + line[at + len(before):]))
    return found


class Builder:
    """Compiles one changed batch of detectors and links it with everything else as it is."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.commands = [c for c in json.loads((build / "compile_commands.json").read_text())
                         if "deadrank_results_detectors.dir/Unity" in c["file"]]
        ask = ["ninja", "-C", build, "-t", "commands", "deadrank"]
        answer = subprocess.run(ask, capture_output=True, text=True)
        self.link = next(line for line in reversed(answer.stdout.splitlines()) if " -o deadrank " in line)

    def program(self, path, text):
        changed = self.scratch / path.name
        changed.write_text(text)
        objects = []
        for command in self.commands:
            batch = pathlib.Path(command["file"]).read_text()
            object_file = shlex.split(command["command"])
            object_file = object_file[object_file.index("-o") + 1]
            if f'"{path}"' not in batch:
                objects.append(object_file)
                continue
            unity = self.scratch / "batch.cpp"
            unity.write_text(batch.replace(f'"{path}"', f'"{changed}"'))
            words = [w for w in shlex.split(command["command"]) if w not in ("-O2", "-g1", "-Werror")]
            words[words.index("-o") + 1] = str(self.scratch / "batch.o")
            words[words.index("-c") + 1] = str(unity)
            done = subprocess.run(words + ["-O0", "-w"], cwd=command["directory"], capture_output=True)
            if done.returncode:
                return None
            objects.append(str(self.scratch / "batch.o"))
        link = self.link.replace(" -o deadrank ", f" -o {self.scratch}/deadrank ", 1)
        link = re.sub(r"\S*libdeadrank_results_detectors\.a", " ".join(objects), link, count=1)
        link = re.sub(r"\S*libdeadrank_results_detectors\.a", "", link)
        done = subprocess.run(link, shell=True, cwd=self.build, capture_output=True, text=True)
        return None if done.returncode else self.scratch / "deadrank"


def verdicts(program):
    """scenario → what its three runs came to; None when the program did not end."""
    try:
        catalog = {"DEADRANK_CATALOG": str(ROOT / "scenarios/catalog")}
        answer = subprocess.run([program, "run", "--json", "-j", "2"], cwd=ROOT, env=os.environ | catalog,
                                capture_output=True, text=True, timeout=TOO_LONG)
        cases = [json.loads(line) for line in answer.stdout.splitlines()]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None
    return {c["scenario"]: (c["verdict"], c.get("outcome"), c.get("control"), c.get("healed")) for c in cases}


def main():
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", dest="out", type=pathlib.Path)
    arguments = parser.parse_args()
    every = [(path, *change) for path in sorted(DETECTORS.glob("*.cpp")) if arguments.only in path.name
             for change in changes_of(path)]
    usual = verdicts(arguments.build / "deadrank")
    if not every or usual is None:
        why = "nothing to change, or the program in BUILD does not play the catalogue: build it first"
        print(why, file=sys.stderr)
        return 2
    tried = random.Random(arguments.seed).sample(every, min(arguments.count, len(every)))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        builder = Builder(arguments.build, pathlib.Path(scratch))
        for path, number, before, after in tried:
            lines = path.read_text().splitlines()
            lines[number - 1] = after
            program = builder.program(path, "\n".join(lines) + "\n")
            if program is None:
                continue  # does not compile: no change of what it does
            now = verdicts(program)
            by = sorted(s for s in usual if now is None or now.get(s) != usual[s])
            rows.append({"file": path.name, "line": number, "before": before.strip(), "after": after.strip(),
                         "found_out_by": by})
            fate = f"found out by {len(by):3}" if by else "SURVIVED        "
            print(f"{fate}  {path.name}:{number}  {after.strip()}", flush=True)
    caught = sum(bool(row["found_out_by"]) for row in rows)
    share = caught / len(rows) if rows else 0
    drawn = f"drawn from {len(every)} by seed {arguments.seed}"
    print(f"{caught} of {len(rows)} changes found out ({share:.0%}), {drawn}")
    if arguments.out:
        kept = {"seed": arguments.seed, "possible": len(every), "changes": rows}
        arguments.out.write_text(json.dumps(kept, indent=1))
    return 2 if not rows else 0 if share >= arguments.least else 1


if __name__ == "__main__":
    sys.exit(main())
