# tests/sim/managed/small_engine.py — The other end of the channel, as small as it gets: plays collectives, messages
# and stores for a few ranks, one rank at a time. It tests the Python side's wire format without the simulator.
import array
import json
import mmap
import os
import socket
import struct
import subprocess
import sys

import numpy

HEADER = struct.Struct("<BBHIq")
LATENCY = 20_000  # ns
LONGEST = 64 << 10  # bytes of a message
PACKAGE = os.path.join(os.path.dirname(__file__), "../../../sim/managed/python")
TYPES = {1: "i1", 2: "i4", 3: "i8", 4: "f2", 6: "f4", 7: "f8", 8: "u1", 9: "i2", 10: "?", 11: "c8", 12: "c16"}
BF16 = 5
REDUCE = {
    **{1: numpy.add, 2: numpy.maximum, 3: numpy.minimum, 4: numpy.multiply, 5: numpy.add},
    **{6: numpy.bitwise_and, 7: numpy.bitwise_or, 8: numpy.bitwise_xor},
}


def read(data, dtype):
    if dtype == BF16:
        return (numpy.frombuffer(data, "u2").astype("u4") << 16).view("f4")
    return numpy.frombuffer(data, TYPES[dtype])


def written(numbers, dtype):
    if dtype == BF16:
        bits = numbers.astype("f4").view("u4")
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2").tobytes()
    return numbers.tobytes()


class Zygote:
    def __init__(self, preload=(), python=sys.executable, path="", program=""):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        said = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [PACKAGE, path]))}
        command = [python, "-m", "deadrank.zygote", "--control", str(theirs.fileno()), "--preload", *preload]
        command += ["--program", program] if program else []
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=said)
        theirs.close()
        self.ready = json.loads(self.control.recv(1 << 20))
        self.spawned = 0

    def spawn(self, files, **said):
        self.spawned += 1
        message = b"%d:" % self.spawned + json.dumps({"seed": 1, "options": {}, **said}).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
        self.control.sendmsg([message], [rights])
        return self.answer("spawned")["pid"]

    def answer(self, word):
        while True:
            said = json.loads(self.control.recv(1 << 20))
            if word in said:
                return said

    def close(self):
        self.control.close()
        self.process.wait()


class Rank:
    def __init__(self, number):
        self.number, self.now, self.request, self.alive, self.code = number, 0, None, True, None
        self.error, self.records, self.exit = "", [], None
        self.socket, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.arena = os.memfd_create("arena")
        os.ftruncate(self.arena, 1 << 20)
        self.batch = None

    def bytes(self, offset, size):
        return mmap.mmap(self.arena, max(1, os.fstat(self.arena).st_size))[offset : offset + size]

    def put(self, offset, data):
        room = mmap.mmap(self.arena, os.fstat(self.arena).st_size)
        room[offset : offset + len(data)] = bytes(data)

    def reply(self, body=b"", status=0, now=None):
        self.now = max(self.now, now or 0)
        self.request, self.since = None, self.now
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        parts = [body[at : at + LONGEST] for at in range(0, len(body), LONGEST)] or [b""]
        for place, part in enumerate(parts):
            more = place + 1 < len(parts)
            self.socket.send(HEADER.pack(status, more, 0, len(part), self.now) + part)


class Engine:
    def __init__(self, zygote, argv, size, environment=None, cwd=".", options=None):
        self.ranks = [Rank(number) for number in range(size)]
        self.stores, self.comms, self.works, self.pairs = {}, {}, {}, []
        self.opening, self.calls, self.events = {}, {}, []
        self.retired = set()  # (rank, work): told that it is done
        self.needs = {}  # (rank, work) → a function: the ranks without which it is never done
        self.ends_with = None  # a rank that exits with this code ends the job, as the suite's parent does
        self.outputs = [os.memfd_create(f"out{number}") for number in range(size)]
        for rank in self.ranks:
            said = {**os.environ, **(environment or {}), "RANK": str(rank.number), "WORLD_SIZE": str(size)}
            said.update(LOCAL_RANK=str(rank.number), MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
            out = self.outputs[rank.number]
            files = [rank.theirs.fileno(), out, out, rank.arena]
            rank.pid = zygote.spawn(
                files, argv=argv, cwd=cwd, environment=said, process=rank.number, options=options or {}
            )
            rank.theirs.close()
            rank.request = (0, 0, b"")  # the go

    def note(self, *said):
        self.events.append(" ".join(map(str, said)))

    def kill(self):
        for rank in self.ranks:
            if rank.alive:
                os.kill(rank.pid, 9)
                rank.alive = False
            rank.socket.close()

    def output(self, rank):
        os.lseek(self.outputs[rank], 0, 0)
        return os.read(self.outputs[rank], 1 << 20).decode()

    def run(self):
        for rank in self.ranks:
            rank.reply()
            self.serve(rank)
        while any(rank.alive for rank in self.ranks):
            if self.ends_with is not None and any(rank.code == self.ends_with for rank in self.ranks):
                break
            waiting = sorted((rank for rank in self.ranks if rank.alive), key=lambda one: (one.now, one.number))
            rank = next((rank for rank in waiting if self.answer(rank, False)), None)
            rank = rank or next((rank for rank in waiting if self.lose(rank)), None)
            if rank is None:
                late = [(self.deadline(rank), rank.number) for rank in self.ranks if rank.alive]
                late = [one for one in late if one[0] >= 0]
                if not late:
                    asked = [(rank.number, rank.request) for rank in self.ranks if rank.alive]
                    raise RuntimeError(f"nobody can go on: {asked}")
                rank = self.ranks[min(late)[1]]
                rank.now = max(rank.now, min(late)[0])
                self.answer(rank, True)
            self.serve(rank)  # one at a time
        return [rank.code for rank in self.ranks]

    def open_works(self, rank):
        if rank.request[0] != 0x20:
            return []
        count = struct.unpack_from("<BBHIq", rank.request[2])[3]
        works = struct.unpack_from(f"<{count}Q", rank.request[2], 16)
        return [work for work in works if (rank.number, work) not in self.works]

    def lose(self, rank):
        """gloo: a rank that waits for one that is gone hears of it."""
        for work in self.open_works(rank):
            posted = self.needs.get((rank.number, work))
            if posted and any(not self.ranks[one].alive for one in posted[0]()):
                self.raise_in(rank, work, "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed "
                              "by peer [127.0.0.1]:29500")
                return True
        return False

    def raise_in(self, rank, work, text):
        self.pairs = [one for one in self.pairs if (one[0], one[2]) != (rank, work)]
        rank.reply({"type": "RuntimeError", "text": text, "work": work}, status=1)

    def deadline(self, rank):
        """When a wait ends by itself: a sleep, a limit of the program's, or the group's time-out."""
        kind, _, body = rank.request
        if kind == 0x20:
            mine = struct.unpack_from("<BBHIq", body)[4]
            groups = [self.needs[rank.number, work][1] for work in self.open_works(rank)]
            return min([one for one in (mine, *groups) if one >= 0], default=-1)
        if kind == 0x40 or (kind == 0x31 and json.loads(body)["op"] in ("get", "wait")):
            return rank.since + json.loads(body)["timeout"]
        return -1

    def serve(self, rank):
        """Takes what the rank posts, up to its next request."""
        while rank.alive and rank.request is None:
            message = rank.socket.recv(1 << 20)
            if not message:
                rank.alive = False
                return
            kind, flags, _, length, charge = HEADER.unpack_from(message)
            body = message[16 : 16 + length]
            if flags & 0x80:
                body = rank.bytes(*struct.unpack("<qq", body))
            rank.now += charge
            if kind == 0x10:
                self.collective(rank, body)
            elif kind == 0x11:
                self.message(rank, body)
            elif kind == 0x50:
                rank.records.append(json.loads(body))
            elif kind == 0x70:
                rank.exit = json.loads(body)
                rank.code, rank.error = rank.exit["code"], rank.exit["error"]
                self.note(rank.now, rank.number, "exit", rank.code)
            elif kind in (0x12, 0x13, 0x32):
                pass
            else:
                rank.request = (kind, flags, body)
                self.note(rank.now, rank.number, hex(kind), body[:60])

    def answer(self, rank, late):
        """Replies if the rank can go on. `late`: its deadline has come."""
        kind, _, body = rank.request
        if kind in (0x20, 0x21):
            mode, _, _, count, _ = struct.unpack_from("<BBHIq", body)
            works = struct.unpack_from(f"<{count}Q", body, 16)
            if again := [work for work in works if (rank.number, work) in self.retired]:
                raise RuntimeError(f"rank {rank.number} asks again for {again}, which it was told to be done")
            done = [self.works.get((rank.number, work)) for work in works]
            if late and struct.unpack_from("<BBHIq", body)[4] not in range(rank.now + 1):
                work = self.open_works(rank)[0]
                limit = self.needs[rank.number, work][2] // 1_000_000
                self.raise_in(rank, work, "[/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out "
                              f"waiting {limit}ms for recv operation to complete")
                return True
            if not (late or kind == 0x21) and (not count or not (any if mode else all)(done)):
                return False
            now = max([rank.now, *[one[0] for one in done if one]])
            said = b"".join(struct.pack("<bxxxi", bool(one), one[1] if one else -1) for one in done)
            self.retired.update((rank.number, work) for work, one in zip(works, done) if one)
            rank.reply(said, now=now + (1000 if kind == 0x21 else 0))
            return True
        said = json.loads(body) if body[:1] == b"{" else {}
        if kind == 0x30:
            name = said.get("file") or said["endpoint"]
            self.stores.setdefault(name, {})
            rank.reply({"store": list(self.stores).index(name)})
            return True
        if kind == 0x31:
            return self.store(rank, said, late)
        if kind == 0x40:
            key = said["name"]
            waiting = self.opening.setdefault(key, {})
            waiting[rank.number] = said["rank"]
            number = list(self.opening).index(key)
            self.comms[number] = [said["members"], said["timeout"]]
            if len(waiting) < len(said["members"]):
                if late:
                    text = f"wait timeout after {said['timeout'] // 1000000}ms: not all members came"
                    rank.reply({"type": "torch.distributed.DistBackendError", "text": text}, status=1)
                return late
            rank.reply({"comm": number})
            return True
        if kind == 0x54:
            rank.reply({"run": True})
        elif kind == 0x53:
            rank.reply({"value": said["value"]})
        elif kind == 0x42:
            rank.reply({"code": "ok", "text": ""})
        else:
            rank.reply({})
        return True

    def store(self, rank, said, late):
        keys = list(self.stores.values())[said["store"]]
        op, key, value = said["op"], said.get("key"), said.get("value")
        wanted = said.get("keys") or [key]
        found = all(one in keys for one in wanted)
        if op in ("get", "wait") and not found:
            if late:
                text = f"wait timeout after {said['timeout'] // 1000000}ms, keys: {', '.join(wanted)}"
                rank.reply({"type": "torch.distributed.DistStoreError", "text": text}, status=1)
            return late
        if op == "set":
            keys[key] = value
        elif op == "add":
            keys[key] = value = str(int(keys.get(key, "0")) + said["amount"])
        elif op == "compare_set":
            if keys.get(key, "") == said["expected"]:
                keys[key] = value
            value = keys.get(key, said["expected"])
        elif op == "append":
            keys[key] = keys.get(key, "") + value
        elif op == "delete":
            keys.pop(key, None)
        elif op == "count":
            value = len(keys)
        elif op == "get":
            value = keys[key]
        rank.reply({"value": value, "found": found}, now=rank.now + LATENCY)
        return True

    def collective(self, rank, body):
        work, comm, *call = struct.unpack_from("<QIBBBBiIqqqqq", body)
        pieces = struct.unpack_from(f"<{(len(body) - 64) // 8}q", body, 64)
        members = self.comms[comm][0]
        number = self.calls[comm, rank.number] = self.calls.get((comm, rank.number), 0) + 1
        posted = self.calls.setdefault((comm, "call", number), {})
        posted[members.index(rank.number)] = (rank, work, call, pieces)
        limit = self.comms[comm][1]
        self.needs[rank.number, work] = (
            lambda: [one for place, one in enumerate(members) if place not in posted], rank.now + limit, limit
        )
        if len(posted) == len(members):
            self.play([posted[place] for place in range(len(members))])

    def play(self, calls):
        op, reduce, dtype, _, root = calls[0][2][:5]
        ins = [rank.bytes(call[7], call[8]) for rank, _, call, _ in calls]
        outs = [b""] * len(calls)
        size = len(calls)
        if op in (1, 3, 5):
            whole = [read(one, dtype) for one in ins]
            total = whole[0].copy()
            for one in whole[1:]:
                total = REDUCE[reduce](total, one)
            total = (total / size).astype(total.dtype) if reduce == 5 else total
            part = len(ins[0]) // size
            total = written(total, dtype)
            outs = [total] * size
            if op == 5:
                outs = [total[place * part : (place + 1) * part] for place in range(size)]
        elif op == 2:
            outs = [ins[root]] * size
        elif op in (4, 7):
            outs = [b"".join(ins)] * size
        elif op == 8:
            part = len(ins[root]) // size
            outs = [ins[root][place * part : (place + 1) * part] for place in range(size)]
        elif op == 6:
            for place in range(size):
                for source, (_, _, _, pieces) in enumerate(calls):
                    begin = sum(pieces[0 : 2 * place : 2])
                    outs[place] += ins[source][begin : begin + pieces[2 * place]]
        now = max(rank.now for rank, *_ in calls) + LATENCY
        for (rank, work, call, _), out in zip(calls, outs):
            rank.put(call[9], out[: call[10]])
            self.works[rank.number, work] = (now, -1)
        self.note(now, "play", op, len(ins[0]))

    def message(self, rank, body):
        work, comm, is_send, _, _, _, peer, tag, offset, size = struct.unpack("<QIBBBBiiqq", body)
        me = (rank, self.comms[comm][0].index(rank.number), work, comm, is_send, peer, tag, offset, size)
        limit = self.comms[comm][1]
        others = [self.comms[comm][0][peer]] if peer >= 0 else []
        self.needs[rank.number, work] = (lambda: others, rank.now + limit, limit)
        for other in self.pairs:
            same = other[3] == comm and other[6] == tag and other[4] != is_send
            if same and other[5] in (me[1], -1) and peer in (other[1], -1):
                self.pairs.remove(other)
                source, target = (me, other) if is_send else (other, me)
                target[0].put(target[7], source[0].bytes(source[7], source[8]))
                now = max(rank.now, other[0].now) + LATENCY
                self.works[source[0].number, source[2]] = (now, -1)
                self.works[target[0].number, target[2]] = (now, source[1])
                return
        self.pairs.append(me)


if __name__ == "__main__":
    import time

    zygote = Zygote()
    began = time.time()
    engine = Engine(zygote, sys.argv[2:], int(sys.argv[1]))
    try:
        codes = engine.run()
    finally:
        for rank in range(int(sys.argv[1])):
            print(f"--- rank {rank}\n{engine.output(rank)}", end="")
    print(codes, [rank.error for rank in engine.ranks], f"{time.time() - began:.2f} s")
    zygote.close()
