# runners/suites/pytest/pytest_deadrank/plugin.py — Collects scenario files as tests, and offers the fixtures
# `deadrank` (scenarios) and `cluster` (a program under faults) for a user's own tests. Collects the files that match the ini option deadrank_scenarios, below
# the directories that pytest collects. With --deadrank-ranks=simulated the whole suite runs under `deadrank test`.
from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_deadrank.program import Deadrank, Trouble


def pytest_addoption(parser):
    group = parser.getgroup("deadrank", "scenarios of distributed training with faults")
    group.addoption("--deadrank", metavar="PROGRAM", help="the program deadrank [on PATH]")
    group.addoption("--deadrank-seeds", metavar="A..B", help="seeds of each scenario [1..1]")
    group.addoption("--deadrank-runner", metavar="NAME", help="sim, local, mpi or gpu [sim]")
    group.addoption("--deadrank-ranks", choices=["simulated"],
                    help="ranks of torch's test classes are simulated, as by `deadrank test -- pytest …`")
    group.addoption("--deadrank-gpus", type=int, metavar="N", help="show them N simulated GPUs")
    parser.addini("deadrank_scenarios", "patterns of scenario files to collect", type="args",
                  default=["*.scenario.toml"])
    parser.addini("deadrank_program", "the program deadrank", default="deadrank")
    parser.addini("deadrank_seeds", "seeds of each scenario", default="1..1")
    parser.addini("deadrank_runner", "where scenarios are played", default="sim")
    parser.addini("deadrank_arguments", "further arguments of `deadrank run`", type="args", default=[])
    parser.addini("deadrank_timeout", "seconds that one scenario may take", default="600")


def pytest_configure(config):
    config.addinivalue_line("markers", "deadrank: a scenario that deadrank plays")
    config.addinivalue_line("markers", "faults(*faults, seeds=(1,)): what `cluster` injects, once for each seed")


def pytest_cmdline_main(config):
    """The suite's process is started again by `deadrank test`, which answers the starts of ranks."""
    option = config.option
    if option.deadrank_gpus is not None and not option.deadrank_ranks:
        raise pytest.UsageError("--deadrank-gpus needs --deadrank-ranks=simulated")
    only_shows = option.help or option.version or option.collectonly
    if not option.deadrank_ranks or only_shows or "DEADRANK_SUITE" in os.environ:
        return None
    gpus = [] if option.deadrank_gpus is None else ["--gpus", str(option.deadrank_gpus)]
    command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
    try:
        program = _program(config).path()
    except Trouble as trouble:
        raise pytest.UsageError(str(trouble)) from None
    return subprocess.run([program, "test", *gpus, "--", *command], cwd=config.invocation_params.dir).returncode


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


def _left_out(config):
    """Scenario files below the root directory that pytest does not go to. None if paths were typed."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return []
    skipped = [pattern.strip("*") for pattern in config.getini("norecursedirs")]

    def visited(path):
        parts = path.relative_to(config.rootpath).parts
        return not any(part.startswith(".") or part in skipped for part in parts)

    return [path for pattern in config.getini("deadrank_scenarios")
            for path in config.rootpath.rglob(pattern) if visited(path)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if any(isinstance(item, ScenarioItem) for item in items):
        return
    files = _left_out(config)
    if files:
        places = sorted({str(path.parent.relative_to(config.rootpath)) for path in files})
        raise pytest.UsageError(
            f"deadrank_scenarios matches {len(files)} files below {config.rootpath}, and none lies below "
            f"testpaths. Add {', '.join(places[:3])} to testpaths.")


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


class Cluster:
    """A program on simulated ranks. `cluster(ranks=8).run(["torchrun", "train.py"], expect=recovers())`."""

    def __init__(self, program, faults, seed, told, settings=None):
        self._program, self._faults, self._seed, self._told = program, faults, seed, told
        self._settings = settings or {}

    def __call__(self, **settings) -> Cluster:
        """With ranks=, nodes=, gpus=, cwd= or timeout=, as deadrank.run takes them."""
        return Cluster(self._program, self._faults, self._seed, self._told, {**self._settings, **settings})

    def run(self, command, faults=None, expect=None, **settings):
        """deadrank.run with the faults of the marker, unless others are given, and the seed of this test."""
        import deadrank as package

        __tracebackhide__ = True  # a failure is shown at the test's own line
        chosen = {"program": self._program, "seed": self._seed, **self._settings, **settings}
        result = package.run(command, self._faults if faults is None else faults, expect, **chosen)
        self._told.append(result.story())
        return result


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("faults")
    if marker is None:
        return
    if "cluster" not in metafunc.fixturenames:
        pytest.fail(f"{metafunc.definition.nodeid} has the marker faults and does not take the fixture cluster, "
                    "which injects them: add it to the arguments", pytrace=False)
    seeds = _seeds_of(marker, metafunc.definition.nodeid)
    metafunc.parametrize("cluster", seeds, indirect=True, ids=[f"seed{seed}" for seed in seeds])


def _seeds_of(marker, test):
    unknown = set(marker.kwargs) - {"seeds"}
    if unknown:
        words = ", ".join(f"{one}=" for one in sorted(unknown))
        pytest.fail(f"{test}: the marker faults takes faults and seeds=, not {words}", pytrace=False)
    seeds = marker.kwargs.get("seeds", (1,))
    if isinstance(seeds, int):
        pytest.fail(f"{test}: seeds={seeds} is one number: write seeds=range({seeds}) or seeds=[{seeds}]", pytrace=False)
    seeds = list(seeds)
    if not seeds:
        pytest.fail(f"{test}: seeds= is empty, so no test would run", pytrace=False)
    return seeds


STORIES = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails shows the story of each run that it made."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for story in item.stash.get(STORIES, []):
            report.sections.append(("deadrank", story))


@pytest.fixture
def cluster(request) -> Cluster:
    """Plays a program of the user's under faults: @pytest.mark.faults(kill(before="all_reduce"), seeds=range(20))."""
    marker = request.node.get_closest_marker("faults")
    program = request.config.getoption("deadrank") or request.config.getini("deadrank_program")
    told = request.node.stash.setdefault(STORIES, [])
    return Cluster(program, list(marker.args) if marker else [], getattr(request, "param", 1), told)
