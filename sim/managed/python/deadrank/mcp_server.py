# sim/managed/python/deadrank/mcp_server.py — `deadrank mcp`: an MCP server over standard input and output, whose tools
# start deadrank. No tool takes a command line. Programs and files lie below one directory; a call has a limit of time
# and of bytes. Results are the JSON that deadrank prints.
from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Callable, Literal, Optional

from pydantic import Field
from typing_extensions import TypedDict

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # the package before 2.0
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

OUTPUT_MOST = 64 << 20  # bytes that deadrank may print before it is ended
RECORDS_KEPT = 20
RANKS_MOST = 256
USAGE = 64

INSTRUCTIONS = """deadrank plays faults in distributed training programs on a simulated cluster and reports what happened.
One seed is one run: the line `again` and the token play it again, bit for bit. Exit codes: 0 pass, 1 fail or a bug was
found, 2 unknown. Unknown proves nothing. Look at `explain` for any word of a result."""

Paths = Annotated[list[str], Field(min_length=1, max_length=50)]


class Answer(TypedDict):
    """What deadrank printed, its exit code, and the end of its standard error."""

    exit_code: int
    results: list[dict[str, Any]]
    message: str
    left_out: int  # results that did not fit into the limit of bytes


class Recorded(TypedDict):
    """An answer whose evidence was kept, by the names that the tool `evidence` takes."""

    exit_code: int
    results: list[dict[str, Any]]
    message: str
    left_out: int
    records: list[str]


class Events(TypedDict):
    """Events of a run, in order of time: t in nanoseconds of virtual time, rank, kind, and the kind's own fields."""

    kinds: dict[str, int]  # how many events of each kind match
    events: list[dict[str, Any]]
    next: Optional[int]  # the value of `first` for the following page


class Refused(ToolError):
    """An argument is refused. The text names it, and what would do."""


class Deadrank:
    def __init__(self, program: str, root: Path, seconds: float, most_bytes: int, scratch: Path):
        self.program, self.root, self.seconds, self.most_bytes, self.scratch = program, root, seconds, most_bytes, scratch
        self.one_at_a_time = asyncio.Lock()
        self.calls = 0

    def below_root(self, name: str) -> str:
        """The path of a file or directory that exists below the root. Links are followed first."""
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root):
            raise Refused(f"'{name}' lies outside of {self.root}; name a path below it")
        if not path.exists():
            raise Refused(f"'{name}' does not exist below {self.root}")
        return str(path)

    def scenario(self, name: str) -> str:
        """An id or pattern of the catalogue as it is, a file below the root as its path."""
        word(name, "scenario")
        is_path = os.path.isabs(name) or ".." in Path(name).parts or name.endswith(".toml")
        return self.below_root(name) if is_path or (self.root / name).exists() else name

    def new_record(self) -> tuple[str, Path]:
        self.calls += 1
        old = self.scratch / str(self.calls - RECORDS_KEPT)
        shutil.rmtree(old, ignore_errors=True)
        return str(self.calls), self.scratch / str(self.calls)

    async def call(self, *words: str) -> tuple[int, str, str]:
        """Exit code, output, and errors. Ends the program and all that it started at the limit of time or bytes."""
        async with self.one_at_a_time:
            process = await asyncio.create_subprocess_exec(
                self.program, *words, cwd=self.root, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True)
            try:
                out, errors, _ = await asyncio.wait_for(
                    asyncio.gather(read_most(process.stdout), read_most(process.stderr), process.wait()), self.seconds)
            except asyncio.TimeoutError:
                raise Refused(f"ended after {self.seconds:g} s; ask for fewer ranks, steps or scenarios, or start "
                              "the server with a greater --seconds") from None
            finally:
                await end(process)
        return process.returncode, out, errors

    async def answer(self, *words: str, select: Callable[[list], list] = list, most: Optional[int] = None) -> Answer:
        """The first `most` of the selected results."""
        code, out, errors = await self.call(*words)
        if code == USAGE:
            raise Refused(errors.strip())
        results = select(objects_of(out))
        kept = fitting(results[:most], self.most_bytes)
        return {"exit_code": code, "results": kept, "message": errors.strip()[-2000:],
                "left_out": len(results) - len(kept)}


async def read_most(stream) -> str:
    """All of a stream. A program that prints more than OUTPUT_MOST is refused."""
    parts, size = [], 0
    while part := await stream.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > OUTPUT_MOST:
            raise Refused(f"ended after {OUTPUT_MOST >> 20} MiB of output; ask for less")
    return b"".join(parts).decode(errors="replace")


async def end(process) -> None:
    """Ends a program's session, where it still runs. deadrank ends its ranks and gives back files on SIGTERM."""
    if process.returncode is not None:
        return
    for number, seconds in ((signal.SIGTERM, 30), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            await asyncio.wait_for(process.wait(), seconds)
            return
        except ProcessLookupError:
            return
        except asyncio.TimeoutError:
            continue


def objects_of(out: str) -> list[dict[str, Any]]:
    """The objects of one JSON text, or of one a line."""
    try:
        whole = json.loads(out)
    except ValueError:
        whole = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return whole if isinstance(whole, list) else [whole]


def fitting(results: list, most_bytes: int) -> list:
    """The first results whose JSON has at most so many bytes."""
    size, kept = 0, []
    for one in results:
        size += len(json.dumps(one))
        if size > most_bytes:
            break
        kept.append(one)
    return kept


def word(text: str, what: str) -> str:
    """A text that is no option and fits into a line."""
    if not text or text.startswith("-") or "\0" in text or "\n" in text or len(text) > 500:
        raise Refused(f"'{text[:80]}' is no {what}")
    return text


def serve(deadrank: Deadrank) -> MCPServer:
    server = MCPServer("deadrank", instructions=INSTRUCTIONS)

    @server.tool(name="run")
    async def run(
        scenarios: Annotated[Paths, Field(description="Ids or patterns of the catalogue, or files below the root")],
        seeds: Annotated[str, Field(pattern=r"^\d+(\.\.\d+)?$", description="One seed, or A..B")] = "1",
    ) -> Recorded:
        """Plays scenarios in the simulator: with the fault, without it, and with the fix. Judges whether a detector
        names the right symptom and rank in time. Each result has the verdict and a token for `replay`."""
        name, place = deadrank.new_record()
        words = ["run", "--json", "--runner", "sim", "--out", str(place), "--seeds", seeds]
        answer = await deadrank.answer(*words, *map(deadrank.scenario, scenarios))
        records = [f"{name}/{one['scenario']}/{one['seed']}" for one in answer["results"]]
        return {**answer, "records": records}

    @server.tool(name="inject")
    async def inject(
        script: Annotated[str, Field(description="The training program, a file below the root that torchrun starts")],
        faults: Annotated[list[str], Field(min_length=1, max_length=20, description=(
            "One line each, such as 'kill rank 1 before all_reduce 7', 'delay all_reduce 7 45min rank 1', "
            "'flip bit 30 of all_gather 3 rank 0', 'skip all_reduce 7 rank 1', 'stop rank 3 at step 5'"))],
        arguments: Annotated[list[str], Field(max_length=100, description="The program's own arguments")] = [],
        ranks_per_node: Annotated[int, Field(ge=1, le=64)] = 4,
        nodes: Annotated[int, Field(ge=1, le=64)] = 1,
        max_restarts: Annotated[int, Field(ge=0, le=10)] = 0,
        gpus: Annotated[int, Field(ge=0, le=64, description="Simulated GPUs of a program that asks for cuda")] = 0,
        expect: Optional[Literal["recovers", "completes", "clear_error", "refuses"]] = None,
        within: Annotated[Optional[str], Field(description="Virtual time after the fault, such as 60s")] = None,
        seed: Annotated[int, Field(ge=0)] = 1,
    ) -> Recorded:
        """Plays an unmodified program on simulated ranks, once healthy and once with the faults, and reports the
        outcome, the alarms and the command that plays it again. Exit code 1: `expect` is not met. Files that the
        program writes are put back."""
        if nodes * ranks_per_node > RANKS_MOST:
            raise Refused(f"{nodes * ranks_per_node} ranks are more than {RANKS_MOST}")
        name, place = deadrank.new_record()
        words = ["inject", "--json", "--record", str(place), "--seed", str(seed)]
        words += ["--gpus", str(gpus)] if gpus else []
        words += ["--expect", expect] if expect else []
        words += ["--within", word(within, "time")] if within else []
        words += [word(fault, "fault") for fault in faults]
        words += ["--", "torchrun", "--nnodes", str(nodes), "--nproc-per-node", str(ranks_per_node)]
        words += ["--max-restarts", str(max_restarts), deadrank.below_root(script), *arguments]
        return {**await deadrank.answer(*words), "records": [name]}

    @server.tool(name="replay")
    async def replay(
        token: Annotated[str, Field(pattern=r"^dr1-[\w+]+-sim-[\w./+-]+$", description="A token of `run`")],
        scenario: Annotated[Optional[str], Field(description="The token's scenario file, if it is in no catalogue")] = None,
    ) -> Answer:
        """Plays a token again and compares the trace hash. Exit code 0: reproduced, 1: another run, 2: unknown."""
        words = ["replay", "--json", token]
        words += ["--scenario", deadrank.below_root(scenario)] if scenario else []
        return await deadrank.answer(*words)

    @server.tool(name="evidence")
    async def evidence(
        record: Annotated[str, Field(description="One of `records` of an earlier run or inject")],
        variant: Literal["fault", "control", "healed"] = "fault",
        kinds: Annotated[list[str], Field(description="Only these kinds, such as rank.exit, collective.enter")] = [],
        ranks: Annotated[list[int], Field(description="Only these ranks; -1 is the job")] = [],
        first: Annotated[int, Field(ge=0)] = 0,
        count: Annotated[int, Field(ge=1, le=1000)] = 100,
    ) -> Events:
        """Reads the events of a run: logs, exit codes, collectives, steps. Evidence is what a real job could show; it
        does not have the fault. Without filters `kinds` counts all events."""
        place = (deadrank.scratch / record).resolve()
        if variant != "fault":
            place /= variant
        file = place / "evidence.jsonl"
        if not place.is_relative_to(deadrank.scratch) or not file.is_file():
            raise Refused(f"there is no record '{record}' with a {variant} run; the last {RECORDS_KEPT} are kept")
        counts, events, matching = Counter(), [], 0
        with file.open() as lines:
            for line in lines:
                event = json.loads(line)
                if "kind" not in event or (kinds and event["kind"] not in kinds):
                    continue
                if ranks and event["rank"] not in ranks:
                    continue
                counts[event["kind"]] += 1
                if matching >= first and len(events) < count:
                    events.append(event)
                matching += 1
        kept = fitting(events, deadrank.most_bytes)
        if events and not kept:
            raise Refused(f"event {first} is greater than the limit of {deadrank.most_bytes} bytes")
        following = first + len(kept)
        return {"kinds": dict(counts), "events": kept, "next": following if following < matching else None}

    @server.tool(name="diagnose")
    async def diagnose(
        files: Annotated[Paths, Field(description="Logs, dumps or directories of them, below the root")],
        together: Annotated[bool, Field(description="All files are one incident")] = False,
    ) -> Answer:
        """Names what happened, which rank began it and why, from logs and dumps alone. Exit code 0: healthy, 1: a bug
        was found, 2: no line says why."""
        words = ["diagnose", "--json", *(["--together"] if together else [])]
        return await deadrank.answer(*words, *map(deadrank.below_root, files))

    @server.tool(name="list")
    async def list_scenarios(
        stage: Optional[str] = None,
        symptom: Optional[str] = None,
        cause: Optional[str] = None,
        contains: Annotated[str, Field(description="A text in the id, the title or the story")] = "",
        first: Annotated[int, Field(ge=0)] = 0,
        count: Annotated[int, Field(ge=1, le=300)] = 20,
    ) -> Answer:
        """Lists scenarios of the catalogue: id, title, symptom, cause, and the public reports that each replays.
        `left_out` counts those after the page."""
        words = ["list", "--json"]
        for option, value in (("--stage", stage), ("--symptom", symptom), ("--cause", cause)):
            words += [option, word(value, option[2:])] if value else []

        def select(found: list) -> list:
            return [{name: value for name, value in one.items() if name not in ("file", "digest")} for one in found
                    if contains.lower() in f"{one['id']} {one['title']} {one['story']}".lower()][first:]

        return await deadrank.answer(*words, select=select, most=count)

    @server.tool(name="explain")
    async def explain(
        name: Annotated[str, Field(description="A scenario, fault, setting, symptom, verdict or any word of a result")],
    ) -> Answer:
        """Explains any word of a scenario file or of a result."""
        return await deadrank.answer("explain", "--json", word(name, "word"))

    return server


def main() -> None:
    parser = argparse.ArgumentParser(prog="deadrank mcp")
    parser.add_argument("--program", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="deadrank-mcp-") as scratch:
        deadrank = Deadrank(arguments.program, arguments.root.resolve(), arguments.seconds, arguments.bytes,
                            Path(scratch).resolve())
        serve(deadrank).run()
