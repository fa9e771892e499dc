# runners/backends/local/hook/deadrank_hook/store.py — Routes a rank's connection to the store through the
# runner's proxy, for the ranks that have a port there. The rank's address variables are changed before it
# imports torch; the evidence shows the original ones.
import json
import os
import socket


def hosts_the_store():
    """Without a launcher the process with RANK 0 hosts the store; under torchrun the agent does."""
    return os.environ.get("RANK") == "0" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"


class Detour:
    def __init__(self, slot):
        self.slot = slot
        self.meant = ""  # host:port as the rank was told; empty: no proxy
        self.trouble = "the runner has no port for this rank"
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
            return "rank 0 hosts the store in its own process, so it cannot be proxied; aim at another"
        trouble = self.say(target=[host, int(port)])
        if not trouble:
            self.meant = f"{host}:{port}"
            os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(door)
        return trouble

    def change(self, how, late, amount):
        return self.trouble or self.say(how=how, late=late, amount=amount)

    def say(self, **words):
        """None if the proxy obeyed, else one sentence."""
        try:
            with socket.create_connection(("127.0.0.1", self.words), timeout=10) as line:
                line.sendall((json.dumps({"rank": self.slot, **words}) + "\n").encode())
                answer = line.makefile(encoding="utf-8").readline().strip()
        except OSError as trouble:
            return f"the proxy before the store does not answer: {trouble}"
        return None if answer == "ok" else f"the proxy before the store says: {answer or 'nothing'}"
