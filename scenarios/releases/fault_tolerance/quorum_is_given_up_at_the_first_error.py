# scenarios/releases/fault_tolerance/quorum_is_given_up_at_the_first_error.py — A replica group that may ask
# ten times for a quorum, while its lighthouse is away for three seconds.
import os
import socket
import subprocess
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist
from torchft import Manager, ProcessGroupGloo

RANK, STEPS, AWAY_AT, SECONDS_AWAY = os.environ["RANK"], 8, 4, 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


LIGHTHOUSE = """
import sys
from torchft.coordination import LighthouseServer
server = LighthouseServer(bind=sys.argv[1], min_replicas=1, join_timeout_ms=100, quorum_tick_ms=50)
print("ready", flush=True)
sys.stdin.read()
"""


def lighthouse_at(port):
    command = [sys.executable, "-c", LIGHTHOUSE, f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    process.stdout.readline()
    return process


def main():
    port = free_port()
    lighthouse = lighthouse_at(port)
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    weight = torch.zeros(1)
    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=10)), min_replica_size=1, use_async_quorum=False,
        load_state_dict=lambda state: None, state_dict=lambda: {"weight": weight}, replica_id="r" + RANK,
        store_addr="localhost", store_port=store.port, rank=0, world_size=1, hostname="127.0.0.1",
        lighthouse_addr=f"http://127.0.0.1:{port}", timeout=timedelta(seconds=10), quorum_retries=10,
        quorum_timeout=timedelta(seconds=20), connect_timeout=timedelta(seconds=2))
    lighthouses = [lighthouse]
    while manager.current_step() < STEPS:
        step = manager.current_step()
        if step == AWAY_AT and len(lighthouses) == 1:
            lighthouse.kill()
            lighthouse.wait()
            print("the lighthouse goes away", flush=True)
            lighthouses.append(None)
            threading.Timer(SECONDS_AWAY, lambda: lighthouses.append(lighthouse_at(port))).start()
        manager.start_quorum()
        if manager.should_commit():
            print(f"step={step} loss={1 / (step + 1):.4f}", flush=True)
    print("trained", flush=True)
    manager.shutdown(wait=False)
    lighthouses[-1].kill()


if __name__ == "__main__":
    main()
