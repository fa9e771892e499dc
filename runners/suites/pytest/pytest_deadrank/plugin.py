# runners/suites/pytest/pytest_deadrank/plugin.py — Collects scenario files as tests, and offers the fixture
# `deadrank` for a user's own tests. Collects the files that match the ini option deadrank_scenarios, below
# the directories that pytest collects.
from __future__ import annotations

import pytest

from pytest_deadrank.program import Deadrank, Trouble


def pytest_addoption(parser):
    group = parser.getgroup("deadrank", "scenarios of distributed training with faults")
    group.addoption("--deadrank", metavar="PROGRAM", help="the program deadrank [on PATH]")
    group.addoption("--deadrank-seeds", metavar="A..B", help="seeds of each scenario [1..1]")
    group.addoption("--deadrank-runner", metavar="NAME", help="sim, local, mpi or gpu [sim]")
    parser.addini("deadrank_scenarios", "patterns of scenario files to collect", type="args",
                  default=["*.scenario.toml"])
    parser.addini("deadrank_program", "the program deadrank", default="deadrank")
    parser.addini("deadrank_seeds", "seeds of each scenario", default="1..1")
    parser.addini("deadrank_runner", "where scenarios are played", default="sim")
    parser.addini("deadrank_arguments", "further arguments of `deadrank run`", type="args", default=[])
    parser.addini("deadrank_timeout", "seconds that one scenario may take", default="600")


def pytest_configure(config):
    config.addinivalue_line("markers", "deadrank: a scenario that deadrank plays")


def _program(config) -> Deadrank:
    def chosen(option, setting):
        return config.getoption(option) or config.getini(setting)

    return Deadrank(chosen("deadrank", "deadrank_program"),
                    chosen("deadrank_runner", "deadrank_runner"),
                    chosen("deadrank_seeds", "deadrank_seeds"),
                    float(config.getini("deadrank_timeout")), config.getini("deadrank_arguments"))


def pytest_collect_file(file_path, parent):
    if any(file_path.match(pattern) for pattern in parent.config.getini("deadrank_scenarios")):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    def collect(self):
        name = self.path.name
        for ending in (".toml", ".scenario"):
            name = name.removesuffix(ending)
        yield ScenarioItem.from_parent(self, name=name)


class NotNoticed(Exception):
    """The verdict was not `pass`; the text is deadrank's story."""


class ScenarioItem(pytest.Item):
    def __init__(self, **given):
        super().__init__(**given)
        self.add_marker("deadrank")

    def runtest(self):
        outcome = _program(self.config).run(self.path)
        for trial in outcome.trials:
            self.user_properties.append(("token", trial.get("token", "")))
        if outcome.skipped:
            pytest.skip(outcome.skipped)
        if not outcome.passed:
            raise NotNoticed(outcome.story or outcome.verdict)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (NotNoticed, Trouble)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, 0, f"scenario: {self.name}"


@pytest.fixture
def deadrank(request) -> Deadrank:
    """Plays scenarios from a test: `assert deadrank.run("communication/rank_leaves_all_reduce").passed`."""
    return _program(request.config)
