# tests/docs/run_blocks.py — Goal: what README and tutorials show is what happens. Plays a page's code blocks,
# in order, in an empty directory.
#
# A line of HTML comment above a block says what it is:
#   <!-- file: NAME -->       the block becomes this file
#   <!-- with: PAGE -->       the files of another page are here, too
#   <!-- exits: 1 -->         the last command ends with this exit code instead of 0
#   <!-- not run: REASON -->  the block is shown and not run
# ```sh is run line by line. In ```console the lines after `$ ` are run, and those below are the output: each has
# to occur, in this order, and … stands for anything. Other blocks without such a line are only shown.
"""Usage: run_blocks.py --deadrank PROGRAM --python PYTHON PAGE …; exit code 77 if something is missing."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RUN = ("sh", "console")
LACKING = 77


@dataclass
class Block:
    line: int
    language: str
    text: list = field(default_factory=list)
    marks: dict = field(default_factory=dict)


def blocks_of(page):
    blocks, marks, block = [], {}, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if block is not None:
            if line == "```":
                block = None
            else:
                block.text.append(line)
        elif line.startswith("```"):
            block = Block(number, line[3:], marks=marks)
            blocks.append(block)
            marks = {}
        elif mark := re.fullmatch(r"<!-- (file|with|exits|not run): (.+) -->", line):
            marks[mark[1]] = mark[2]
        elif line:
            marks = {}
    return blocks


def write_file(block, place):
    file = place / block.marks["file"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(block.text) + "\n")


def write_files(page, place):
    for block in blocks_of(page):
        if "file" in block.marks:
            write_file(block, place)


def commands_of(block):
    """Pairs of a command and the lines that are shown below it."""
    if block.language == "sh":
        return [(line, []) for line in block.text if line]
    pairs = []
    for line in block.text:
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        else:
            pairs[-1][1].append(line)
    return pairs


def first_missing(shown, said):
    """The first line that is shown and does not occur after those before it; None if all do."""
    lines = iter(said.splitlines())
    for line in shown:
        if line.strip() in ("", "…"):
            continue
        pattern = ".*".join(map(re.escape, line.rstrip().split("…")))
        if not any(re.fullmatch(pattern, one.rstrip()) for one in lines):
            return line
    return None


def environment(arguments, place):
    """As an installed wheel would have it: the program, its Python packages and pytest with the plugin."""
    tools = place / "tools"
    tools.mkdir()
    (tools / "deadrank").symlink_to(arguments.deadrank.resolve())
    pytest = tools / "pytest"
    pytest.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest -p no:cacheprovider "$@"\n')
    pytest.chmod(0o755)
    python = tools / "python"
    python.write_text(f'#!/bin/sh\nexec {arguments.python} "$@"\n')
    python.chmod(0o755)
    torchrun = tools / "torchrun"
    torchrun.write_text(f'#!/bin/sh\nexec {arguments.python} -m torch.distributed.run "$@"\n')
    torchrun.chmod(0o755)
    packages = [SOURCE / "runners/suites/pytest", SOURCE / "sim/managed/python"]
    return os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(map(str, packages)),
        "PYTEST_PLUGINS": "pytest_deadrank.plugin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DEADRANK_PYTHON": str(arguments.python),
        "DEADRANK_CATALOG": str(SOURCE / "scenarios/catalog"),
        "XDG_STATE_HOME": str(place / "state"),
        "XDG_CACHE_HOME": str(place / "cache"),
        "NO_COLOR": "1",
    }


def complaint(command, shown, due, work, surroundings):
    """Runs a command, and returns how it differs from what is shown; empty if it does not."""
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=surroundings, stdin=subprocess.DEVNULL, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=400,
    )  # fmt: skip
    missing = first_missing(shown, done.stdout)
    if done.returncode == due and missing is None:
        return ""
    printed = "\n    ".join(done.stdout.splitlines()[:60])
    wrong = f"{command}\n  exit code {done.returncode}, due {due}\n"
    if missing is not None:
        wrong += f"  is shown and was not printed: {missing}\n"
    return f"{wrong}  it printed:\n    {printed}"


def play(page, arguments):
    """Takes a page, and returns what differs from it, and how many commands were run."""
    complaints, count = [], 0
    with tempfile.TemporaryDirectory(prefix="deadrank-docs-") as name:
        place = pathlib.Path(name)
        work = place / "work"
        work.mkdir()
        surroundings = environment(arguments, place)
        for block in blocks_of(page):
            if other := block.marks.get("with"):
                write_files(SOURCE / other, work)
            if "file" in block.marks:
                write_file(block, work)
            elif block.language in RUN and "not run" not in block.marks:
                pairs = commands_of(block)
                count += len(pairs)
                for number, (command, shown) in enumerate(pairs, 1):
                    due = int(block.marks.get("exits", 0)) if number == len(pairs) else 0
                    if wrong := complaint(command, shown, due, work, surroundings):
                        complaints.append(f"{page.relative_to(SOURCE)}:{block.line}: {wrong}")
    return complaints, count


def lacking(arguments):
    """What this machine lacks, as a sentence; empty if nothing."""
    has_torch = arguments.python.exists() and not subprocess.run(
        [arguments.python, "-c", "import torch"], capture_output=True, check=False
    ).returncode
    if not has_torch:
        return f"{arguments.python} has no torch: ./dev tools prepares one, DEADRANK_PYTHON names another"
    if subprocess.run([sys.executable, "-c", "import pytest"], capture_output=True, check=False).returncode:
        return f"{sys.executable} has no pytest: apt-get install python3-pytest"
    if not shutil.which("promtool"):
        return "there is no promtool: apt-get install prometheus"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", type=pathlib.Path, required=True)
    default = os.environ.get("DEADRANK_PYTHON", str(pathlib.Path.home() / ".cache/deadrank/venv/bin/python"))
    parser.add_argument("--python", type=pathlib.Path, default=pathlib.Path(default).expanduser())
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if why := lacking(arguments):
        print(f"skipped: {why}")
        return LACKING
    bad = False
    for page in arguments.pages:
        complaints, count = play(page.resolve(), arguments)
        print(f"{page}: {count} commands, {len(complaints)} differ")
        print("\n".join(complaints))
        bad = bad or bool(complaints) or count == 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
