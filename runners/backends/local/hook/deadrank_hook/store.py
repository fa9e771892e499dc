# runners/backends/local/hook/deadrank_hook/store.py — The way to the store through the runner's proxy, for
# the ranks that have a door there. The rank is led before it imports torch; the evidence shows what it was
# told.
import json
import os
import socket


def hosts_the_store():
    """Started bare, the process whose RANK is 0 listens itself; under torchrun the agent does."""
    return os.environ.get("RANK") == "0" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"


class Detour:
    def __init__(self, slot):
        self.slot = slot
        self.meant = ""  # host:port as the rank was told; empty: it goes straight
        self.trouble = "the runner has opened no door to the store for this rank"
        told = json.loads(os.environ.get("DEADRANK_STORE") or "{}")
        self.words = told.get("words")
        door = told.get("doors", {}).get(str(slot))
        if door:
            self.trouble = self.take(door)

    def take(self, door):
        host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
        if not host or not port.isdigit():
            return "this rank was not told by MASTER_ADDR and MASTER_PORT where the store is"
        if hosts_the_store():
            return "rank 0 hosts the store in its own process, so that no way leads there; aim at another"
        trouble = self.say(target=[host, int(port)])
        if not trouble:
            self.meant = f"{host}:{port}"
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(door)
        return trouble

    def change(self, how, late, amount):
        return self.trouble or self.say(how=how, late=late, amount=amount)

    def say(self, **words):
        """Nothing when the proxy obeyed, else one sentence."""
        try:
            with socket.create_connection(("127.0.0.1", self.words), timeout=10) as line:
                line.sendall((json.dumps({"rank": self.slot, **words}) + "\n").encode())
                answer = line.makefile(encoding="utf-8").readline().strip()
        except OSError as trouble:
            return f"the proxy before the store does not answer: {trouble}"
        return None if answer == "ok" else f"the proxy before the store says: {answer or 'nothing'}"
