"""A script of a peer with nothing but the standard library: it moves its values toward those of the mean of all ranks.

    peer run FILE -- python3 script.py NAME=SIZE ...

The arguments are the tensors. docs/format/bridge.md has the messages.
"""

import array
import json
import os
import socket
import struct
import sys

HELLO, WELCOME, GO, END, STEP, STATE, BYE, ERROR, START = 1, 2, 3, 4, 5, 8, 11, 12, 13
HEADER = struct.Struct("<IIQQ")

tensors = [(name, int(size)) for name, _, size in (word.partition("=") for word in sys.argv[1:])]
elements = sum(size for _, size in tensors)
peer = socket.socket(socket.AF_UNIX)
peer.connect(os.environ["PEER_SOCKET"])


def send(kind, body, round=0):
    peer.sendall(HEADER.pack(kind, 0, round, len(body)) + body)


def exactly(size):
    body = bytearray()
    while len(body) < size:
        part = peer.recv(size - len(body))
        if not part:
            sys.exit("the peer is gone")
        body += part
    return bytes(body)


def receive():
    kind, flags, round, length = HEADER.unpack(exactly(HEADER.size))
    return kind, flags, round, exactly(length)


send(HELLO, json.dumps({
    "version": 1, "client": "script.py", "elements": elements, "exact": 0, "memory": "frames",
    "tensors": [{"name": name, "shape": [size], "dtype": "float32"} for name, size in tensors]}).encode())
send(START, array.array("f", range(elements)).tobytes())
rank = 0
while True:
    kind, flags, round, body = receive()
    if kind == WELCOME:
        rank = json.loads(body)["rank"]
    elif kind == GO:
        if flags & 1:  # a checkpoint is due, and this script has no other state than its values
            send(STATE, b"nothing", round)
        x = array.array("f", body)
        for i, value in enumerate(x):
            x[i] = value - 0.1 * (value - rank)
        send(STEP, x.tobytes(), round)
    elif kind == END:
        send(BYE, b"{}")
        sys.exit()
    elif kind == ERROR:
        sys.exit(json.loads(body)["message"])
