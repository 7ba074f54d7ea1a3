"""A peer for tests: it serves n workers, which are forked from the test, and mixes their vectors by a matrix.

Python's unittest is enough for it. A worker is a function of its rank; what it returns comes back to the test.
"""

import array
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

HELLO, WELCOME, GO, END, STEP, LOG, SCORE, STATE, AVERAGE, MEAN, BYE, ERROR, START, VECTOR = range(1, 15)
HEADER = struct.Struct("<IIQQ")


class Gone(Exception):
    """The script closed its end."""


class Connection:
    """The peer's end towards one worker."""

    def __init__(self, listener):
        listener.settimeout(60)  # a broken test ends
        self.socket, _ = listener.accept()
        self.socket.settimeout(60)
        self.logs, self.scores, self.states, self.others = [], [], {}, []
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
        found = b""
        while len(found) < length:
            more = self.socket.recv(length - len(found))
            if not more:
                raise Gone
            found += more
        return found

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

    def receive(self):
        kind, flags, number, length = HEADER.unpack(self._read(HEADER.size))
        return kind, flags, number, self._read(length)

    def until(self, *kinds):
        """Note what the script says, up to a message of one of these kinds."""
        while True:
            kind, _, number, body = self.receive()
            if kind in (STEP, AVERAGE) and self.frames():
                self.vector[:] = numpy.frombuffer(body, dtype="float32")
            if kind in kinds:
                return kind, number, body
            if kind == LOG:
                self.logs.append((number, json.loads(body)["loss"]))
            elif kind == SCORE:
                self.scores.append((number, json.loads(body)))
            elif kind == STATE:
                self.states[number] = body
            else:
                self.others.append((kind, body))


class Run:
    """A run of n workers over the given rounds, and afterwards what came of it."""

    def __init__(self, n=2, rounds=5, **options):
        self.n, self.rounds = n, rounds
        self.first = options.pop("first", 0)  # round of the checkpoint
        self.saved = options.pop("saved", None)  # vectors and blobs of a checkpoint, by rank
        self.save = options.pop("save", ())  # rounds before which the state is asked for
        self.why = options.pop("why", "finished")
        self.w = options.pop("w", numpy.full((n, n), 1 / n))
        self.memory = options.pop("memory", "memfd")
        assert not options, options
        self.x = {}  # vectors before each round, by round, then rank
        self.returned, self.codes = [None] * n, [None] * n

    def __call__(self, worker):
        folder = tempfile.mkdtemp()
        try:
            listeners = []
            for rank in range(self.n):
                listeners.append(socket.socket(socket.AF_UNIX))
                listeners[rank].bind(os.path.join(folder, str(rank)))
                listeners[rank].listen(1)
            children = [self._fork(worker, rank, os.path.join(folder, str(rank))) for rank in range(self.n)]
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
            os.environ["PEER_SOCKET"] = path
            import gossip
            gossip._MEMORY = self.memory
            with os.fdopen(writing, "wb") as file:
                pickle.dump(worker(rank), file)
            gossip._joined.close()
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

    def _serve(self):
        all = self.connections
        start = [all[0].vector.copy()] * self.n if self.saved is None else [x for x, _ in self.saved]
        for rank, c in enumerate(all):
            c.give(WELCOME, self.first, start[rank], int(self.saved is not None),
                   {"version": 1, "run": "test", "rank": rank, "size": self.n, "rounds": self.rounds,
                    "round": self.first, "seed": 7, "checkpoints": bool(self.save)})
            if self.saved is not None:
                c.send(STATE, self.saved[rank][1], self.first)
        x = numpy.array(start)
        for k in range(self.first, self.rounds):
            self.x[k] = x.copy()
            for c, each in zip(all, x):
                c.give(GO, k, each, int(k in self.save))
            after = self._gathered(STEP, k)
            x = (self.w @ x + (after - x)).astype("float32")
        self.x[self.rounds] = x
        for c, each in zip(all, x):
            c.give(END, self.rounds, each, int(self.rounds in self.save), {"why": self.why, "message": ""})
        self._gathered(BYE, None)

    def _gathered(self, kind, k):
        """Wait for a message of all workers, and answer their requests for an average until then."""
        while True:
            found = [c.until(kind, AVERAGE) for c in self.connections]
            kinds = {f[0] for f in found}
            assert len(kinds) == 1, kinds
            vectors = numpy.array([c.vector for c in self.connections])
            if kinds == {kind}:
                assert k is None or {f[1] for f in found} == {k}, (found, k)
                return vectors
            for c in self.connections:
                c.give(MEAN, found[0][1], vectors.mean(0))
