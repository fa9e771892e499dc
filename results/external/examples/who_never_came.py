#!/usr/bin/env python3
# results/external/examples/who_never_came.py — A detector in twenty lines: which ranks are absent from
# the last collective after a minute? Events are JSON lines on standard input, findings on standard output.
import json, sys

print(json.dumps({"detector": "who_never_came", "version": "1.0", "symptoms": ["collective_deadlock_hang"]}))
until, last, members = json.loads(sys.stdin.readline() or "{}").get("observed_until", 0), {}, {}
for line in sys.stdin:
    event = json.loads(line)
    if event["kind"] == "comm.init.enter":
        members.setdefault(event["comm"], set()).add(event["rank"])
    if event["kind"] == "collective.enter":
        last.setdefault(event["comm"], {})[event["rank"]] = event
for comm, calls in last.items():
    top = max(calls.values(), key=lambda call: call["seq"])
    came = {rank for rank, call in calls.items() if call["seq"] == top["seq"]}
    absent = sorted(set(members.get(comm, calls)) - came)
    alarm = max(call["t"] for call in calls.values()) + 60_000_000_000
    if absent and alarm <= until:
        print(json.dumps({"symptom": "collective_deadlock_hang", "at": alarm,
                          "blame": {"ranks": absent, "collective": top["op"]},
                          "says": f"rank {absent} never entered {top['op']} {top['seq']}"}))
