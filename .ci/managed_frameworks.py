#!/usr/bin/env python3
# .ci/managed_frameworks.py — Programs of frameworks (tests/others/frameworks) on the simulated cluster: is a healthy job
# silent, and its loss that of real processes; is a fault at rank 1 blamed on rank 1; is one plan one run? One JSON line
# a cell, then the table of all lines: an interrupted night goes on where it ended.
#   managed_frameworks.py --deadrank PROGRAM --python PYTHON --lines FILE [--table PAGE] [--only NAME ...] [--do WHAT ...]
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import junit

PLACE = pathlib.Path(__file__).resolve().parent.parent / "tests" / "others" / "frameworks"
LIMIT = 900  # s a command
ROUNDING = 2e-5  # of a loss: gloo and NCCL sum in another order
LAUNCH = ["torchrun", "--nnodes=2", "--nproc-per-node=2"]


class Program:
    """`call`: a collective of every step, and its number in step 5 or so. `gpus`: for GPUs alone. `packages`: those
    whose version the table shows."""

    def __init__(self, file, *arguments, call="all_reduce 9", gpus=False, packages=("torch",)):
        self.command = [file, *arguments]
        self.call, self.gpus, self.packages = call, gpus, packages


PROGRAMS = {
    "DDP": Program("ddp.py"),
    "FSDP1": Program("fsdp1.py", call="reduce_scatter 16"),
    "FSDP1, bf16": Program("fsdp1.py", "--bf16", call="reduce_scatter 16", gpus=True),
    "FSDP2": Program("fsdp2.py", call="reduce_scatter 21"),
    "FSDP2, bf16": Program("fsdp2.py", "--bf16", call="reduce_scatter 21", gpus=True),
    "HSDP": Program("fsdp2.py", "--replicate", "2", call="reduce_scatter 21"),
    "tensor parallel": Program("tensor_parallel.py", call="all_reduce 16"),
    "sequence parallel": Program("tensor_parallel.py", "--sequence", call="reduce_scatter 16"),
    "tensor parallel + FSDP2": Program("tensor_parallel.py", "--data", "2", call="all_reduce 16"),
    "pipelining, GPipe": Program("pipelining.py", "--schedule", "GPipe", call="send 20"),
    "pipelining, 1F1B": Program("pipelining.py", "--schedule", "1F1B", call="send 20"),
    "pipelining, interleaved": Program("pipelining.py", "--schedule", "Interleaved1F1B", call="send 40"),
    "DCP": Program("dcp.py", call="reduce_scatter 5"),
    "DCP, asynchronous": Program("dcp.py", "--mode", "async", call="reduce_scatter 5"),
    "Accelerate": Program("accelerate_loop.py", packages=("accelerate",)),
    "Hugging Face Trainer": Program("hf_trainer.py", packages=("transformers", "accelerate")),
    "Lightning, DDP": Program("lightning_trainer.py", call="all_reduce 12", packages=("lightning",)),
    "Lightning, FSDP": Program(
        "lightning_trainer.py", "--strategy", "fsdp", call="all_reduce 12", gpus=True, packages=("lightning",)
    ),
    "DeepSpeed, ZeRO 1": Program("deepspeed_zero.py", "--stage", "1", packages=("deepspeed",)),
    "DeepSpeed, ZeRO 2": Program("deepspeed_zero.py", "--stage", "2", packages=("deepspeed",)),
    "DeepSpeed, ZeRO 3": Program("deepspeed_zero.py", "--stage", "3", call="all_gather 20", packages=("deepspeed",)),
    "Megatron-core, DP": Program("megatron_gpt.py", gpus=True, packages=("megatron-core",)),
    "Megatron-core, TP×DP": Program("megatron_gpt.py", "--tp", "2", gpus=True, packages=("megatron-core",)),
    "Megatron-core, PP×DP": Program(
        "megatron_gpt.py", "--pp", "2", call="reduce_scatter 6", gpus=True, packages=("megatron-core",)
    ),
    "Megatron-core, TP×PP": Program(
        *("megatron_gpt.py", "--tp", "2", "--pp", "2"), call="all_reduce 200", gpus=True, packages=("megatron-core",)
    ),
    "Megatron-core, CP×DP": Program(
        "megatron_gpt.py", "--cp", "2", call="reduce_scatter 50", gpus=True, packages=("megatron-core",)
    ),
    "Megatron-core, EP×DP": Program(
        "megatron_gpt.py", "--experts", "--ep", "2", gpus=True, packages=("megatron-core",)
    ),
    "Colossal-AI, ZeRO 1": Program("colossal_booster.py", "--plugin", "zero1", gpus=True, packages=("colossalai",)),
    "Colossal-AI, ZeRO 2": Program("colossal_booster.py", "--plugin", "zero2", gpus=True, packages=("colossalai",)),
    "Colossal-AI, Gemini": Program("colossal_booster.py", "--plugin", "gemini", gpus=True, packages=("colossalai",)),
}

DEATH = {"native_crash_or_illegal_access", "remote_peer_connection_error", "collective_deadlock_hang", "collective_timeout_abort"}
LEFT_OUT = {
    *("collective_mismatch_error", "collective_deadlock_hang", "collective_timeout_abort"),
    *("replica_state_divergence", "tensor_shape_or_dtype_error"),
}


class Fault:
    """What must be found: one of these symptoms, about rank 1 (or a component), and nothing else about others."""

    def __init__(self, line, symptoms, component="", options=()):
        self.line, self.symptoms, self.component, self.options = line, symptoms, component, list(options)


FAULTS = {
    "killed rank": Fault("kill rank 1 at step 5", DEATH),
    "call left out": Fault("skip {call} rank 1", LEFT_OUT),
    "straggler": Fault("slow rank 1 x4 from step 2", {"straggler_step_time_skew"}, options=["--compute", "20ms"]),
    "late call": Fault("delay {call} 30s rank 1", {"straggler_step_time_skew"}),
    "full disk": Fault("disk full at checkpoint", {"checkpoint_save_failure"}, component="storage"),
}
CELLS = ["healthy", "loss", *FAULTS, "one hash"]


def environment(given):
    found = {**os.environ, "DEADRANK_PYTHON": str(given.python), "OMP_NUM_THREADS": "1"}
    found["PATH"] = f"{given.python.parent}:{found['PATH']}"
    return found


def play(given, command, **more):
    """In a directory of its own. Returns the exit code, what it printed, and its error output."""
    with tempfile.TemporaryDirectory() as place:
        try:
            done = subprocess.run(
                [str(word) for word in command],
                cwd=place,
                env=environment(given) | more,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, "", f"it did not end in {LIMIT} s"
        return done.returncode, done.stdout, done.stderr


def command_of(program):
    file, *arguments = program.command
    return [PLACE / file, *arguments]


def loss_in(text):
    found = re.findall(r"\bloss (-?[0-9.]+|nan)", text)
    return float(found[-1]) if found else None


def last_words(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\w(Error|Exception)\b", line) and "ChildFailed" not in line]
    return (errors or lines or [""])[-1][:300]


def gpus_of(program, count=2):
    return ["--gpus", str(count)] if program.gpus else []


def watch(given, program):
    code, out, err = play(
        given,
        [given.deadrank, "watch", "--simulated", "--json", "-", *gpus_of(program), "--", *LAUNCH, *command_of(program)],
    )
    alarms = [json.loads(line) for line in out.splitlines() if line.startswith('{"') and '"symptom"' in line]
    return code, out + err, alarms


def healthy(given, program):
    code, text, alarms = watch(given, program)
    loss = loss_in(text)
    if code == 0 and not alarms and loss is not None:
        return {"good": True, "loss": loss}
    told = "; ".join(f"false alarm {one['symptom']}" for one in alarms) if code == 1 and loss is not None else ""
    return {"good": False, "loss": loss, "says": told or f"exit code {code}: {last_words(text)}"}


def loss(given, program):
    """Beside the same program in real processes: over gloo, or on the stand-in's devices with torch's own NCCL group."""
    _, text, _ = watch(given, program)
    ours = loss_in(text)
    real = ["torchrun", "--standalone", "--nproc-per-node=4", *command_of(program)]
    if program.gpus:
        code, out, err = play(given, [given.deadrank, "watch", "-q", "--gpus", "4", "--", *real])
    else:
        code, out, err = play(given, real, CUDA_VISIBLE_DEVICES="")
    theirs = loss_in(out)
    if ours is None or theirs is None:
        return {"good": None if ours is not None else False, "says": f"real processes, code {code}: {last_words(out + err)}"}
    good = abs(ours - theirs) <= ROUNDING * max(1.0, abs(theirs))
    return {"good": good, "loss": ours, "real": theirs, "says": "" if good else f"{ours}, and {theirs} in real processes"}


def inject(given, program, fault):
    line = fault.line.format(call=program.call)
    code, out, err = play(
        given,
        [
            *(given.deadrank, "inject", line, "--json", *fault.options, *gpus_of(program)),
            *("--", *LAUNCH, *command_of(program)),
        ],
    )
    try:
        told = json.loads(out)
    except ValueError:
        return {"good": False, "says": f"exit code {code}: {last_words(err or out)}"}
    kept = {"outcome": told["outcome"], "seen": [(one["symptom"], one["blame"]) for one in told["findings"]]}
    good, says = judge(told, fault)
    return {"good": good, "says": says, **kept}


def about(finding):
    ranks = finding["blame"].get("ranks", [])
    return f"{finding['symptom']} ({finding['blame'].get('component') or 'ranks ' + ','.join(map(str, ranks))})"


def judge(told, fault):
    if told["outcome"] in ("never_came", "unknown"):
        return False, f"{told['outcome']}: {told['says'][:200]}"
    if told["healthy"]["findings"]:
        return False, "the healthy run rings: " + ", ".join(map(about, told["healthy"]["findings"]))
    if not told["findings"]:
        return False, f"nothing found; {told['outcome']}"
    for finding in told["findings"]:
        blamed = finding["blame"]
        right = blamed.get("component") == fault.component if fault.component else blamed.get("ranks") == [1]
        if finding["symptom"] not in fault.symptoms or not right:
            return False, ", ".join(map(about, told["findings"]))
    return True, ", ".join(map(about, told["findings"]))


def determinism(given, program):
    code, out, err = play(
        given,
        [
            *(given.deadrank, "replay", "determinism", "--runs", str(given.runs), *gpus_of(program)),
            *("--", *LAUNCH, *command_of(program)),
        ],
    )
    return {"good": code == 0, "says": "" if code == 0 else f"exit code {code}: " + " ".join((out + err).split())[-400:]}


def cell_of(given, program, what):
    if what == "healthy":
        return healthy(given, program)
    if what == "loss":
        return loss(given, program)
    if what == "one hash":
        return determinism(given, program)
    return inject(given, program, FAULTS[what])


# The table


def versions(given):
    names = sorted({one for program in PROGRAMS.values() for one in program.packages})
    text = "import importlib.metadata as m, json, sys\nfound = {}\n"
    text += "for n in sys.argv[1:]:\n  try: found[n] = m.version(n)\n  except m.PackageNotFoundError: pass\n"
    text += "print(json.dumps(found))"
    return json.loads(subprocess.check_output([given.python, "-c", text, *names], text=True))


def shown(case):
    if case is None:
        return ""
    return {True: "✔", False: "✘", None: "?"}[case["good"]]


def table(lines, known):
    rows = ["| program | version | on | " + " | ".join(CELLS) + " |", "|---" * (len(CELLS) + 3) + "|"]
    wrong = []
    for name, program in PROGRAMS.items():
        cells = [lines.get((name, what)) for what in CELLS]
        if not any(cells):
            continue
        version = ", ".join(f"{one} {known.get(one, 'is missing')}" for one in program.packages)
        place = "GPUs, NCCL" if program.gpus else "CPU, gloo"
        rows.append(f"| {name} | {version} | {place} | " + " | ".join(map(shown, cells)) + " |")
        for what, case in zip(CELLS, cells):
            if case and not case["good"]:
                wrong.append(f"- {name}, {what}: {case['says']}")
    good = sum(case["good"] is True for case in lines.values())
    others = [" The others:", "", *wrong] if wrong else [""]
    return "\n".join([*rows, "", f"{good} of {len(lines)} cells are right." + others[0], *others[1:], ""])


END = "<!-- end of the table -->"


def write_table(page, text, script=".ci/managed_frameworks.py"):
    """Replaces what stands on the page between the script's two marks."""
    if not page:
        return print(text)
    begin = f"<!-- table of {script} -->"
    whole = page.read_text(encoding="utf-8") if page.exists() else f"{begin}\n{END}\n"
    before, rest = whole.split(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    return None


def read_lines(file, keys=("program", "what")):
    """What an interrupted night has played already, by these fields."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {tuple(one[key] for key in keys): one for one in map(json.loads, lines)}


def add_line(file, one):
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(one, ensure_ascii=False) + "\n")


def parser_of_a_night(programs, what):
    """`what`: the choices of --do."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--python", required=True, type=lambda path: pathlib.Path(path).absolute())
    parser.add_argument("--lines", required=True, type=pathlib.Path, help="runs that this file has are not repeated")
    parser.add_argument("--table", type=pathlib.Path, help="a page, on which the table is replaced")
    parser.add_argument("--only", nargs="*", default=list(programs), choices=list(programs), metavar="NAME")
    parser.add_argument("--do", nargs="*", default=list(what), choices=list(what), metavar="WHAT")
    return parser


def junit_case(case):
    name, says = f"ManagedFrameworks.{case['program']}.{case['what']}", case.get("says") or "as it should"
    if case["good"] is None:
        return junit.skipped(name, says)
    return junit.passed(name, says) if case["good"] else junit.failed(name, says, says)


def main():
    parser = parser_of_a_night(PROGRAMS, CELLS)
    parser.add_argument("--junit", type=pathlib.Path, help="write what agreed and what did not")
    parser.add_argument("--runs", type=int, default=20, help="of the same plan [20]")
    given = parser.parse_args()
    known = versions(given)
    done = read_lines(given.lines)
    for name in given.only:
        if not all(one in known for one in PROGRAMS[name].packages):
            print(f"skipped {name}: {', '.join(PROGRAMS[name].packages)} is not installed", flush=True)
            continue
        for what in given.do:
            if (name, what) in done:
                continue
            case = {"program": name, "what": what, **cell_of(given, PROGRAMS[name], what)}
            done[name, what] = case
            add_line(given.lines, case)
            print(f"{name}, {what}: {shown(case)} {case.get('says', '')}", flush=True)
    write_table(given.table, table(done, known))
    if given.junit:
        junit.write(junit.suite("managed frameworks", map(junit_case, done.values())), given.junit)
    sys.exit(0 if all(case["good"] for case in done.values()) else 1)


if __name__ == "__main__":
    main()
