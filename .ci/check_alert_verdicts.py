#!/usr/bin/env python3
# .ci/check_alert_verdicts.py — Checks the verdicts of `deadrank alerts` against `promtool test rules`. For
# each rule file and failure it takes the series that deadrank kept, writes a unit test of its own over the
# operator's rules, and compares when each alert is pending and firing with what the report states. Prints a
# table; exits 1 on a disagreement.
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

NOTICED = ("caught", "late", "sticky", "wrong place")
NEVER_FIRED = ("missed", "unconcerned", "pending only", "after repair", "dead", "depends on your names",
               "not simulated")
ON_HEALTHY = ("false alarm", "background")
MARK = "deadrank_rule"
PENDING = 'ALERTS{alertstate="pending"}'
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}


def seconds_of(text):
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|[smhdwy])", text))


def labels_of(text):
    return frozenset((name, value) for name, value in LABEL.findall(text) if name not in ("__name__", "alertstate"))


def same_file(path):
    """Letters that deadrank keeps in the name of a failure's files."""
    return re.sub(r"[^A-Za-z0-9-]", "_", path)


class Part:
    """One run of promtool: its series, its interval, and the alerts that deadrank asked in it."""

    def __init__(self, edges):
        self.text = edges.read_text(errors="surrogateescape")
        self.id = edges.name.removesuffix(".edges.yml")
        rules = json.loads((edges.parent / (self.id + ".rules.json")).read_text())
        self.marked = {}
        for group in rules["groups"]:
            for rule in group["rules"]:
                if "alert" in rule and MARK in rule.get("labels", {}):
                    self.marked[int(rule["labels"][MARK])] = rule["alert"]
        head, rest = self.text.split("evaluation_interval: ", 1)
        self.eval = seconds_of(rest.split("\n", 1)[0])
        series, tests = rest.split("  promql_expr_test:\n", 1)
        self.body = "evaluation_interval: " + series
        times = [seconds_of(time) for time in re.findall(r"eval_time: ([\w.]+)", tests)]
        self.origin, self.end = min(times), max(times)
        self.rules = edges.parent / (self.id + ".rules.json")

    def steps(self):
        count = int(round((self.end - self.origin) / self.eval))
        return [self.origin + step * self.eval for step in range(count + 1)]


def loaded_files(directory, part):
    """The operator's files as promtool loads them, which deadrank's kept test names; none if there is no such test."""
    kept = directory / (part.id + ".test.yml")
    if not kept.exists():
        return []
    files = []
    for line in kept.read_text(errors="surrogateescape").split("rule_files:\n", 1)[1].splitlines():
        if not line.startswith("  - '"):
            return files
        files.append(line[5:-1].replace("''", "'"))
    return files


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


class Play:
    """When each alert was firing, asked by alert_rule_test, and pending, asked by its series."""

    def __init__(self, directory, part, files, groups, promtool):
        self.firing = collections.defaultdict(set)   # (alert, labels) → times
        self.pending = collections.defaultdict(set)
        self.trouble = ""
        self.first = None  # the rule with mark 0, where the rules are marked
        steps = part.steps()
        test = "rule_files:\n" + "".join(f"  - {quoted(file)}\n" for file in files)
        if groups:
            test += "group_eval_order:\n" + "".join(f"  - {quoted(group)}\n" for group in groups)
        test += part.body + "  alert_rule_test:\n"
        for name in sorted(set(part.marked.values())):
            for time in steps:
                test += f"  - {{eval_time: {round(time * 1000)}ms, alertname: {quoted(name)}, exp_alerts: []}}\n"
        test += "  promql_expr_test:\n"
        for time in steps:
            test += f"  - {{expr: '{PENDING}', eval_time: {round(time * 1000)}ms, exp_samples: []}}\n"
        file = directory / (part.id + ".check.yml")
        file.write_text(test, errors="surrogateescape")
        run = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True,
                             errors="replace")
        self.read(run.stdout + run.stderr, part.origin)
        if run.returncode and not self.firing and not self.pending:
            self.trouble = self.trouble or (run.stderr or run.stdout).strip()[-300:]

    def times(self, seen, i, rule):
        """Label set → times, of one rule: by its mark, else by its name and its own labels that are no templates."""
        if self.first is not None:
            own = {(MARK, str(i - self.first))}
        else:
            own = {(name, value) for name, value in rule["labels"].items() if "{{" not in value}
        return {frozenset(one for one in labels if one[0] != MARK): times
                for (name, labels), times in seen.items() if name == rule["name"] and own <= labels}

    def read(self, text, origin):
        name, time = "", 0
        for line in text.splitlines():
            line = line.strip()
            if found := re.match(r"alertname: (.*), time: ([\w.]+), ?$", line):
                name, time = found[1], round(seconds_of(found[2]) - origin, 3)
            elif line.startswith("Labels:{") and name:
                self.firing[name, labels_of(line)].add(time)
            elif found := re.match(r"expr: .*, time: ([\w.]+),", line):
                name, time = "", round(seconds_of(found[1]) - origin, 3)
            elif line.startswith("got: ") and not name:
                for sample in re.findall(r"\{((?:\w+=\"(?:[^\"\\]|\\.)*\"(?:, )?)*)\}", line):
                    labels = labels_of(sample)
                    self.pending[dict(labels).get("alertname", ""), labels].add(time)
            elif ", err: " in line:
                self.trouble = line


class Check:
    def __init__(self, options):
        self.options = options
        self.disagreements = []
        self.rows = collections.defaultdict(collections.Counter)  # by rule file
        self.refused = []

    def judge(self, path):
        """Lets deadrank judge a file, or a directory of them in one command, and checks each cell."""
        work = self.options.work / same_file(path.name)
        work.mkdir(parents=True, exist_ok=True)
        command = [self.options.deadrank, "alerts", str(path), "--json", "--no-suggestions", "--out", str(work),
                   "-j", str(self.options.jobs), *self.options.arguments]
        kept = work / "report.json"
        if not (self.options.reuse and kept.exists()):
            run = subprocess.run(command, capture_output=True, text=True, errors="replace")
            if not run.stdout.startswith("{"):
                self.refused.append(f"{path.name}: {(run.stderr.strip().splitlines() or ['no report'])[0]}")
                return
            kept.write_text(run.stdout)
        report = json.loads(kept.read_text())
        self.refused += [note for note in report["notes"] if note.startswith("left out")]
        self.refused += [f"{one['file']}:{one['line']}: {one['words']}" for one in report["invalid"]]
        self.window = report["window"]
        self.rules = report["rules"]
        self.alerts = [i for i, rule in enumerate(self.rules) if rule["kind"] == "alert"]
        if not self.alerts or not report["faults"]:
            return
        for fault in report["faults"]:
            for cell, i in zip(fault["cells"], self.alerts):
                self.rules[i]["labels"] = cell.get("labels", {})
        self.groups = self.groups_below(work)
        incidents = ["healthy", *(fault["fault"] for fault in report["faults"])]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            plays = dict(zip(incidents, pool.map(self.play, map(same_file, incidents))))
        healthy = plays.pop("healthy")
        fired_ever = {i for runs in (healthy, *plays.values()) for i, (played, _) in runs.items()
                      if played.times(played.firing, i, self.rules[i])}
        for fault in report["faults"]:
            for cell, i in zip(fault["cells"], self.alerts):
                self.cell(fault, cell, i, healthy.get(i), plays[fault["fault"]].get(i), i in fired_ever)

    def groups_below(self, work):
        """Directory → its first rule: files with other names for the same job are judged apart, in the order
        of the report, and each group numbers its rules from 0."""
        groups, first = [], 0
        for directory in (work, *(work / str(number) for number in range(2, 100))):
            marked = {}
            for edges in directory.glob("healthy*.edges.yml"):
                part = Part(edges)
                marked |= part.marked
            if not marked:
                continue
            while any(first + i >= len(self.rules) or self.rules[first + i]["name"] != name
                      for i, name in marked.items()):
                first += 1
                if first >= len(self.rules):
                    sys.exit(f"{directory}: its alerts are not in the report")
            groups.append((directory, first))
            first += max(marked) + 1
        return groups

    def play(self, incident):
        """Rule → (what promtool reported, interval); the runs with a longer past are the last word."""
        plays = {}
        of_incident = re.compile(re.escape(incident) + r"(\.[\w.]+)?\.edges\.yml")
        for directory, first in self.groups:
            found = [one for one in directory.glob("*.edges.yml") if of_incident.fullmatch(one.name)]
            for edges in sorted(found, key=lambda one: (".for" in one.name, one.name)):
                part = Part(edges)
                if not part.marked:
                    continue
                # Two alerts of one name are told apart by the marks in deadrank's copy of the rules.
                unique = len(set(part.marked.values())) == len(part.marked)
                files = loaded_files(directory, part) if unique else []
                groups = list(dict.fromkeys(rule["group"] for rule in self.rules[first:])) if files else []
                played = Play(directory, part, files or [str(part.rules)], groups, self.options.promtool)
                played.first = first if not files else None
                if not self.options.keep:
                    (directory / (part.id + ".check.yml")).unlink()
                for i in part.marked:
                    plays[first + i] = (played, part.eval)
        print(f"played {incident}", file=sys.stderr, flush=True)
        return plays

    def cell(self, fault, cell, i, healthy, played, fired_ever):
        verdict, row = cell["verdict"], self.rows[pathlib.Path(self.rules[i]["file"]).name]
        row[verdict] += 1
        row["cells"] += 1
        played = played or healthy
        if verdict in ("unjudged", "invalid") or healthy is None or played[0].trouble or healthy[0].trouble:
            row["not checked"] += 1
            return
        row["of the healthy run" if played is healthy else "played"] += 1
        why = self.contradiction(cell, fault, i, healthy[0], *played, fired_ever)
        if why:
            row["disagree"] += 1
            self.disagreements.append(f"{self.rules[i]['file']}: {fault['fault']} × {cell['alert']}: {verdict}, "
                                      f"{why} ({cell['says']})")

    def contradiction(self, cell, fault, i, healthy, played, interval, fired_ever):
        verdict, at, rule = cell["verdict"], fault["at"], self.rules[i]
        over = max(fault["repaired"], at + self.window["scrape"] + interval)

        def new(seen, known):
            """Times between failure and repair at which a label set is active that is not on the healthy run."""
            return sorted(time for labels, times in seen.items() for time in times
                          if at <= time < over and time not in known.get(labels, ()))

        usual, firing = healthy.times(healthy.firing, i, rule), played.times(played.firing, i, rule)
        fires = new(firing, usual)
        waits = new(played.times(played.pending, i, rule), healthy.times(healthy.pending, i, rule))
        if verdict in NOTICED:
            began = at + cell["latency"][0]
            if not fires:
                return "and promtool has no firing of its own between failure and repair"
            if abs(fires[0] - began) > 0.01:
                return f"from {began:g} s on, and promtool fires from {fires[0]:g} s on"
            if verdict == "sticky" and not any(self.window["duration"] in times for times in firing.values()):
                return "and promtool has it cleared at the end"
        if verdict in NEVER_FIRED and fires:
            return f"and promtool fires from {fires[0]:g} s on"
        if verdict == "pending only" and not waits:
            return "and promtool has it pending at no time between failure and repair"
        if verdict in ("missed", "unconcerned", "dead", "not simulated", "depends on your names") and waits:
            return f"and promtool has it pending from {waits[0]:g} s on"
        # absent() of what is not simulated rings in every run.
        misses = rule.get("healthy", {}).get("verdict") == verdict and verdict not in ON_HEALTHY
        if verdict in ("dead", "not simulated", "depends on your names") and fired_ever and not misses:
            return "and promtool fires in one of the runs"
        if (verdict in ON_HEALTHY or misses) and not usual:
            return "and promtool never fires on the healthy run"
        return ""


def table(rows):
    kinds = ["cells", *NOTICED, "pending only", "after repair", "missed", "unconcerned", *ON_HEALTHY, "dead",
             "depends on your names", "not simulated", "unjudged", "played", "of the healthy run", "not checked",
             "disagree"]
    kinds = [kind for kind in kinds if kind in ("cells", "disagree") or any(row[kind] for row in rows.values())]
    print("| file | " + " | ".join(kinds) + " |\n|" + "---|" * (len(kinds) + 1))
    for name, row in sorted(rows.items()):
        print(f"| {name} | " + " | ".join(str(row[kind]) for kind in kinds) + " |")
    print("| all | " + " | ".join(str(sum(row[kind] for row in rows.values())) for kind in kinds) + " |")


def main():
    parser = argparse.ArgumentParser(description="Checks the verdicts of `deadrank alerts` against promtool.")
    parser.add_argument("files", nargs="+", type=pathlib.Path,
                        help="rule files, or directories of them, each judged in one command")
    parser.add_argument("--deadrank", default="deadrank", help="the program [deadrank]")
    parser.add_argument("--promtool", default="promtool", help="the judge [promtool]")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where generated files go")
    parser.add_argument("--jobs", type=int, default=2, help="failures played at once [2]")
    parser.add_argument("--reuse", action="store_true", help="check the report that is in --work")
    parser.add_argument("--keep", action="store_true", help="keep the tests that promtool was asked")
    parser.add_argument("--argument", dest="arguments", action="append", default=[], metavar="WORD",
                        help="one more argument for deadrank alerts, as --argument=--cluster=4x8")
    options = parser.parse_args()
    check = Check(options)
    for path in options.files:
        check.judge(path)
    table(check.rows)
    for one in check.refused:
        print("refused: " + one)
    for one in check.disagreements:
        print(one)
    print(f"{len(check.disagreements)} disagreements with promtool")
    return 1 if check.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
