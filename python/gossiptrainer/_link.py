"""The connection to the peer: messages, the memory of the vector, and the end of either side."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import select
import selectors
import socket
import struct
import sys
import threading
import time
import traceback
import types
from typing import Any, Iterator, NamedTuple, Optional

(HELLO, WELCOME, GO, END, STEP, LOG, SCORE, STATE, COLLECT, RESULT, BYE, ERROR, START, VECTOR,
 FINISH, STOP, PAUSE, VIEW) = range(1, 19)  # kinds of messages
VERSION = 2
WITH_STATE = 1  # flag of WELCOME, GO and END: a blob follows, or is wanted
HEADER = struct.Struct("<IIQQ")  # kind, flags, round, length of the body
MEMORY = "memfd" if hasattr(os, "memfd_create") else "frames"  # how the vector travels to the peer


class Error(RuntimeError):
    """The run cannot go on, or a call is wrong. The message says what to do."""


class Refusal(Error):
    """The peer ended the run with a message of its own."""


class Stopped(SystemExit):
    """The run has stopped while this worker waited for others. Where nothing catches it, the script ends well."""


class Message(NamedTuple):
    """A message of the peer."""

    kind: int
    flags: int
    round: int
    body: Any


def say(text: str) -> None:
    """Print a line for the user. The text and its end are one write, as other processes may print too."""
    print(f"gossip: {text}\n", end="", file=sys.stderr, flush=True)


def script_line(trace: Optional[types.TracebackType] = None) -> str:
    """Name the line of the script, not of a library, from which a traceback, or the present call, comes."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    stack = list(traceback.walk_tb(trace)) if trace else list(traceback.walk_stack(None))[::-1]
    lines = [line for frame, line in stack if frame.f_code.co_filename == main]
    return f" ({os.path.basename(main)}, line {lines[-1]})" if lines else ""


def advice(body: Any) -> str:
    """Return the text of an ERROR of the peer."""
    said = json.loads(body)
    return said.get("message", "the peer ended the run") + ("\n  " + said["hint"] if said.get("hint") else "")


class Link:
    """Messages to and from the peer, and the vector, in memory that both map or in the messages themselves."""

    def __init__(self, path: str, token: str, elements: int, most: int) -> None:
        self.tcp = path.startswith("tcp://")
        if not self.tcp and not hasattr(socket, "AF_UNIX"):
            raise Error(f"this Python has no Unix sockets, and the peer listens at {path}: set PEER_SOCKET=tcp for the peer")
        self.socket = socket.socket(socket.AF_INET if self.tcp else socket.AF_UNIX)
        try:
            if self.tcp:
                host, _, port = path[len("tcp://"):].rpartition(":")
                self.socket.connect((host, int(port)))
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.socket.sendall(token.encode())
            else:
                self.socket.connect(path)
        except (OSError, ValueError) as problem:
            self.socket.close()
            raise Error(f"no peer answers at PEER_SOCKET={path} ({problem}): the peer has ended, or a process of this "
                        "script has joined it already. Processes of one peer call "
                        "torch.distributed.init_process_group before they join; else only one joins") from None
        self.size, self.room = 4 * elements, 4 * max(elements, min(most, 1 << 30))
        self.kind, self.memory, self._shared = self._make()
        self.vector = memoryview(self.memory)[:self.size]
        self.closed = self.refused = False  # this side said its last word, or the peer did
        self.busy, self.interrupted, self.ending = 0, False, ""
        self.guard: Any = None  # of an attached program: handles interrupts until what it returns is called
        self.hook: Any = None  # ours for uncaught errors, in a script that the peer has started
        self.peer: Any = None  # that of the newest join
        self._sending, self._receiving = threading.Lock(), threading.RLock()

    def _make(self) -> tuple:
        """Make the memory of the vector, which neither side can shrink or grow once it is sealed."""
        if MEMORY == "memfd" and not self.tcp:
            import fcntl
            length = max(self.room, 4096)  # pages that are never touched cost nothing
            try:
                shared = os.memfd_create("gossip", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.ftruncate(shared, length)
                fcntl.fcntl(shared, 1033, 0x2 | 0x4)  # F_ADD_SEALS: F_SEAL_SHRINK and F_SEAL_GROW
                return "memfd", mmap.mmap(shared, length), shared
            except OSError as problem:
                say(f"no shared memory ({problem}), so the vector travels over the socket")
        return "frames", bytearray(self.size), None

    def reshape(self, elements: int) -> Any:
        """Return the memory of the vector, which has another number of elements from now on."""
        if self.size != 4 * elements:
            self.size = 4 * elements
            if self.kind == "frames":
                self.memory = bytearray(self.size)
            self.vector = memoryview(self.memory)[:self.size]
        return self.memory

    def hello(self, content: dict) -> None:
        """Send HELLO, with the memory or, in frames, the vector."""
        body = json.dumps(content).encode()
        header = HEADER.pack(HELLO, 0, 0, len(body))
        if self._shared is None:
            self.socket.sendall(header + body)
            self.socket.sendall(HEADER.pack(START, 0, 0, self.size))
            self.socket.sendall(self.vector)
            return
        sent = socket.send_fds(self.socket, [header + body], [self._shared])
        self.socket.sendall((header + body)[sent:])
        os.close(self._shared)

    def send(self, kind: int, body: Any = b"", round: int = 0) -> None:
        """Send a message. A dictionary travels as JSON. A STEP hands over the vector."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        if kind == STEP and self.kind == "frames":
            body = self.vector
        self._send(HEADER.pack(kind, 0, round, len(body)), body)

    def collect(self, number: int, content: dict, raw: Any) -> None:
        """Send a COLLECT: a JSON text with its length, and raw bytes."""
        text = json.dumps(content).encode()
        head = struct.pack("<I", len(text)) + text
        self._send(HEADER.pack(COLLECT, 0, number, len(head) + len(raw)) + head, raw)

    def _send(self, head: bytes, body: Any) -> None:
        try:
            with self._sending:
                if len(body) < 4096:
                    self.socket.sendall(head + bytes(body))
                else:
                    self.socket.sendall(head)
                    self.socket.sendall(body)
        except OSError:
            if not self.closed:  # at the end, a peer that is gone is no news
                self.mourn()

    def receive(self) -> Message:
        """Return the next message; EOFError where the peer is gone."""
        with self._receiving:
            header = bytearray(HEADER.size)
            self._fill(memoryview(header))
            kind, flags, round, length = HEADER.unpack(header)
            if kind in (GO, VECTOR) and self.kind == "frames":
                self._fill(memoryview(self.reshape(length // 4)))
                return Message(kind, flags, round, b"")
            body = bytearray(length)
            self._fill(memoryview(body))
            self.refused = self.refused or kind == ERROR
            return Message(kind, flags, round, body)

    def wait(self, *kinds: int) -> Message:
        """Return the next message, which must be of one of the kinds."""
        kind = VECTOR
        while kind == VECTOR:  # the vector of the WELCOME or END that follows, and now in memory
            try:
                message = self.receive()
            except (EOFError, OSError):
                self.give_up(_GONE)
            kind = message.kind
        if kind == ERROR:
            raise Refusal(advice(message.body))
        if kind not in kinds:
            raise Error(f"the peer sent a message of kind {kind} where one of {kinds} was due: "
                        "use the package that `peer python path` names")
        return message

    def _fill(self, room: memoryview) -> None:
        while room:
            count = self.socket.recv_into(room)
            if count == 0:
                raise EOFError
            room = room[count:]

    @contextlib.contextmanager
    def whole(self) -> Iterator[None]:
        """Hold a KeyboardInterrupt back until a message is whole. At the end of the run, drop it."""
        self.busy += 1
        restore = self.guard() if self.guard is not None and self.busy == 1 else None
        try:
            yield
        finally:
            self.busy -= 1
            if restore is not None:
                restore()
        if self.interrupted and not self.busy and not self.ending:
            self.interrupted = False
            raise KeyboardInterrupt

    def watch(self) -> None:
        """End the process when the peer is gone, also while the script computes. Runs in a thread of its own."""
        if self.tcp:
            self._watch_port()
        else:
            poll = select.poll()
            poll.register(self.socket, 0)  # a hang-up is always reported
            while not poll.poll(500):
                pass
        self.mourn()

    def _watch_port(self) -> None:
        """Return when the peer is gone. A port tells so only to those who read."""
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            selector.register(self.socket, selectors.EVENT_READ)
            while not selector.select(0.5) or self.socket.recv(1, socket.MSG_PEEK):
                time.sleep(0.1)  # what has come is for others

    def mourn(self) -> None:
        """End the process for the reason that the peer has given, unless the script knows already."""
        reason = _GONE
        with self._receiving:
            if self.closed or self.refused:
                return
            try:
                while True:
                    message = self.receive()
                    if message.kind == ERROR:
                        reason = advice(message.body)
            except (EOFError, OSError):
                self.give_up(reason)

    def give_up(self, reason: str) -> None:
        """End the script that the peer has started. An attached program goes on without its peer."""
        if self.guard is None:
            leave(reason)
        self.closed = True
        raise Error(reason.replace("so the script ends", "so this program trains no further: call peer.leave()"))


_GONE = "the peer is gone, so the script ends"
_leaving = threading.Lock()


def leave(reason: str) -> None:
    """End the process now. Other threads and cleanups might wait for a peer that never answers."""
    _leaving.acquire()  # and never released: two threads may notice at once
    try:
        with contextlib.suppress(Exception):  # the outputs may be pipes to the peer, and broken
            say(reason)
            sys.stdout.flush()
        processes = sys.modules.get("multiprocessing")
        for child in processes.active_children() if processes else ():  # such as the workers of a DataLoader
            child.kill()
    finally:
        os._exit(1)
