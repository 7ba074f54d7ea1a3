"""Rounds of a ring through plain TCP: what rounds of peers cannot be faster than without another protocol.

    python3 ring.py RANK PEERS BYTES ROUNDS

In each round a process sends n bytes to both neighbours and waits for n bytes from both. Rank 0 prints the
seconds of a round. The first five do not count. Process i listens on 10.78.0.(i + 1).
"""

import socket
import sys
import threading
import time

rank, peers, size, rounds = map(int, sys.argv[1:])
warm = 5
after = (rank + 1) % peers


def address(i):
    return f"10.78.0.{i + 1}", 5001


server = socket.create_server(address(rank))
while True:
    try:
        forward = socket.create_connection(address(after))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
links = [forward, server.accept()[0]]
message = bytes(size)
received = [0, 0]
changed = threading.Condition()


def read(i):
    buffer = bytearray(1 << 17)
    while n := links[i].recv_into(buffer):
        with changed:
            received[i] += n
            changed.notify()


def write(i, turn):
    while True:
        turn.acquire()
        links[i].sendall(message)


turns = [threading.Semaphore(0) for _ in links]
for i, link in enumerate(links):
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=read, args=[i], daemon=True).start()
    threading.Thread(target=write, args=[i, turns[i]], daemon=True).start()
for done in range(warm + rounds):
    if done == warm:
        began = time.monotonic()
    for turn in turns:
        turn.release()
    with changed:
        changed.wait_for(lambda: min(received) >= (done + 1) * size)
if rank == 0:
    print((time.monotonic() - began) / rounds)
time.sleep(0.5)  # a neighbour may still wait for bytes on their way
