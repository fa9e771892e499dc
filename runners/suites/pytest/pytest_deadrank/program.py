# runners/suites/pytest/pytest_deadrank/program.py — Starts the program `deadrank` and reads its JSON. Exit
# code 0 pass, 1 fail, 2 unknown; any other means a wrong command line or file, and is raised with the
# program's message.
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
import xml.etree.ElementTree
from dataclasses import dataclass, field


class Trouble(Exception):
    """deadrank could not start: no program, or a file that does not load."""


@dataclass
class Outcome:
    """The outcome of one scenario under all seeds; `trials` are the JSON objects of `deadrank run`."""

    scenario: str
    verdict: str
    trials: list = field(default_factory=list)
    story: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def skipped(self) -> str:
        """What this machine lacks to play the scenario; empty if it was played."""
        return next((trial["skipped"] for trial in self.trials if trial.get("skipped")), "")


def divided(arguments):
    """Options, and what begins with --: the command of the program under test."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return list(arguments[:place]), list(arguments[place:])


def story_in(page):
    """What the first trial that did not pass says, as on a terminal."""
    if not os.path.exists(page):
        return ""
    tree = xml.etree.ElementTree.parse(page)
    told = [one.text.strip() for kind in ("failure", "skipped") for one in tree.iter(kind) if one.text]
    return told[0] if told else ""


class Deadrank:
    """The program with its usual options. `timeout`: seconds for a whole call."""

    def __init__(self, program="deadrank", runner="sim", seeds="1..1", timeout=600.0, arguments=()):
        self.program = program
        self.runner = runner
        self.seeds = seeds
        self.timeout = timeout
        self.arguments = list(arguments)

    def run(self, scenario, *arguments, seeds=None, runner=None) -> Outcome:
        """Plays a file, or an id of the catalogue."""
        usual, usual_program = divided(self.arguments)
        asked, program = divided(arguments)
        given = ["run", os.fspath(scenario)]
        given += ["--seeds", seeds or self.seeds, "--runner", runner or self.runner, *usual, *asked, "--json"]
        program = program or usual_program
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "junit.xml")
            own = [] if "--junit" in given else ["--junit", page]
            answer = self._call([*given, *own, *program])
            story = story_in(page)
        if answer.returncode not in (0, 1, 2):
            raise Trouble((answer.stderr or answer.stdout).strip())
        trials = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
        if not trials:
            raise Trouble(f"deadrank run {scenario} played nothing: {answer.stderr.strip()}")
        verdict = max((trial["verdict"] for trial in trials), key=("pass", "unknown", "fail").index)
        if verdict == "pass":
            return Outcome(trials[0]["scenario"], verdict, trials)
        reasons = [trial["reason"] for trial in trials if trial["verdict"] == verdict]
        return Outcome(trials[0]["scenario"], verdict, trials, story or reasons[0])

    def path(self):
        # First the one in this Python's environment: it was installed with this file, and may not be on PATH.
        program = shutil.which(self.program, path=sysconfig.get_path("scripts")) or shutil.which(self.program)
        if program is None:
            raise Trouble(f"the program '{self.program}' was not found: install deadrank, or name it "
                          "with --deadrank")
        return program

    def _call(self, arguments):
        program = self.path()
        try:
            return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired as late:
            raise Trouble(f"deadrank did not end within {self.timeout:g} s: {' '.join(late.cmd)}") from None
