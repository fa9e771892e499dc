# runners/backends/local/hook/deadrank_hook/network.py — The network of this rank's node, where each node has
# its own network namespace. A rank enters its node's namespace before it opens a socket; faults are firewall
# rules there.
import ctypes
import json
import os
import subprocess

CLONE_NEWNET = 0x40000000
BILLION = 1_000_000_000


class Network:
    def __init__(self, slot):
        told = json.loads(os.environ.get("DEADRANK_NETWORK") or "{}")
        mine = told.get("of_rank", {}).get(str(slot), {})
        self.name, self.port = mine.get("namespace", ""), mine.get("port", "")
        self.bridge, self.ip, self.nft = told.get("bridge", ""), told.get("ip", ""), told.get("nft", "")
        self.table = f"inet deadrank{slot}"
        self.pulled = False
        self.states = {}  # (peer's address, one way) → what is wrong with that path
        if self.name:
            enter(self.name)

    def change(self, peer="", one_way=False, **change):
        """Returns a sentence if it cannot be done. An empty peer means all peers: the node's cable."""
        if not self.name:
            return "this rank's node has no network of its own"
        state = self.states.setdefault((peer, one_way), {})
        state.update({name: value for name, value in change.items() if value is not None})
        cable = self.states.get(("", False), {})
        pulled = bool(cable.get("down")) and not cable.get("reset")
        said = None
        if pulled != self.pulled:
            way = "down" if pulled else "up"
            said = self.call([self.ip, "-n", self.bridge, "link", "set", self.port, way])
            self.pulled = pulled
        return said or self.call([self.nft, "-f", "-"], self.rules())

    def rules(self):
        """The whole table, rewritten: a state is set, never added to."""
        lines = {"input": [], "output": []}
        for (peer, one_way), state in self.states.items():
            there = f"ip daddr {peer}" if peer else 'oifname != "lo"'
            here = f"ip saddr {peer}" if peer else 'iifname != "lo"'
            for what in effects(state, cable=not peer and not one_way):
                lines["output"].append(f"{there} {what}")
                if not one_way:
                    lines["input"].append(f"{here} {what}")
        chains = [
            f"chain {hook} {{ type filter hook {hook} priority 0; {'; '.join(rules)}; }}"
            for hook, rules in lines.items()
            if rules
        ]
        emptied = f"table {self.table}\ndelete table {self.table}\n"
        return emptied + f"table {self.table} {{\n" + "\n".join(chains) + "\n}\n"

    @staticmethod
    def call(command, words=""):
        done = subprocess.run(command, input=words, capture_output=True, text=True, check=False, timeout=20)
        if done.returncode == 0:
            return None
        words = done.stderr.strip().splitlines()
        return f"'{' '.join(command)}' failed: {words[0] if words else done.returncode}"


def effects(state, cable):
    if state.get("down") and state.get("reset"):
        return ["tcp flags & rst == 0 reject with tcp reset"]  # our own resets pass
    if state.get("down"):
        return [] if cable else ["drop"]
    loss = state.get("loss", 0)
    return ["drop"] if loss >= BILLION else [f"numgen random mod {BILLION} < {loss} drop"] if loss else []


def enter(name):
    libc = ctypes.CDLL(None, use_errno=True)
    place = os.open(f"/run/netns/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(place, CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
    finally:
        os.close(place)
