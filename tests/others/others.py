#!/usr/bin/env python3
# tests/others/others.py — Plays training programs that are not ours: healthy under `deadrank watch`, beside
# themselves without it, on a quiet machine and on a busy one. One JSON line a run; --table makes the page.
#   others.py --deadrank build/deadrank --python PYTHON --sources DIR --work DIR --lines FILE [--half HALF]
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import prepare

HERE = pathlib.Path(__file__).resolve().parent


class Program:
    def __init__(self, name, row, given):
        self.name, self.row, self.given = name, row, given
        self.ranks = row.get("ranks", given.ranks)
        self.data = given.work / "data"

    def filled(self, text):
        known = {"data": self.data, "ranks": self.ranks, "sources": self.given.sources}
        return re.sub(r"\{(\w+)\}", lambda found: str(known[found[1]]), text)

    def fresh(self, number):
        """A copy of its sources for one run: programs write beside themselves."""
        root = self.given.work / "runs" / f"{self.name}-{number}"
        shutil.rmtree(root, ignore_errors=True)
        here = root / self.row.get("where", "empty")
        if "where" in self.row:
            shutil.copytree(self.given.sources / self.row["where"], here)
        here.mkdir(parents=True, exist_ok=True)
        for name, target in self.row.get("links", {}).items():
            place = pathlib.Path(os.path.normpath(here / name))
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                place.symlink_to(self.filled(target))
        return root, here

    def command(self):
        words = [self.filled(word) for word in self.row["words"]]
        python = str(self.given.python)
        launch = self.row.get("launch", "torchrun")
        if launch == "python":
            return [python, *words]
        if launch == "fabric":
            fabric = [python, "-m", "lightning.fabric.cli"]
            return [*fabric, "--accelerator=cpu", f"--devices={self.ranks}", "--strategy=ddp", *words]
        if launch == "accelerator":
            words = [str(HERE / "as_accelerator.py"), *words]
        run = [python, "-m", "torch.distributed.run", "--standalone"]
        return [*run, "--nproc-per-node", str(self.ranks), *words]


def environment(given):
    keep = ("PATH", "HOME", "LANG", "TMPDIR", "DEADRANK_STATE")
    seen = {name: os.environ[name] for name in keep if name in os.environ}
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    more = {"WANDB_MODE": "disabled", "ACCELERATE_USE_CPU": "true", "DS_ACCELERATOR": "cpu"}
    built = {"TORCH_EXTENSIONS_DIR": str(given.work / "extensions")}  # a lock that is left there is ours
    return {**seen, **quiet, **more, **built, "DEADRANK_PYTHON": str(given.python)}


def commit():
    """Of the tree that is tried: results of different ones share a file."""
    words = ["git", "-C", str(HERE), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


class Load:
    """As many processes that never rest."""

    def __init__(self, count):
        self.processes = [
            subprocess.Popen(["yes"], stdout=subprocess.DEVNULL) for _ in range(count)
        ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def one_run(program, number, watched, busy):
    given = program.given
    root, here = program.fresh(number)
    command, alarms = program.command(), root / "alarms.jsonl"
    if watched:
        kept = given.record and given.record / f"{program.name}-{program.ranks}-{number}"
        record = ["--record", str(kept)] if kept else []
        command = [str(given.deadrank), "watch", "--json", str(alarms), *record, "--", *command]
    began, load, machine = time.monotonic(), os.getloadavg()[0], "quiet" if given.quiet else "busy"
    with open(root / "output.txt", "w", encoding="utf-8") as out, Load(busy):
        job = subprocess.Popen(command, cwd=here, env=environment(given), stdin=subprocess.DEVNULL,
                               stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = job.wait(given.limit)
        except subprocess.TimeoutExpired:
            code = "timeout"
            os.killpg(job.pid, signal.SIGTERM)
            time.sleep(5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    seconds = time.monotonic() - began
    said = (root / "output.txt").read_text(errors="replace")
    rang = [json.loads(line) for line in alarms.read_text().splitlines()] if alarms.exists() else []
    last = re.findall(r"^deadrank: (.*)$", said, re.M)
    result = {
        **{"program": program.name, "half": program.row["half"], "ranks": program.ranks, "busy": busy},
        "machine": machine,
        **{"watched": watched, "seconds": round(seconds, 1), "code": code, "load": round(load, 1)},
        **{"commit": commit(), "load_after": round(os.getloadavg()[0], 1)},
        **{"alarms": [f"{one['symptom']}: {one['says']}" for one in rang], "said": last if watched else []},
    }
    with open(given.lines, "a", encoding="utf-8") as lines:
        lines.write(json.dumps(result) + "\n")
    if not given.keep:
        shutil.rmtree(root / program.row.get("where", "empty"), ignore_errors=True)
    return result


def play(programs, given):
    prepare.prepare(given.work / "data")
    for number in range(given.times):
        for program in programs:
            for watched in (False, True) if not given.watched_only else (True,):
                result = one_run(program, number, watched, given.busy)
                print(f"{program.name:28} {'watched' if watched else 'alone  '} {result['seconds']:6.1f} s  "
                      f"code {result['code']}  {'; '.join(result['alarms'])}", flush=True)


# Enough for the format: no verdict is read, only what was found and about whom.
SCENARIO = """format = 1
backends = ["local"]
[bug]
stage = "communication"
symptom = "collective_deadlock_hang"
cause = "unpropagated_rank_failure"
fix = "validation_and_failure_handling"
[cluster]
nodes = 1
gpus_per_node = 2
[workload]
kind = "data_parallel"
steps = 20
[[fault]]
{fault}
[expect]
symptom = "collective_deadlock_hang"
within = "90s"
reaction = "any"
[heal]
fault = "none"
"""


def toml_of(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml_of(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def break_it(name, start, here, given):
    """Every fault once in one program, each told as a line; `start` is what comes behind the scenario."""
    folder = given.work / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    for kind, row in tomllib.loads((HERE / "faults.toml").read_text()).items():
        if given.faults not in ("all", kind):
            continue
        lines = "\n".join(f"{key} = {toml_of(value)}" for key, value in row["fault"].items())
        file = folder / f"{kind}.toml"
        file.write_text(SCENARIO.replace("{fault}", lines))
        command = [str(given.deadrank), "run", str(file), "--runner", "local", "--json", "--no-control"]
        command += ["--no-heal", "--ranks", "2", *start]
        done = subprocess.run(command, cwd=here, env=environment(given), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        told = json.loads(done.stdout.splitlines()[0]) if done.stdout.strip() else {"reason": done.stderr}
        result = {"program": name, "fault": kind, "verdict": told.get("verdict"), "reason": told["reason"]}
        result |= {"commit": commit(), "load": round(os.getloadavg()[0], 1)}
        result["machine"] = "quiet" if given.quiet else "busy"
        result["findings"] = [
            {"symptom": one["symptom"], "blame": one["blame"], "says": one["says"]}
            for one in told.get("findings", [])
        ]
        result["stood"] = (told.get("stood") or {}).get("response")
        with open(given.lines, "a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
        found = ", ".join(one["symptom"] for one in result["findings"]) or result["reason"]
        print(f"{name:20} {kind:18} {found}", flush=True)


def break_all(programs, given):
    prepare.prepare(given.work / "data")
    if "ddp" in given.only:
        break_it("ddp", ["--subject", "ddp"], given.work, given)
    for program in programs:
        _, here = program.fresh("faults")
        break_it(program.name, ["--", *program.command()], here, given)


# Why a fault did not happen, as a table has room for it.
NOT_PLAYED = {
    "no moment of the run matched": "no such call",
    "its `when` was never met": "no such call",
    "did not use its": "no such value",
    "wrote and read no checkpoint": "no checkpoint",
    "sent no message": "no message",
}


def said_of(run):
    if not run["findings"]:
        short = next((said for words, said in NOT_PLAYED.items() if words in run["reason"]), run["reason"])
        return f"unknown: {short}" if run["verdict"] == "unknown" else "nothing"
    said = []
    for one in run["findings"]:
        ranks = ", ".join(map(str, one["blame"].get("ranks", [])))
        said.append(one["symptom"] + (f" ({ranks})" if ranks else ""))
    return "; ".join(said)


def fault_table(given):
    """A row a program, `=` where the same is found as in the first one; the last run of each counts."""
    runs = [json.loads(line) for line in given.lines.read_text().splitlines()]
    kinds = list(tomllib.loads((HERE / "faults.toml").read_text()))
    print("| program | " + " | ".join(kinds) + " |")
    print("|---" * (len(kinds) + 1) + "|")
    first = {}
    for name in dict.fromkeys(run["program"] for run in runs):
        last = {run["fault"]: said_of(run) for run in runs if run["program"] == name}
        found = {kind: said for kind, said in first.items() if not said.startswith(("nothing", "unknown"))}
        same = {kind: "=" for kind in kinds if kind in last and last[kind] == found.get(kind)}
        cells = [same.get(kind, last.get(kind, "")) for kind in kinds]
        print(f"| {name} | " + " | ".join(cells) + " |")
        first = first or last


def middle(values):
    return sorted(values)[len(values) // 2] if values else None


def kind_of(run):
    return run["ranks"], run.get("machine", "busy")


def table(given):
    """A row a program: how often it was silent on a quiet and on a busy machine, and what watching took."""
    known = tomllib.loads((HERE / "programs.toml").read_text())
    runs = [json.loads(line) for line in given.lines.read_text().splitlines()]
    print("| program | half | without an alarm: two ranks, quiet | busy | four ranks, quiet | busy "
          "| seconds alone → watched, quiet | steps |")
    print("|---|---|---|---|---|---|---|---|")
    for name, row in known.items():
        mine = [run for run in runs if run["program"] == name]
        if not mine:
            continue
        cells = [f"{name}, {row['of']}", row["half"]]
        kinds = [(ranks, machine) for ranks in (2, 4) for machine in ("quiet", "busy")]
        of_kind = {kind: [run for run in mine if kind_of(run) == kind] for kind in kinds}
        for seen in ([run for run in of_kind[kind] if run["watched"]] for kind in kinds):
            cells.append(f"{sum(not run['alarms'] for run in seen)} of {len(seen)}" if seen else "")
        alone, watched = (
            middle([run["seconds"] for run in of_kind[2, "quiet"] if run["watched"] == is_watched])
            for is_watched in (False, True)
        )
        cells.append(f"{alone or '?'} → {watched or '?'}" if alone or watched else "")
        steps = {found for run in mine for line in run["said"] for found in re.findall(r"(\d+) steps", line)}
        print("| " + " | ".join([*cells, ", ".join(sorted(steps, key=int))]) + " |")


def main():
    asked = argparse.ArgumentParser(description="Programs of others, watched.")
    for name in ("deadrank", "python", "sources", "work", "lines", "record"):
        asked.add_argument(f"--{name}", type=lambda text: pathlib.Path(text).absolute())
    asked.add_argument("--half", default="")
    asked.add_argument("--only", nargs="*", default=[])
    asked.add_argument("--ranks", type=int, default=2)
    asked.add_argument("--times", type=int, default=1)
    asked.add_argument("--busy", type=int, default=0, help="processes beside it that never rest")
    asked.add_argument("--limit", type=int, default=240)
    asked.add_argument("--quiet", action="store_true", help="nothing else runs on this machine meanwhile")
    for name in ("--watched-only", "--table", "--keep"):
        asked.add_argument(name, action="store_true")
    asked.add_argument("--faults", help="a row of faults.toml, or all, instead of watching")
    given = asked.parse_args()
    if given.table:
        return fault_table(given) if given.faults else table(given)
    rows = tomllib.loads((HERE / "programs.toml").read_text()).items()
    chosen = [
        Program(name, row, given)
        for name, row in rows
        if (name in given.only if given.only else not given.half or row["half"] == given.half)
    ]
    return break_all(chosen, given) if given.faults else play(chosen, given)


if __name__ == "__main__":
    sys.exit(main())
