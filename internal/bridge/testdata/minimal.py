"""A complete script in the standard library alone: it minimizes the mean over the workers of |x - t|^2/2.

Worker r has the target t = (r, r, r, r), so the workers together go to the mean of the ranks.
Usage: minimal.py memfd|frames
"""
import fcntl, json, mmap, os, socket, struct, sys

HELLO, WELCOME, GO, END, STEP, LOG, SCORE, STATE, COLLECT, RESULT, BYE, ERROR, START, VECTOR = range(1, 15)
ELEMENTS, SIZE = 4, 16
shared = sys.argv[1] == "memfd"
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["PEER_SOCKET"])


def say(kind, round=0, body=b"", flags=0):
    link.sendall(struct.pack("<IIQQ", kind, flags, round, len(body)) + body)


def take(size):
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            sys.exit("the peer is gone")
        data += part
    return data


def hear():
    """Return the next message. A vector that is its body goes where the region is."""
    kind, flags, round, length = struct.unpack("<IIQQ", take(24))
    body = take(length)
    if kind == ERROR:
        sys.exit(json.loads(body)["message"])
    if kind in (GO, VECTOR) and not shared:
        region[:SIZE] = body
    return kind, flags, round, body


def hand_over(kind, round, x):
    region[:SIZE] = struct.pack("<4f", *x)
    say(kind, round, b"" if shared else region[:SIZE])


hello = json.dumps({"version": 2, "client": "minimal.py", "memory": sys.argv[1], "elements": ELEMENTS, "exact": 0,
                    "tensors": [{"name": "x", "shape": [ELEMENTS], "dtype": "float32"}]}).encode()
if shared:
    descriptor = os.memfd_create("region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    fcntl.fcntl(descriptor, 1033, 2 | 4)  # F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW
    region = mmap.mmap(descriptor, 4096)  # four numbers, all 0: the start
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", descriptor))]
    link.sendmsg([struct.pack("<IIQQ", HELLO, 0, 0, len(hello)) + hello], rights)
else:
    region = bytearray(SIZE)
    say(HELLO, 0, hello)
    say(START, 0, region)

kind, flags, done, body = hear()
while kind != END:
    x = struct.unpack("<4f", region[:SIZE])
    if kind == WELCOME:
        rank = json.loads(body)["rank"]
    elif kind == GO:
        if flags & 1:
            say(STATE, done, b"no state but x")
        loss = sum((v - rank) ** 2 / 2 for v in x)
        say(LOG, done, json.dumps({"values": {"loss": loss}}).encode())
        hand_over(STEP, done, [v - (v - rank) / 4 for v in x])
    kind, flags, done, body = hear()
if flags & 1:
    say(STATE, done, b"no state but x")
x = struct.unpack("<4f", region[:SIZE])
call = json.dumps({"kind": "mean"}).encode()
say(COLLECT, 1, struct.pack("<I", len(call)) + call)
while kind != RESULT:
    kind, flags, _, body = hear()
mean = struct.unpack("<4f", body[-SIZE:])
print(f"worker {rank} ends with x = {x[0]:.3f}, the mean is {mean[0]:.3f}")
say(SCORE, done, json.dumps({"values": {"loss": sum((v - rank) ** 2 / 2 for v in x)}}).encode())
say(BYE, done, b"{}")
