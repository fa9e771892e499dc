# runners/suites/pytest/pytest_deadrank/program.py — Starts the program `deadrank` and reads its JSON. Exit
# code 0 pass, 1 fail, 2 unknown; any other means a wrong command line or file, and is raised with the
# program's message.
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
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


def before_program(given, option):
    """Inserts the option before --, since all after it is the command of the program under test."""
    place = given.index("--") if "--" in given else len(given)
    return [*given[:place], option, *given[place:]]


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
        given = ["run", os.fspath(scenario)]
        given += ["--seeds", seeds or self.seeds, "--runner", runner or self.runner]
        given += [*self.arguments, *arguments]
        answer = self._call(before_program(given, "--json"))
        if answer.returncode not in (0, 1, 2):
            raise Trouble((answer.stderr or answer.stdout).strip())
        trials = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith("{")]
        if not trials:
            raise Trouble(f"deadrank run {scenario} played nothing: {answer.stderr.strip()}")
        verdict = max((trial["verdict"] for trial in trials), key=("pass", "unknown", "fail").index)
        story = "" if verdict == "pass" else self._call(before_program(given, "--quiet")).stdout.strip()
        return Outcome(trials[0]["scenario"], verdict, trials, story)

    def _call(self, arguments):
        # First the one in this Python's environment: it was installed with this file, and may not be on PATH.
        program = shutil.which(self.program, path=sysconfig.get_path("scripts")) or shutil.which(self.program)
        if program is None:
            raise Trouble(f"the program '{self.program}' was not found: install deadrank, or name it "
                          "with --deadrank")
        try:
            return subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired as late:
            raise Trouble(f"deadrank did not end within {self.timeout:g} s: {' '.join(late.cmd)}") from None
