# tests/agents/otlp_check.py — Goal: what --otlp writes is OTLP as OpenTelemetry's own package reads it, with a span for
# each rank, step and collective of the evidence, and a collector gets the same.
"""Usage: otlp_check.py --deadrank PROGRAM; exit code 77 if something is missing."""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from clients import use_clients

SOURCE = Path(__file__).resolve().parents[2]
LACKING = 77
SCENARIO = "communication/rank_leaves_all_reduce"
ERROR = 2


def read(line):
    """One line as TracesData. The protocol's JSON has ids in hexadecimal, protobuf's reader takes base64."""
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1 import trace_pb2

    def with_bytes(value):
        if isinstance(value, list):
            return [with_bytes(one) for one in value]
        if not isinstance(value, dict):
            return value
        ids = ("traceId", "spanId", "parentSpanId")
        return {name: base64.b64encode(bytes.fromhex(one)).decode() if name in ids else with_bytes(one)
                for name, one in value.items()}

    return json_format.ParseDict(with_bytes(json.loads(line)), trace_pb2.TracesData())


def attributes(owner):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in owner.attributes}


def runs_of(data):
    """Each run of a trial: the attributes of its resource, and its spans, which must be one tree."""
    for resource in data.resource_spans:
        spans = [span for scope in resource.scope_spans for span in scope.spans]
        ids = {span.span_id for span in spans}
        assert len(ids) == len(spans), "an id occurs twice"
        assert {len(span.trace_id) for span in spans} == {16} and {len(one) for one in ids} == {8}
        assert len({span.trace_id for span in spans}) == 1
        assert sum(not span.parent_span_id for span in spans) == 1, "there is one root"
        assert all(span.parent_span_id in ids for span in spans if span.parent_span_id)
        assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
        yield attributes(resource.resource), spans


def evidence_of(place):
    return [json.loads(line) for line in place.read_text().splitlines()[1:]]


def compare(spans, events):
    """The spans have what the evidence has."""
    kinds = Counter(event.get("kind") for event in events)
    names = Counter(span.name.split()[0] for span in spans)
    ranks = {event["rank"] for event in events if event.get("kind") == "rank.start"}
    assert {span.name for span in spans if span.name.startswith("rank ")} == {f"rank {rank}" for rank in ranks}
    assert names["step"] == kinds["step.begin"], (names, kinds)
    collectives = Counter(f"{event['op']}" for event in events if event.get("kind") == "collective.enter")
    for op, count in collectives.items():
        assert names[op] == count, (op, names, collectives)
    open_ones = kinds["collective.enter"] - kinds["collective.leave"]
    unfinished = [span for span in spans if span.status.message == "never ended" and span.name.split()[0] in collectives]
    assert len(unfinished) <= open_ones, (len(unfinished), open_ones)


def check_file(run, place):
    file = place / "traces.jsonl"
    run("run", SCENARIO, "--seeds", "1..2", "--otlp", file, "--out", place / "out")
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    for seed, line in enumerate(lines, 1):
        runs = list(runs_of(read(line)))
        assert [head["deadrank.variant"] for head, _ in runs] == ["fault", "control", "healed"]
        for head, spans in runs:
            assert head["service.name"] == "deadrank" and head["deadrank.seed"] == seed
            directory = place / "out" / SCENARIO / str(seed)
            faulty = head["deadrank.variant"] == "fault"
            compare(spans, evidence_of((directory if faulty else directory / head["deadrank.variant"]) / "evidence.jsonl"))
            [root] = [span for span in spans if not span.parent_span_id]
            if head["deadrank.variant"] != "healed":  # where the fault stays, and the launcher names it
                assert ({"fault", "alarm"} <= {event.name for event in root.events}) == faulty, root.events
                assert (root.status.code == ERROR) == faulty
            assert any(span.status.message == "never ended" for span in spans) == faulty
    return file


def check_replay(run, place, file):
    token = json.loads(run("run", SCENARIO, "--json").stdout)["token"]
    replayed = place / "replayed.jsonl"
    run("replay", token, "--otlp", replayed)
    [(head, spans)] = runs_of(read(replayed.read_text()))
    first_head, first_spans = next(runs_of(read(file.read_text().splitlines()[0])))
    assert head["deadrank.trace_hash"] == first_head["deadrank.trace_hash"] and len(spans) == len(first_spans)


def check_two_exports_are_equal(run, place):
    for name in ("a", "b"):
        run("run", SCENARIO, "scheduling/one_slow_device", "--seeds", "1..4", "--jobs", "2", "--otlp", place / name,
            SOURCE_DATE_EPOCH="1700000000")
    assert (place / "a").read_bytes() == (place / "b").read_bytes()
    first = next(runs_of(read((place / "a").read_text().splitlines()[0])))[1]
    assert min(span.start_time_unix_nano for span in first) == 1700000000 * 10**9


def check_collector(run):
    got, status = [], [200]

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            got.append((self.path, self.headers["Content-Type"], body))
            self.send_response(status[0])
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    run("run", SCENARIO, "--seeds", "1..3", "--otlp", url)
    assert [one[:2] for one in got] == [("/v1/traces", "application/json")] * 3
    assert all(len(list(runs_of(read(body)))) == 3 for _, _, body in got)
    status[0] = 503
    assert "answers 503" in run("run", SCENARIO, "--otlp", url, due=64).stderr
    server.shutdown()
    server.server_close()
    assert "does not answer" in run("run", SCENARIO, "--otlp", url, due=64).stderr
    assert "another machine" in run("run", SCENARIO, "--otlp", "http://192.0.2.1:4318", due=64).stderr


def check_program(run, place):
    file = place / "program.jsonl"
    program = SOURCE / "tests/suites/pytest_program/train.py"
    run("inject", "kill rank 1 before all_reduce 2", "--record", place / "program", "--otlp", file, "--", "torchrun",
        "--nproc-per-node", "2", program)
    (fault, spans), (control, healthy) = runs_of(read(file.read_text()))
    assert fault["deadrank.variant"] == "fault" and control["deadrank.variant"] == "control"
    compare(spans, evidence_of(place / "program/evidence.jsonl"))
    compare(healthy, evidence_of(place / "program/control/evidence.jsonl"))
    [killed] = [span for span in spans if span.name == "rank 1"]
    assert killed.status.code == ERROR and "signal 9" in killed.status.message, killed.status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deadrank", type=Path, required=True)
    deadrank = parser.parse_args().deadrank.resolve()
    asked = [sys.executable, "-c", "import opentelemetry.proto.trace.v1.trace_pb2"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        print(f"skipped: {sys.executable} has no opentelemetry-proto: ./dev tools prepares one")
        return LACKING
    python = os.environ.setdefault("DEADRANK_PYTHON", str(Path.home() / ".cache/deadrank/venv/bin/python"))

    def run(*words, due=0, **variables):
        done = subprocess.run([deadrank, *map(str, words)], capture_output=True, text=True, check=False,
                              env=os.environ | variables)
        assert done.returncode == due, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    with tempfile.TemporaryDirectory(prefix="deadrank-otlp-") as name:
        place = Path(name)
        file = check_file(run, place)
        check_replay(run, place, file)
        check_two_exports_are_equal(run, place)
        check_collector(run)
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
            print("skipped: the part with a program needs torch: ./dev tools prepares one")
            return LACKING
        check_program(run, place)
    print("files, replays, a collector and a program: OpenTelemetry's package reads all of it")
    return 0


if __name__ == "__main__":
    use_clients()
    sys.exit(main())
