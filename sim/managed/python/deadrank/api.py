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


def _moment(before=None, nth=1, step=None, phase=None, at=None) -> str:
    words = []
    if before is not None:
        words.append(f"before {before} {nth}")
    if step is not None:
        words.append(f"at step {step}")
    if phase is not None:
        words.append(f"in {phase}")
    if at is not None:
        words.append(f"at {at}")
    return " ".join(words)


def _fault(*words) -> Fault:
    return Fault(" ".join(str(word) for word in words if str(word)))


def fault(line: str) -> Fault:
    """Any fault, as `deadrank inject --help` lists them."""
    return Fault(line)


def kill(rank="any", *, signal=9, **moment) -> Fault:
    """The process dies by a signal. The moment: before="all_reduce", nth=7; or step=3, phase="backward", at="90s"."""
    return _fault("kill rank", rank, f"signal={signal}", _moment(**moment))


def stop(rank="any", **moment) -> Fault:
    """The process is stopped and never goes on."""
    return _fault("stop rank", rank, _moment(**moment))


def pause(rank="any", *, lasts="5s", **moment) -> Fault:
    """The process is stopped and goes on after `lasts`."""
    return _fault("pause rank", rank, f"for {lasts}", _moment(**moment))


def slow(rank="any", *, factor=2, **moment) -> Fault:
    """All that the rank computes takes `factor` times as long."""
    return _fault("slow rank", rank, f"x{factor}", _moment(**moment))


def skip(call: str, nth=1, *, rank="any") -> Fault:
    """The rank goes on without its n-th call of this name."""
    return _fault("skip", call, nth, "rank", rank)


def delay(call: str, nth=1, *, by="30s", rank="any") -> Fault:
    """The rank waits before its n-th call of this name."""
    return _fault("delay", call, nth, by, "rank", rank)


def flip(call: str, nth=1, *, bit=30, rank="any") -> Fault:
    """One bit of what the rank contributes to the call is flipped: element × 64 + bit."""
    return _fault("flip bit", bit, "of", call, nth, "rank", rank)


def disk_full(**moment) -> Fault:
    """Writes of checkpoints find no space."""
    return _fault("disk full", _moment(**moment))


def unset(name: str, *, rank="any") -> Fault:
    """An environment variable is missing."""
    return _fault("unset", name, "rank", rank)


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
    raw: dict = field(repr=False)
    _evidence: str = field(repr=False, default="")

    @property
    def culprits(self) -> tuple[int, ...]:
        """The ranks that are really at fault."""
        return tuple(self.raw["culprit"].get("ranks", ()))

    @property
    def evidence(self) -> Iterator[dict]:
        """The events of the run, in order of time; each has t (nanoseconds), rank and kind."""
        for line in self._evidence.splitlines():
            event = json.loads(line)
            if "kind" in event:
                yield event

    def to_pandas(self):
        """The events as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(list(self.evidence))

    def story(self) -> str:
        lines = [f"{self.outcome}: {self.says}"]
        if self.met is False:
            lines.insert(0, f"expected '{self.raw['expect']['wanted']}'")
        lines += [f"alarm: {finding.symptom}: {finding.says}" for finding in self.findings]
        return "\n".join([*lines, f"again: {self.again}"])


def run(command: Sequence[str], faults: Sequence[Fault | str] = (), expect: Expectation | None = None, *,
        ranks: int | None = None, nodes: int | None = None, seed: int = 1, gpus: int = 0, cwd: str | os.PathLike | None = None,
        program: str = "deadrank", timeout: float = 600) -> Result:
    """Plays `command` (["torchrun", …, "train.py"]) with these faults on the simulated cluster.

    `ranks` replaces the command's number, `nodes` spreads them evenly. Takes at least one fault. Raises NotAsExpected where `expect` is not met, Trouble where it cannot be played, and
    subprocess.TimeoutExpired after `timeout` seconds of real time. The files that the program writes are put back.
    """
    __tracebackhide__ = True  # pytest shows the story, not this function
    lines = [one.line if isinstance(one, Fault) else one for one in faults]
    if not lines:
        raise ValueError("there is no fault; deadrank watch --simulated plays a program without one")
    with tempfile.TemporaryDirectory(prefix="deadrank-") as kept:
        words = [program, "inject", "--json", "--record", kept, "--seed", str(seed)]
        if ranks is not None:
            words += ["--ranks", str(ranks)]
        if nodes is not None:
            words += ["--nodes", str(nodes)]
        if gpus:
            words += ["--gpus", str(gpus)]
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
