# tests/sim/managed/torch_suite.py — torch's own distributed suite (it is in every wheel) on managed ranks:
#   torch_suite.py [--ranks 4] [--list FILE] [--only REGEX] [--twice] [--logs DIRECTORY]
# Prints a line for each test that does not pass, and a table. Exits with 1 if any test fails.
import argparse
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time

import small_engine

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = "torch.testing._internal.distributed.distributed_test"
SKIPPED = range(72, 90)  # TEST_SKIPS of torch's common_distributed
FAILED = 10  # TEST_ERROR_EXIT_CODE


def main():
    said = read_arguments()
    os.environ.update(BACKEND=said.backend, WORLD_SIZE=str(said.ranks), TEMP_DIR=tempfile.gettempdir())
    zygote = small_engine.Zygote(preload=[SUITE, "torch._dynamo"], path=os.environ.get("PYTHONPATH", ""))
    if SUITE in zygote.ready["failed"]:
        print(f"{SUITE} cannot be imported: {zygote.ready['failed'][SUITE]}", file=sys.stderr)
        return 2
    results = {}
    for name in names_of(zygote, said):
        began = time.time()
        runs = [run(zygote, name, said) for _ in range(2 if said.twice else 1)]
        result, why, digest = runs[0]
        results[name] = (result, time.time() - began, len({one[2] for one in runs}) == 1)
        if result != "pass" or not results[name][2]:
            print(result, "" if results[name][2] else "(two runs differ)", name, why, flush=True)
    zygote.close()
    return show(results, zygote.ready["torch"], said)


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--list", default="", help="a file of names, or 'all'")
    parser.add_argument("--only", default="")
    parser.add_argument("--twice", action="store_true", help="whether two runs are equal, event by event")
    parser.add_argument("--logs", default="")
    said = parser.parse_args()
    said.list = said.list or os.path.join(HERE, f"torch_suite_{said.ranks}_ranks.txt")
    return said


def names_of(zygote, said):
    """Of the list, or all that the suite has."""
    if said.list == "all":
        ask = f"import {SUITE} as s; print(*[n for n in dir(s.DistributedTest._DistTestBase) if n.startswith('test_')])"
        engine = small_engine.Engine(zygote, ["-c", ask], 1)
        engine.run()
        names = engine.output(0).split()
    else:
        with open(said.list, encoding="ascii") as file:
            names = file.read().split()
    return [name for name in names if re.search(said.only, name)]


def run(zygote, name, said):
    """The result, the last line of the first rank that failed, and a hash of all events."""
    place = os.path.join(tempfile.gettempdir(), f"torch_suite.{os.getpid()}")  # the same in two runs
    os.mkdir(place)
    program = os.path.join(HERE, "programs/torch_suite_rank.py")
    environment = {"TORCH_SHOW_CPP_STACKTRACES": "0"}
    engine = small_engine.Engine(zygote, [program, name, place], said.ranks, environment, place)
    engine.ends_with = FAILED
    try:
        codes, trouble = engine.run(), ""
    except Exception as error:
        codes, trouble = [FAILED] * said.ranks, repr(error)
    engine.kill()
    outputs = [engine.output(rank) for rank in range(said.ranks)]
    if said.logs:
        os.makedirs(said.logs, exist_ok=True)
        with open(os.path.join(said.logs, name + ".log"), "w", encoding="utf-8") as log:
            for rank, output in enumerate(outputs):
                log.write(f"--- rank {rank}: {codes[rank]} {engine.ranks[rank].error}\n{output}\n")
            log.write(trouble)
    shutil.rmtree(place, ignore_errors=True)
    if said.logs:
        number = len([one for one in os.listdir(said.logs) if one.startswith(name + ".events")])
        with open(os.path.join(said.logs, f"{name}.events{number}"), "w", encoding="utf-8") as events:
            events.write("\n".join(engine.events))
    digest = hashlib.sha256("\n".join(engine.events).encode()).hexdigest()
    if set(codes) == {0}:
        return "pass", "", digest
    if codes[0] in SKIPPED:
        return "skip", f"(exit code {codes[0]})", digest
    failed = next((rank for rank, code in enumerate(codes) if code), 0)
    lines = [line for line in outputs[failed].splitlines() if re.match(r"(\[rank\d\]: )?\w*(Error|Exception)", line)]
    return "fail", f"{codes} {trouble} {lines[-1][:160] if lines else ''}", digest


def show(results, release, said):
    counts = {word: sum(result == word for result, *_ in results.values()) for word in ("pass", "skip", "fail")}
    seconds = sum(one[1] for one in results.values())
    print(f"torch {release}, {said.backend}, {said.ranks} ranks: {counts['pass']} pass, {counts['skip']} skip, "
          f"{counts['fail']} fail, {seconds:.1f} s")
    if said.twice:
        print(f"two runs equal: {sum(same for *_, same in results.values())} of {len(results)}")
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
