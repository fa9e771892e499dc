# sim/managed/python/deadrank/api.py — Plays a program under faults from Python: `deadrank inject` with typed
# arguments and results.
from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Union

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Unpack

__all__ = [
    "Expectation", "Fault", "Finding", "Moment", "NotAsExpected", "Result", "Span", "Trouble", "clear_error", "completes",
    "corrupt_checkpoint", "crash", "cut_link", "delay", "disk_full", "exit_rank", "fail", "fault", "flip", "hang", "kill",
    "limit_memory", "lose_node", "lose_write", "partition", "pause", "preempt", "recovers", "refuses", "resize", "retype",
    "run", "set_env", "skip", "slow", "slow_disk", "slow_link", "stop", "swap_call", "swap_ranks", "tear_write",
    "throttle", "unset", "xid",
]

Ranks = Union[int, str, Sequence[int]]  # 3, (1, 3), "any", "any 2", "all"; of nodes likewise


class Moment(TypedDict, total=False):
    """When a fault acts: kill(before="all_reduce", nth=7), kill(step=3, phase="backward"), kill(at="90s")."""

    before: str  # a call of the rank: all_reduce, checkpoint_save, …
    nth: int  # the rank's n-th such call or phase
    step: int  # counted from 0
    phase: str  # data, forward, backward, reduce, optimizer, checkpoint, evaluate
    at: str  # virtual time since the start
    comm: str  # only calls in this group: world, tp, dp, …


class Span(Moment, total=False):
    """A moment, and how long the fault lasts: slow(1, factor=4, step=3, until_step=5)."""

    until_step: int  # the fault ends after this step
    lasts: str  # the fault ends after this time
    always: bool  # at every match, not once


@dataclass(frozen=True)
class Fault:
    """A fault as one line of `deadrank inject`, such as "kill rank 1 before all_reduce 7"."""

    line: str


@dataclass(frozen=True)
class Expectation:
    """How the program must end: recovers, completes, clear_error or refuses; `within` a time such as "60s"."""

    wanted: str
    within: str | None = None


class Trouble(Exception):
    """The run could not be played: a wrong fault, no torch, a program that fails without any fault."""


class NotAsExpected(AssertionError):
    """The program ended otherwise than expected. `result` has the run; the text is its story."""

    def __init__(self, result: Result):
        super().__init__(result.story())
        self.result = result


def _word(value) -> str:
    """One word of a line: quoted if it has blanks or nothing."""
    text = str(value)
    if text and not any(one.isspace() for one in text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def _members(ranks) -> str:
    return ",".join(map(str, ranks)) if isinstance(ranks, (tuple, list, range)) else str(ranks)


def _link(one, other) -> str:
    return f"link node{one}" + ("" if other is None else f"-node{other}")


def _values(**values) -> str:
    return " ".join(f"{name}={_word(value)}" for name, value in values.items() if value is not None)


def _moment(before=None, nth=1, step=None, phase=None, at=None, comm=None, until_step=None, lasts=None,
            always=False) -> str:
    if nth != 1 and before is None and phase is None:
        raise ValueError(f"nth={nth} counts calls or phases: add before= or phase=")
    words = []
    if before is not None:
        words.append(f"before {before} {nth}")
    if step is not None:
        words.append(f"at step {step}")
    if phase is not None:
        words.append(f"in {phase}" + (f" {nth}" if before is None and nth != 1 else ""))
    if at is not None:
        words.append(f"at {at}")
    if comm is not None:
        words.append(f"on {comm}")
    if until_step is not None:
        words.append(f"until step {until_step}")
    if lasts is not None:
        words.append(f"for {lasts}")
    if always:
        words.append("always")
    return " ".join(words)


def _fault(*words) -> Fault:
    return Fault(" ".join(str(word) for word in words if str(word)))


def fault(line: str) -> Fault:
    """Any fault, as `deadrank inject --help` lists them."""
    return Fault(line)


# ── Processes and nodes

def kill(rank: Ranks = "any", *, signal: int = 9, **moment: Unpack[Moment]) -> Fault:
    """The process dies by a signal."""
    return _fault("kill rank", _members(rank), f"signal={signal}", _moment(**moment))


def crash(rank: Ranks = "any", **moment: Unpack[Moment]) -> Fault:
    """The process dies of a segmentation fault."""
    return _fault("crash rank", _members(rank), _moment(**moment))


def exit_rank(rank: Ranks = "any", *, code: int = 1, **moment: Unpack[Moment]) -> Fault:
    """The rank raises an exception and exits with this code."""
    return _fault("exit rank", _members(rank), f"code={code}", _moment(**moment))


def stop(rank: Ranks = "any", **moment: Unpack[Moment]) -> Fault:
    """The process is stopped and never goes on."""
    return _fault("stop rank", _members(rank), _moment(**moment))


def pause(rank: Ranks = "any", *, lasts: str = "5s", **moment: Unpack[Moment]) -> Fault:
    """The process is stopped and goes on after `lasts`."""
    return _fault("pause rank", _members(rank), f"for {lasts}", _moment(**moment))


def slow(rank: Ranks = "any", *, factor: float = 2, **moment: Unpack[Span]) -> Fault:
    """All that the rank computes takes `factor` times as long. On the CPU it needs run(compute=)."""
    return _fault("slow rank", _members(rank), f"x{factor}", _moment(**moment))


def preempt(**moment: Unpack[Moment]) -> Fault:
    """The scheduler ends the whole job."""
    return _fault("preempt", _moment(**moment))


def lose_node(node: Ranks, **moment: Unpack[Moment]) -> Fault:
    """The node and everything on it is lost."""
    return _fault("lose node", _members(node), _moment(**moment))


def swap_ranks(one: int, other: int) -> Fault:
    """RANK of two processes is exchanged before the start."""
    return _fault("swap ranks", f"{one},{other}")


def set_env(name: str, value: str, *, rank: Ranks = "any") -> Fault:
    """An environment variable has another value before the start."""
    return _fault("set", f"{name}={_word(value)}", "rank", _members(rank))


def unset(name: str, *, rank: Ranks = "any") -> Fault:
    """An environment variable is missing before the start."""
    return _fault("unset", name, "rank", _members(rank))


# ── Calls: the rank's n-th of this name

def skip(call: str, nth: int = 1, *, rank: Ranks = "any") -> Fault:
    """The rank goes on without the call."""
    return _fault("skip", call, nth, "rank", _members(rank))


def delay(call: str, nth: int = 1, *, by: str = "30s", rank: Ranks = "any") -> Fault:
    """The rank waits before the call."""
    return _fault("delay", call, nth, by, "rank", _members(rank))


def fail(call: str, nth: int = 1, *, answer: str | None = None, rank: Ranks = "any") -> Fault:
    """The call is not made, and answers an error: system_error, remote_error, timeout, …"""
    return _fault("fail", call, nth, _values(answer=answer), "rank", _members(rank))


def hang(call: str, nth: int = 1, *, rank: Ranks = "any") -> Fault:
    """The call begins and never completes."""
    return _fault("hang", call, nth, "rank", _members(rank))


def flip(call: str, nth: int = 1, *, bit: int = 30, rank: Ranks = "any") -> Fault:
    """One bit of what the rank contributes to the call is flipped: element × 64 + bit."""
    return _fault("flip bit", bit, "of", call, nth, "rank", _members(rank))


def resize(call: str, nth: int = 1, *, by: int = -1, rank: Ranks = "any") -> Fault:
    """The call moves so many elements more, or fewer."""
    return _fault("resize", call, nth, "by", by, "rank", _members(rank))


def retype(call: str, nth: int = 1, *, to: str = "f16", rank: Ranks = "any") -> Fault:
    """The call moves elements of another type: i8, i32, i64, f16, bf16, f32, f64."""
    return _fault("retype", call, nth, "to", to, "rank", _members(rank))


def swap_call(call: str, nth: int = 1, *, rank: Ranks = "any") -> Fault:
    """The call changes places with the rank's next one in that group."""
    return _fault("swap call", call, nth, "rank", _members(rank))


# ── Files. `path`: a part of the file's path; without it, every file

def disk_full(path: str | None = None, **moment: Unpack[Span]) -> Fault:
    """Writes find no space."""
    return _fault("disk full", _values(path=path), _moment(**moment))


def slow_disk(factor: float = 10, path: str | None = None, **moment: Unpack[Span]) -> Fault:
    """Reads and writes take `factor` times as long."""
    return _fault(f"slow disk x{factor}", _values(path=path), _moment(**moment))


def tear_write(path: str | None = None, *, keeps: int = 1, **moment: Unpack[Moment]) -> Fault:
    """The next write keeps only its beginning, and reports success."""
    return _fault("tear write", _values(path=path, keeps=keeps), _moment(**moment))


def lose_write(path: str | None = None, **moment: Unpack[Moment]) -> Fault:
    """The next write is lost, and reports success."""
    return _fault("lose write", _values(path=path), _moment(**moment))


def corrupt_checkpoint(path: str | None = None, *, how: str = "flip", **moment: Unpack[Moment]) -> Fault:
    """A stored file is changed: flip, truncate, swap or delete."""
    return _fault("corrupt checkpoint", _values(path=path, how=how), _moment(**moment))


# ── Network. Without `other`, all links of the first node

def cut_link(one: int, other: int | None = None, *, how: str = "silent", **moment: Unpack[Span]) -> Fault:
    """The link carries nothing any more. how="reset": connections break at once."""
    return _fault("cut", _link(one, other), f"how={how}", _moment(**moment))


def slow_link(one: int, other: int | None = None, *, factor: float = 10, latency: str | None = None,
              **moment: Unpack[Span]) -> Fault:
    """The link has so many times less bandwidth, and every message so much more latency."""
    return _fault("slow", _link(one, other), f"x{factor}", _values(latency=latency), _moment(**moment))


def partition(node: Ranks, **moment: Unpack[Span]) -> Fault:
    """These nodes and all others cannot reach each other."""
    return _fault("partition node", _members(node), _moment(**moment))


# ── Devices, with run(gpus=)

def limit_memory(bytes: str, rank: Ranks = "any", **moment: Unpack[Span]) -> Fault:
    """The device has so much memory: "1GiB"."""
    return _fault("limit memory", _values(bytes=bytes), "rank", _members(rank), _moment(**moment))


def throttle(rank: Ranks = "any", *, factor: float = 1.5, why: str = "thermal", **moment: Unpack[Span]) -> Fault:
    """The device slows down, and reports why: thermal, power or hardware."""
    return _fault("throttle rank", _members(rank), f"x{factor}", f"why={why}", _moment(**moment))


def xid(number: int = 79, rank: Ranks = "any", **moment: Unpack[Moment]) -> Fault:
    """The device reports an XID error, and every later call on it fails."""
    return _fault("xid", f"xid={number}", "rank", _members(rank), _moment(**moment))


def recovers(within: str | None = None) -> Expectation:
    """It ends with the healthy run's result, with or without a restart."""
    return Expectation("recovers", within)


def completes(within: str | None = None) -> Expectation:
    """It ends with the healthy run's result, without a restart."""
    return Expectation("completes", within)


def clear_error(within: str | None = None) -> Expectation:
    """It ends with an error that names the culprit."""
    return Expectation("clear_error", within)


def refuses(within: str | None = None) -> Expectation:
    """It ends with such an error before its first step."""
    return Expectation("refuses", within)


@dataclass(frozen=True)
class Finding:
    """What a detector says: a symptom of the taxonomy, ranks blamed, nanoseconds of virtual time."""

    symptom: str
    says: str
    ranks: tuple[int, ...]
    at_ns: int


@dataclass(frozen=True)
class Result:
    """One program under faults.

    outcome: unaffected, recovered, clear_error, vague_error, wrong_rank, watchdog, lost_checkpoint, hang,
    wrong_result or never_came. says: one sentence. alarm: whether a detector named a culprit: named, misnamed,
    noticed, silent. met: what `expect` asked for; None without it. again: the command that plays it again.
    """

    outcome: str
    says: str
    alarm: str
    findings: tuple[Finding, ...]
    met: bool | None
    again: str
    trace_hash: str
    raw: dict[str, Any] = field(repr=False)
    _evidence: str = field(repr=False, default="")

    @property
    def culprits(self) -> tuple[int, ...]:
        """The ranks that are really at fault."""
        return tuple(self.raw["culprit"].get("ranks", ()))

    @property
    def evidence(self) -> Iterator[dict[str, Any]]:
        """The events of the run, in order of time; each has t (nanoseconds), rank and kind."""
        for line in self._evidence.splitlines():
            event = json.loads(line)
            if "kind" in event:
                yield event

    def to_pandas(self) -> pandas.DataFrame:
        """The events as a table: a row for each event, a column for each field."""
        import pandas

        return pandas.DataFrame(list(self.evidence))

    def story(self) -> str:
        lines = [f"{self.outcome}: {self.says}"]
        if self.met is False:
            lines.insert(0, f"expected '{self.raw['expect']['wanted']}'")
        lines += [f"alarm: {finding.symptom}: {finding.says}" for finding in self.findings]
        return "\n".join([*lines, f"again: {self.again}"])


def run(command: Sequence[str], faults: Sequence[Fault | str] = (), expect: Expectation | None = None, *,
        ranks: int | None = None, nodes: int | None = None, seed: int = 1, gpus: int = 0, gpu: str | None = None,
        compute: str | None = None, real_limit: int | None = None, cwd: str | os.PathLike[str] | None = None,
        program: str = "deadrank", timeout: float = 600) -> Result:
    """Plays `command` (["torchrun", …, "train.py"]) with these faults on the simulated cluster.

    `ranks` replaces the command's number, `nodes` spreads them evenly. `gpus` simulated GPUs are of the model `gpu`.
    `compute`: virtual time that a rank computes in each step, such as "20ms". A rank that makes no call for `real_limit`
    seconds of real time makes the run unknown. Takes at least one fault. Raises NotAsExpected where `expect` is not met,
    Trouble where it cannot be played, and subprocess.TimeoutExpired after `timeout` seconds of real time. The files that
    the program writes are put back.
    """
    __tracebackhide__ = True  # pytest shows the story, not this function
    lines = [one.line if isinstance(one, Fault) else one for one in faults]
    if not lines:
        raise ValueError("there is no fault; deadrank watch --simulated plays a program without one")
    with tempfile.TemporaryDirectory(prefix="deadrank-") as kept:
        words = [program, "inject", "--json", "--record", kept, "--seed", str(seed)]
        options = {"ranks": ranks, "nodes": nodes, "gpus": gpus or None, "gpu": gpu, "compute": compute,
                   "real-limit": real_limit}
        for name, value in options.items():
            if value is not None:
                words += [f"--{name}", str(value)]
        if expect is not None:
            words += ["--expect", expect.wanted]
            if expect.within is not None:
                words += ["--within", expect.within]
        try:
            ended = subprocess.run([*words, *lines, "--", *map(str, command)], cwd=cwd, text=True,
                                   capture_output=True, timeout=timeout)
        except FileNotFoundError as missing:
            raise Trouble(f"'{program}' is not on PATH; install it, or name it with program=") from missing
        try:
            answer = json.loads(ended.stdout)
        except ValueError:
            raise Trouble(ended.stderr.strip() or f"deadrank ended with code {ended.returncode}") from None
        evidence = Path(kept) / "evidence.jsonl"
        events = evidence.read_text() if evidence.exists() else ""
    findings = tuple(Finding(one["symptom"], one["says"], tuple(one.get("blame", {}).get("ranks", ())), one["at"])
                     for one in answer["findings"])
    result = Result(answer["outcome"], answer["says"], answer["alarm"], findings,
                    answer["expect"]["met"] if "expect" in answer else None, answer["again"],
                    answer["trace_hash"], answer, events)
    if result.met is False:
        raise NotAsExpected(result)
    return result
