"""A peer for tests: it serves n workers, which are forked from the test, and mixes their vectors by a matrix.

Python's unittest is enough for it. A worker is a function of its rank; what it returns comes back to the test.
"""

import array
import contextlib
import json
import mmap
import os
import pickle
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback

import numpy

(HELLO, WELCOME, GO, END, STEP, LOG, SCORE, STATE, COLLECT, RESULT, BYE, ERROR, START, VECTOR,
 FINISH, STOP, PAUSE, VIEW) = range(1, 19)
HEADER = struct.Struct("<IIQQ")
TOKEN = "0123456789abcdef" * 4


class Gone(Exception):
    """The script closed its end."""


class Connection:
    """The peer's end towards one worker."""

    def __init__(self, listener):
        listener.settimeout(60)  # a broken test ends
        self.socket, _ = listener.accept()
        self.socket.settimeout(60)
        self.logs, self.scores, self.states, self.others = [], [], {}, []
        self.calls = []  # the JSON of each COLLECT
        if self.socket.family == socket.AF_INET:
            assert self._read(len(TOKEN)) == TOKEN.encode()
        header, descriptors = self._first()
        kind, _, _, length = HEADER.unpack(header)
        assert kind == HELLO, kind
        self.hello = json.loads(self._read(length))
        elements = self.hello["elements"]
        if self.hello["memory"] == "memfd":
            size = os.fstat(descriptors[0]).st_size
            import fcntl
            assert fcntl.fcntl(descriptors[0], 1034) == 0x2 | 0x4, "sealed against shrinking and growing"
            assert size >= max(4 * elements, 4096)
            self.memory = mmap.mmap(descriptors[0], size)
            os.close(descriptors[0])
        else:
            self.memory = bytearray(4 * elements)
            kind, _, _, body = self.receive()
            assert kind == START, kind
            self.memory[:] = body
        self.vector = numpy.frombuffer(self.memory, dtype="float32", count=elements)

    def _first(self):
        room = array.array("i", [0])
        header, ancillary, _, _ = self.socket.recvmsg(HEADER.size, socket.CMSG_LEN(room.itemsize))
        if ancillary:
            room.frombytes(ancillary[0][2][:room.itemsize])
        return header + self._read(HEADER.size - len(header)), list(room[1:])

    def _read(self, length):
        found = bytearray()
        while len(found) < length:
            more = self.socket.recv(length - len(found))
            if not more:
                raise Gone
            found += more
        return bytes(found)

    def frames(self):
        return self.hello["memory"] == "frames"

    def send(self, kind, body=b"", number=0, flags=0):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        self.socket.sendall(HEADER.pack(kind, flags, number, len(body)) + body)

    def give(self, kind, number, x, flags=0, body=None):
        """Send a message that comes with the vector x."""
        self.vector[:] = x
        if body is None:
            self.send(kind, self.vector.tobytes() if self.frames() else b"", number, flags)
            return
        if self.frames():
            self.send(VECTOR, self.vector.tobytes(), number)
        self.send(kind, body, number, flags)

    def result(self, number, content, raw):
        text = json.dumps(content).encode()
        self.send(RESULT, struct.pack("<I", len(text)) + text + raw, number)

    def answer(self, number, body):
        """Answer a call as in a run of one worker."""
        content, raw = parse(body)
        self.calls.append(content)
        raw = self.vector.tobytes() if content["kind"] in ("mean", "newest") else raw
        self.result(number, {"kind": content["kind"], "round": 0, "moved": False, "rounds": {"0": 0}}, raw)

    def receive(self):
        kind, flags, number, length = HEADER.unpack(self._read(HEADER.size))
        return kind, flags, number, self._read(length)

    def until(self, *kinds):
        """Note what the script says, up to a message of one of these kinds."""
        while True:
            kind, _, number, body = self.receive()
            if kind == STEP and self.frames():
                self.vector[:] = numpy.frombuffer(body, dtype="float32")
            if kind in kinds:
                return kind, number, body
            if kind == LOG:
                values = json.loads(body)["values"]
                self.logs.append((number, values.get("loss") if set(values) == {"loss"} else values))
            elif kind == SCORE:
                self.scores.append((number, json.loads(body)["values"]))
            elif kind == STATE:
                self.states[number] = body
            elif kind == COLLECT:
                self.answer(number, body)
            else:
                self.others.append((kind, body))


def parse(body):
    """Return the JSON text and the raw bytes of a COLLECT."""
    length, = struct.unpack("<I", body[:4])
    return json.loads(body[4:4 + length]), body[4 + length:]


class Run:
    """A run of n workers over the given rounds, and afterwards what came of it. Without rounds, the scripts decide."""

    def __init__(self, n=2, rounds=5, **options):
        self.n, self.rounds = n, rounds
        self.first = options.pop("first", 0)  # round of the checkpoint
        self.saved = options.pop("saved", None)  # vectors and blobs of a checkpoint, by rank
        self.save = options.pop("save", ())  # rounds before which the state is asked for
        self.why = options.pop("why", "finished")
        self.w = options.pop("w", numpy.full((n, n), 1 / n))
        self.memory = options.pop("memory", "memfd")
        self.views = options.pop("views", {})  # ids of members by the round in which the view begins
        assert not options, options
        self.change = None  # round from which the vector is another one
        self.stopped = ""  # why a script has stopped the run
        self.x = {}  # vectors before each round, by round, then rank
        self.returned, self.codes = [None] * n, [None] * n

    def __call__(self, worker):
        folder = tempfile.mkdtemp()
        try:
            listeners = []
            for rank in range(self.n):
                listeners.append(socket.socket(socket.AF_INET if self.memory == "tcp" else socket.AF_UNIX))
                listeners[rank].bind(("127.0.0.1", 0) if self.memory == "tcp" else os.path.join(folder, str(rank)))
                listeners[rank].listen(1)
            paths = ["tcp://127.0.0.1:%d" % each.getsockname()[1] if self.memory == "tcp" else each.getsockname()
                     for each in listeners]
            children = [self._fork(worker, rank, paths[rank]) for rank in range(self.n)]
            try:
                self.connections = [Connection(listener) for listener in listeners]
                self._serve()
            finally:
                for listener in listeners:
                    listener.close()
                for connection in getattr(self, "connections", []):
                    connection.socket.close()
                self._wait(children)
        finally:
            shutil.rmtree(folder)
        return self

    def _fork(self, worker, rank, path):
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child:
            os.close(writing)
            return child, reading
        code = 70
        try:
            os.environ.update(PEER_SOCKET=path, PEER_TOKEN=TOKEN, PEER_VIEWS="1" if self.views else "")
            from gossiptrainer import _link, _peer
            _link.MEMORY = "memfd" if self.memory == "tcp" else self.memory
            with os.fdopen(writing, "wb") as file:
                pickle.dump(worker(rank), file)
            _peer._current.close()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _wait(self, children):
        for rank, (child, reading) in enumerate(children):
            with os.fdopen(reading, "rb") as file:
                content = file.read()
            if content:
                self.returned[rank] = pickle.loads(content)
            _, status = os.waitpid(child, 0)
            self.codes[rank] = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    # A worker is in its turn ("turn"), waits in a collective ("call"), steps no more ("done"), or has ended ("gone").

    def _serve(self):
        everyone = self.connections
        start = [everyone[0].vector.copy()] * self.n if self.saved is None else [x for x, _ in self.saved]
        for rank, c in enumerate(everyone):
            c.give(WELCOME, self.first, start[rank], int(self.saved is not None),
                   {"version": 2, "run": "test", "rank": rank, "size": self.n, "rounds": self.rounds or 0,
                    "round": self.first, "seed": 7, "checkpoints": bool(self.save), "finished": False})
            if self.saved is not None:
                c.send(STATE, self.saved[rank][1], self.first)
            c.state, c.arrived, c.call, c.ended = "turn", None, None, False
        self.now, self.k = numpy.array(start), self.first
        self.x[self.k] = self.now.copy()
        for rank in range(self.n):
            self._go(rank)
        while any(c.state != "gone" for c in everyone):
            self._round()

    def _go(self, rank):
        """Give a worker its turn of this round, or the end."""
        c, flags = self.connections[rank], int(self.k in self.save)
        if self.k in self.views:
            ids, number = self.views[self.k], sorted(self.views).index(self.k)
            c.send(VIEW, {"view": number, "rank": ids.index(rank), "size": len(ids), "id": rank,
                          "members": [{"id": i, "name": "m%d" % i} for i in ids], "why": "why %d" % number}, self.k)
        if self.k == self.rounds:
            c.give(END, self.k, self.now[rank], flags, {"why": self.why, "message": ""})
            c.state, c.ended = "done", True
        else:
            c.give(GO, self.k, self.now[rank], flags)
            c.state = "turn"

    def _round(self):
        everyone, stepped = self.connections, []
        for rank, c in enumerate(everyone):
            if c.state == "turn" and self._hear(c, STEP, STOP, PAUSE) == STEP:
                stepped.append(rank)
        if self.stopped:
            self._stop()
        elif stepped:
            after = numpy.array([c.vector if rank in stepped else self.now[rank] for rank, c in enumerate(everyone)])
            self.now = self._mixed(after).astype("float32")
            self.k += 1
            if self.k == self.change:
                self._succeed()
            self.x[self.k] = self.now.copy()
            for c in everyone:
                if c.state == "call" and c.before == "turn" and self.k in self.save:  # it waits, and can give a state
                    c.send(STATE, b"", self.k)
                    _, number, c.states[self.k] = c.until(STATE)
                    assert number == self.k
            for rank in stepped:
                self._go(rank)
            for rank, c in enumerate(everyone):
                if c.state == "call" and c.before == "turn" and self.k == self.rounds:  # the run ends while it waits
                    self._go(rank)
                    c.state, c.before = "call", "done"
            return
        if all(c.state in ("done", "gone") for c in everyone):
            for c in everyone:
                if c.state == "done" and not c.ended:
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have ended
                        c.send(END, {"why": self.why, "message": ""}, self.k)
                    c.ended = True
        for c in everyone:
            if c.state == "done":
                self._hear(c)
        if any(c.state == "call" for c in everyone):
            self._answer()

    def _newest(self, c, body):
        """Answer a call that waits for nobody. Workers that have ended do not answer."""
        content, _ = parse(body)
        c.calls.append(content)
        ranks = content.get("ranks", range(self.n))
        here = [rank for rank in ranks if self.connections[rank].state != "gone"]
        missing = {rank: "it is silent" for rank in ranks if rank not in here}
        raw = self.now[here].mean(0).astype("float32").tobytes() if here else b""
        c.result(0, {"kind": "newest", "round": self.k, "moved": False, "rounds": dict.fromkeys(here, self.k),
                     "missing": missing}, raw)

    def _stop(self):
        """End the run for all, whatever they do."""
        for rank, c in enumerate(self.connections):
            if c.state != "gone" and not c.ended:
                c.give(END, self.k, self.now[rank], 0,
                       {"why": "stopped", "message": "worker 0: " + self.stopped, "cut": c.state == "call"})
                c.state, c.ended = "done", True
        self.stopped = ""

    def _hear(self, c, *more):
        """Wait for what a worker does next, and note its state."""
        kind, number, body = c.until(COLLECT, FINISH, BYE, *more)
        if kind == STEP:
            assert number == self.k, (number, self.k)
        elif kind == PAUSE:  # it comes back at once, or ends
            if c.until(PAUSE, BYE)[0] == PAUSE:
                self._go(self.connections.index(c))
                return self._hear(c, *more)
            c.state = "gone"
        elif kind == STOP:
            self.stopped, c.state = json.loads(body)["why"], "done"
        elif kind == COLLECT and number == 0:
            self._newest(c, body)
            return self._hear(c, *more)
        elif kind == COLLECT:
            c.call, c.arrived, c.before = (number, *parse(body)), self.k, c.state
            c.calls.append(c.call[1])
            c.state = "call"
        else:
            c.state = "gone" if kind == BYE else "done"
        return kind

    def _succeed(self):
        """Go on with the vector of the last refresh. Old tensors are found by name and shape."""
        had, at, parts, fresh = {}, 0, [], self.fresh
        for tensor in self.connections[0].hello["tensors"]:
            size = int(numpy.prod(tensor["shape"]))
            had[tensor["name"], tuple(tensor["shape"])] = self.now[:, at:at + size]
            at += size
        for tensor in self.next["tensors"]:
            old = had.get((tensor["name"], tuple(tensor["shape"])))
            if old is None:
                size = int(numpy.prod(tensor["shape"]))
                old, fresh = numpy.tile(fresh[:size], (self.n, 1)), fresh[size:]
            parts.append(old)
        assert not len(fresh)
        self.now = numpy.concatenate(parts, 1)
        for c in self.connections:
            c.hello.update(self.next)
            if c.frames():
                c.memory = bytearray(4 * self.next["elements"])
            c.vector = numpy.frombuffer(c.memory, dtype="float32", count=self.next["elements"])

    def _mixed(self, after):
        return self.w @ self.now + (after - self.now)

    def _answer(self):
        """Answer a collective at which all that have not ended have arrived."""
        calling = [(rank, c) for rank, c in enumerate(self.connections) if c.state == "call"]
        assert all(c.state in ("call", "gone") for c in self.connections), [c.state for c in self.connections]
        assert len({(c.call[0], json.dumps(c.call[1])) for _, c in calling}) == 1, [c.call[:2] for _, c in calling]
        content, raw = calling[0][1].call[1], b""
        if content["kind"] == "reduce":
            values = numpy.array([numpy.frombuffer(c.call[2]) for _, c in calling])
            raw = {"mean": values.mean, "sum": values.sum, "min": values.min, "max": values.max}[
                content["op"]](0).tobytes()
        elif content["kind"] == "broadcast":
            raw = self.connections[content["root"]].call[2]
        elif content["kind"] == "mean":
            raw = self.now[content.get("ranks", slice(None))].mean(0).astype("float32").tobytes()
        more = {}
        if content["kind"] == "refresh":
            outlines = [parse(c.call[2]) for _, c in calling]
            assert all(outline["tensors"] == outlines[0][0]["tensors"] for outline, _ in outlines), outlines
            self.next, raw = outlines[0]
            more["from"] = self.change = self.k + 2
            self.fresh = numpy.frombuffer(raw, dtype="float32")
        for rank, c in calling:
            moved = c.before == "turn" and c.arrived != self.k
            c.result(c.call[0], {"kind": content["kind"], "round": self.k, "moved": moved, **more}, raw)
            c.state = c.before
            if moved:
                self._go(rank)
