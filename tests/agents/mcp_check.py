# tests/agents/mcp_check.py — Goal: an agent gets results through `deadrank mcp`, and cannot leave the directory, the
# limit of time, or the limit of bytes. A real client of the package mcp talks to the server over stdio.
"""Usage: mcp_check.py --deadrank PROGRAM; exit code 77 if something is missing."""
import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

from clients import use_clients

SOURCE = Path(__file__).resolve().parents[2]
LACKING = 77
TRAIN = SOURCE / "tests/suites/pytest_program/train.py"
SCENARIO = "communication/rank_leaves_all_reduce"


@asynccontextmanager
async def client(deadrank, root, *options):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    surroundings = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    started = StdioServerParameters(command=str(deadrank), args=["mcp", str(root), *options], env=surroundings)
    async with stdio_client(started) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        yield session


async def call(session, tool, **arguments):
    """The structured result of a tool that must not fail."""
    result = await session.call_tool(tool, arguments)
    failed = result.is_error if hasattr(result, "is_error") else result.isError
    assert not failed, f"{tool}({arguments}): {result.content[0].text}"
    return result.structured_content if hasattr(result, "structured_content") else result.structuredContent


async def refusal(session, tool, **arguments):
    """The text of a tool that must fail."""
    result = await session.call_tool(tool, arguments)
    failed = result.is_error if hasattr(result, "is_error") else result.isError
    assert failed, f"{tool}({arguments}) was not refused: {result.content[0].text[:300]}"
    return result.content[0].text


async def check_tools_answer(deadrank, root):
    async with client(deadrank, root) as session:
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert tools == {"run", "inject", "replay", "evidence", "diagnose", "list", "explain"}, tools

        listed = await call(session, "list", symptom="collective_deadlock_hang", count=2)
        assert len(listed["results"]) == 2 and listed["left_out"] > 0, listed
        assert all(one["symptom"] == "collective_deadlock_hang" for one in listed["results"])
        assert (await call(session, "list", contains="rank leaves", count=1))["left_out"] >= 0
        assert "dies by a signal" in str(await call(session, "explain", name="kill_rank"))

        played = await call(session, "run", scenarios=[SCENARIO], seeds="1..2")
        assert [one["verdict"] for one in played["results"]] == ["pass", "pass"], played
        assert played["exit_code"] == 0
        again = await call(session, "replay", token=played["results"][1]["token"])
        assert again["results"][0]["outcome"] == "reproduced", again
        record = played["records"][1]
        entered = await call(session, "evidence", record=record, kinds=["collective.enter"], ranks=[0], count=3)
        assert len(entered["events"]) == 3 and entered["next"] == 3, entered
        assert entered["kinds"]["collective.enter"] > 3 and all(one["rank"] == 0 for one in entered["events"])
        following = await call(session, "evidence", record=record, kinds=["collective.enter"], ranks=[0], first=3)
        assert following["events"][0]["t"] >= entered["events"][-1]["t"]
        control = await call(session, "evidence", record=record, variant="control")
        assert sum(control["kinds"].values()) > 100, control["kinds"]

        shutil.copy(SOURCE / "scenarios/catalog" / f"{SCENARIO}.toml", root / "mine.toml")
        assert (await call(session, "run", scenarios=["mine.toml"]))["results"][0]["verdict"] == "pass"
        log = root / "job.log"
        log.write_text("[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered\n")
        diagnosed = await call(session, "diagnose", files=["job.log"])
        assert diagnosed["exit_code"] == 1 and diagnosed["results"][0]["outcome"] == "found", diagnosed

        injected = await call(session, "inject", script="train.py", faults=["kill rank 1 before all_reduce 2"],
                              ranks_per_node=2, expect="recovers")
        assert injected["exit_code"] == 1 and injected["results"][0]["outcome"] == "clear_error", injected
        killed = await call(session, "evidence", record=injected["records"][0], kinds=["rank.exit"])
        assert any(event.get("signal") == 9 for event in killed["events"]), killed
        unknown = await refusal(session, "inject", script="train.py", faults=["kil rank 1"])
        assert "kill" in unknown, unknown


async def check_nothing_leaves_the_root(deadrank, root, outside):
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "link.log").symlink_to("/etc/passwd")
    async with client(deadrank, root) as session:
        for script in ("../outside/secret.py", str(outside / "secret.py"), "link.py"):
            said = await refusal(session, "inject", script=script, faults=["kill rank 1"])
            assert "outside" in said, said
        for file in ("/etc/passwd", "link.log", ".."):
            assert "outside" in await refusal(session, "diagnose", files=[file])
        assert "outside" in await refusal(session, "run", scenarios=["../outside/secret.toml"])
        assert "outside" in await refusal(session, "replay", token="dr1-0a-sim-x/y-1-2-3-4", scenario="/etc/passwd")
        for words in (["--runner=local"], ["-o/tmp"], [""]):
            assert "is no scenario" in await refusal(session, "run", scenarios=words)
        assert "is no fault" in await refusal(session, "inject", script="train.py", faults=["--html=/tmp/x"])
        assert "is no word" in await refusal(session, "explain", name="--catalog=/")
        await refusal(session, "replay", token="dr1-0a-local-x/y-1-2-3-4")
        await refusal(session, "inject", script="train.py", faults=["kill rank 1"], ranks_per_node=64, nodes=64)
        assert "no record" in await refusal(session, "evidence", record="../..")
        await refusal(session, "inject", script="train.py", faults=[f"$(touch {root / 'made'})"])
        await refusal(session, "explain", name=f"$(touch {root / 'made'})")
        assert not (root / "made").exists()


def children_with(word):
    """Processes of this machine whose command line has the word."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in command and int(process.name) != os.getpid():
                found.append(command)
    return found


async def check_calls_are_bounded(deadrank, root):
    slow = root / "never_ends_here.py"
    slow.write_text("while True:\n    pass\n")
    async with client(deadrank, root, "--seconds", "3") as session:
        began = time.monotonic()
        said = await refusal(session, "inject", script=slow.name, faults=["kill rank 0 at 1s"], ranks_per_node=1)
        assert "ended after 3 s" in said and time.monotonic() - began < 120, said
        for _ in range(60):  # the interpreter behind the ranks ends after deadrank
            if not children_with(slow.name):
                break
            await asyncio.sleep(0.5)
        assert not children_with(slow.name), children_with(slow.name)
        assert (await call(session, "run", scenarios=[SCENARIO]))["exit_code"] == 0
    async with client(deadrank, root, "--bytes", "3000") as session:
        few = await call(session, "run", scenarios=[SCENARIO], seeds="1..9")
        assert few["left_out"] > 0 and 0 < len(few["results"]) < 9, few
        page = await call(session, "evidence", record=few["records"][0], count=1000)
        assert 0 < len(page["events"]) < 100 and page["next"] == len(page["events"]), page["next"]


def check_missing_package(deadrank, root):
    """Without the package there is one sentence, and its remedy."""
    bare = {"PATH": "/nowhere", "HOME": str(root), "DEADRANK_PYTHON": "/usr/bin/python3"}
    if subprocess.run(["/usr/bin/python3", "-c", "import mcp"], capture_output=True, check=False).returncode == 0:
        return
    said = subprocess.run([deadrank, "mcp", root], env=bare, capture_output=True, text=True, check=False)
    assert said.returncode not in (0, 1), said
    assert "pip install mcp" in said.stderr and said.stderr.count("\n") <= 2, said.stderr


def lacking(python):
    """What this machine lacks, as a sentence; empty if nothing."""
    if subprocess.run([sys.executable, "-c", "import mcp"], capture_output=True, check=False).returncode:
        return f"{sys.executable} has no package mcp: ./dev tools prepares one"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        return f"{python} has no torch: ./dev tools prepares one, DEADRANK_PYTHON names another"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", type=Path, required=True)
    arguments = parser.parse_args()
    python = os.environ.setdefault("DEADRANK_PYTHON", str(Path.home() / ".cache/deadrank/venv/bin/python"))
    if why := lacking(python):
        print(f"skipped: {why}")
        return LACKING
    with tempfile.TemporaryDirectory(prefix="deadrank-agents-") as place:
        root, outside = Path(place).resolve() / "root", Path(place).resolve() / "outside"
        root.mkdir()
        outside.mkdir()
        (outside / "secret.py").write_text("print('secret')\n")
        (outside / "secret.toml").write_text("format = 1\n")
        shutil.copy(TRAIN, root)
        deadrank = arguments.deadrank.resolve()
        asyncio.run(check_tools_answer(deadrank, root))
        asyncio.run(check_nothing_leaves_the_root(deadrank, root, outside))
        asyncio.run(check_calls_are_bounded(deadrank, root))
        check_missing_package(deadrank, root)
    print("tools answer, nothing leaves the root, calls are bounded, a missing package is named")
    return 0


if __name__ == "__main__":
    use_clients()
    sys.exit(main())
