#!/usr/bin/env python3
# .ci/three_ways.py — One program and one fault on managed ranks and in real processes, over gloo and over NCCL: is the
# same found, about the same rank? Real NCCL is torch's own ProcessGroupNCCL, with its watchdog and Flight Recorder,
# over the stand-in's devices. It writes one JSON line for each run, then the table; runs that have a line are not repeated.
#   three_ways.py --deadrank PROGRAM --python PYTHON --lines FILE [--table PAGE] [--only NAME ...] [--do FAULT ...]
import json
import pathlib
import tempfile

import managed_frameworks as frameworks

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANKS = 4
TIMEOUT = 12  # s of each process group, where nothing else is said
PROGRAMS = [
    *("DDP", "FSDP1", "FSDP2", "HSDP", "tensor parallel", "sequence parallel", "tensor parallel + FSDP2"),
    *("pipelining, GPipe", "pipelining, 1F1B", "pipelining, interleaved", "DCP"),
]
LEGS = {
    "managed, gloo": [],
    "real, gloo": ["--runner", "local"],
    "managed, NCCL": ["--gpus", str(RANKS)],
    "real, NCCL": ["--runner", "local", "--gpus", str(RANKS)],
}
PAIRS = [("managed, gloo", "real, gloo"), ("managed, NCCL", "real, NCCL")]

# Each acts on rank 1 in step 5 or thereabouts.
FAULTS = {
    "killed": 'kind = "kill_rank"\nrank = 1\nwhen = { step = 5 }',
    "killed at a call": 'kind = "kill_rank"\nrank = 1\nwhen = { before = "CALL", nth = NTH }',
    "exits": 'kind = "exit_rank"\nrank = 1\nwhen = { step = 5 }',
    "stopped": 'kind = "stop_rank"\nrank = 1\nwhen = { step = 5 }',
    "call left out": 'kind = "skip_collective"\nrank = 1\nwhen = { before = "CALL", nth = NTH }',
    "late call": 'kind = "delay_collective"\nrank = 1\nby = "5s"\nwhen = { before = "CALL", nth = NTH }',
}

SCENARIO = """format = 1
backends = ["sim", "local"]
[bug]
stage = "communication"
symptom = "collective_deadlock_hang"
cause = "unpropagated_rank_failure"
fix = "validation_and_failure_handling"
[cluster]
nodes = 1
gpus_per_node = {ranks}
[workload]
kind = "data_parallel"
[[fault]]
{fault}
[expect]
symptom = "collective_deadlock_hang"
blames = []
within = "10min"
[heal]
fault = "none"
says = "nothing happens"
"""


def scenario_of(program, fault):
    call, nth = program.call.split()
    return SCENARIO.format(ranks=RANKS, fault=FAULTS[fault].replace("CALL", call).replace("NTH", nth))


def play(given, name, fault, leg):
    program = frameworks.PROGRAMS[name]
    file, *arguments = program.command
    with tempfile.TemporaryDirectory() as place:
        scenario = pathlib.Path(place) / "communication" / "fault.toml"
        scenario.parent.mkdir()
        scenario.write_text(scenario_of(program, fault), encoding="utf-8")
        code, out, err = frameworks.play(
            given,
            [
                *(given.deadrank, "run", scenario, "--json", "--no-heal", *LEGS[leg]),
                *("--", "torchrun", "--standalone", f"--nproc-per-node={RANKS}"),
                *(ROOT / "tests/others/short_timeout.py", TIMEOUT, frameworks.PLACE / file, *arguments),
            ],
        )
    try:
        told = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        return {"says": f"exit code {code}: {frameworks.last_words(err or out)}", "found": None}
    if told["verdict"] == "unknown":
        return {"says": told["reason"], "found": None}
    found = sorted({(one["symptom"], *sorted(one["blame"].get("ranks", []))) for one in told["findings"]})
    return {"says": told["reason"], "found": found, "control": told["control"]}


def found_text(run):
    if run is None:
        return ""
    if run["found"] is None:
        return "unknown"
    names = [f"{one[0]} ({', '.join(map(str, one[1:])) or 'nobody'})" for one in run["found"]]
    quiet = "" if run["control"] in ("pass", None) else "; the control rings"
    return (", ".join(names) or "nothing") + quiet


def compare(one, other):
    if one is None or other is None:
        return ""
    if one["found"] is None or other["found"] is None:
        return "?"
    return "✔" if found_text(one) == found_text(other) else "✘"


def table(lines, names):
    rows = ["| program | fault | " + " | ".join(f"{one} | {other} | |" for one, other in PAIRS).rstrip("|") + "|"]
    rows.append("|---" * (2 + 3 * len(PAIRS)) + "|")
    counts = {pair: [0, 0] for pair in PAIRS}
    for name in names:
        for fault in FAULTS:
            cells = []
            for pair in PAIRS:
                one, other = (lines.get((name, fault, leg)) for leg in pair)
                sign = compare(one, other)
                counts[pair][0] += sign == "✔"
                counts[pair][1] += sign != ""
                cells += [found_text(one), found_text(other), sign]
            if any(cells):
                rows.append(f"| {name} | {fault} | " + " | ".join(cells) + " |")
    told = [f"{one} and {other}: {good} of {all_of_them} agree." for (one, other), (good, all_of_them) in counts.items()]
    return "\n".join([*rows, "", *told, ""])


def main():
    parser = frameworks.parser_of_a_night(PROGRAMS, FAULTS)
    parser.add_argument("--legs", nargs="*", default=list(LEGS), choices=list(LEGS), metavar="LEG")
    given = parser.parse_args()
    done = frameworks.read_lines(given.lines, ("program", "fault", "leg"))
    for fault in given.do:
        for name in given.only:
            for leg in given.legs:
                if (name, fault, leg) in done:
                    continue
                run = {"program": name, "fault": fault, "leg": leg, **play(given, name, fault, leg)}
                done[name, fault, leg] = run
                frameworks.add_line(given.lines, run)
                print(f"{name}, {fault}, {leg}: {found_text(run)}: {run['says']}", flush=True)
    frameworks.write_table(given.table, table(done, PROGRAMS), ".ci/three_ways.py")


if __name__ == "__main__":
    main()
