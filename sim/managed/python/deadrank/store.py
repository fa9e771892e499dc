# sim/managed/python/deadrank/store.py — torch's stores, kept by the simulator. Everything that torch builds on
# them (rendezvous, barriers, heartbeats) keeps running.
import datetime
import gc
import os
import sys

import torch.distributed as dist

from . import channel as wire
from .channel import here, refuse_child

kept = []  # C++ keeps no Python store alive
TIMEOUT = datetime.timedelta(seconds=300)
LOOK = 1_000_000  # ns between two looks while other threads of the rank can run
PORTS = range(32768, 61000)  # of which Linux takes one for port 0


def nanoseconds(timeout):
    if isinstance(timeout, datetime.timedelta):
        return int(timeout / datetime.timedelta(microseconds=1)) * 1000
    return int(timeout * 1e6)  # C++ counts milliseconds


def as_text(value):
    return value if isinstance(value, str) else bytes(value).decode("latin-1")


def from_text(text):
    return text.encode("latin-1")


def leave_unused():
    """torch's C++ frees a store when nothing refers to it any more. Its port is free then."""
    gc.collect()
    for place in range(len(kept) - 1, -1, -1):
        if sys.getrefcount(kept[place]) == 2:  # the list's, and this call's
            here.channel.tell(wire.STORE_CLOSE, store=kept.pop(place).number)


class Store(dist.Store):
    """The operations of all stores. Bytes travel as text of the same numbers."""

    def __init__(self, timeout, **said):
        super().__init__()
        kept.append(self)
        self.limit = nanoseconds(timeout)
        self.opened = here.channel.ask(wire.STORE_OPEN, timeout=self.limit, **said)
        self.number = self.opened["store"]

    def ask(self, op, **said):
        if here.channel is None:
            refuse_child()
        here.turns.before_call()
        return here.channel.ask(wire.STORE, store=self.number, op=op, timeout=self.limit, **said)

    def set(self, key, value):
        self.ask("set", key=key, value=as_text(encoded(value)))

    def get(self, key):
        self.stay_for(key, self.limit)
        return from_text(self.ask("get", key=key)["value"])

    def add(self, key, amount):
        return int(self.ask("add", key=key, amount=amount)["value"])

    def compare_set(self, key, expected, desired):
        expected, desired = as_text(encoded(expected)), as_text(encoded(desired))
        answer = self.ask("compare_set", key=key, expected=expected, value=desired)
        return from_text(answer["value"])

    def wait(self, keys, timeout=None):
        limit = self.limit if timeout is None else nanoseconds(timeout)
        end = here.channel.time() + limit
        for key in keys:
            self.stay_for(key, limit)
            left = max(0, end - here.channel.time())
            here.channel.ask(wire.STORE, store=self.number, op="wait", key=key, timeout=left)

    def stay_for(self, key, limit):
        """While this thread waits, others of the rank may go on: it looks again and again. A rank with one thread
        leaves the waiting to the simulator."""
        turns = here.turns
        if turns.alone:
            return
        end = here.channel.time() + limit
        while not self.check([key]) and here.channel.time() < end:
            turns.sleep_until(min(end, here.channel.time() + LOOK))

    def check(self, keys):
        return all(self.ask("check", key=key)["found"] for key in keys)

    def delete_key(self, key):
        return bool(self.ask("delete", key=key)["found"])

    def num_keys(self):
        return int(self.ask("count")["value"])

    def append(self, key, value):
        self.ask("append", key=key, value=as_text(encoded(value)))

    def multi_get(self, keys):
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        for key, value in zip(keys, values):
            self.set(key, value)

    def has_extended_api(self):
        return True

    def set_timeout(self, timeout):
        self.limit = nanoseconds(timeout)

    @property
    def timeout(self):
        return datetime.timedelta(microseconds=self.limit // 1000)

    def clone(self):
        return self


def encoded(value):
    return value.encode() if isinstance(value, str) else value


def free_port():
    """For port 0. Processes of a node listen on different ports, unless one of them opens more than 64 stores."""
    free_port.taken += 1
    return PORTS[(here.options["process"] * 64 + free_port.taken) % len(PORTS)]


free_port.taken = 0


class TCPStore(Store):
    def __init__(
        self,
        host_name,
        port,
        world_size=None,
        is_master=False,
        timeout=TIMEOUT,
        wait_for_workers=True,
        multi_tenant=False,
        master_listen_fd=None,
        use_libuv=True,
    ):
        if port == 0 and is_master:
            port = free_port()
        if any(getattr(store, "place", None) == (host_name, port) for store in kept):
            leave_unused()
        super().__init__(
            timeout,
            endpoint=f"{host_name}:{port}",
            host=bool(is_master),
            world=world_size if world_size and wait_for_workers else 0,
            own=False,
        )
        self.host = host_name
        self.port = port
        self.place = (host_name, port)
        self.libuvBackend = use_libuv


class FileStore(Store):
    def __init__(self, file_name, world_size=-1):
        super().__init__(
            TIMEOUT, endpoint="", host=False, file=os.path.abspath(file_name), world=0, own=False
        )
        self.path = file_name


def has_prefix(store):
    return isinstance(store, dist.PrefixStore)


def behind_prefixes(store):
    while has_prefix(store):
        store = store.underlying_store
    return store


def patience_of(store):
    """How long the simulator's store behind torch's prefixes waits, in ns; 0 if it is another kind."""
    return getattr(behind_prefixes(store), "limit", 0)


def underlying(store):
    """The number of the simulator's store behind torch's prefixes, 0 if it is another kind."""
    return getattr(behind_prefixes(store), "number", 0)
