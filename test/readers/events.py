"""Reads event files with readers of others, and compares every value with the table of the same run.

    python3 events.py READER LOGDIR TABLE SCHEMA

READER is tensorboard (its own parser), protobuf (Google's library, with code that protoc makes of SCHEMA) or tfrecord
(the Node packages tfrecord and protobufjs). LOGDIR and TABLE are from "peer export --to tensorboard" and "--to csv".
Exit code 3: the reader is not installed.
"""
import csv
import datetime
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

MISSING = 3


def absent(what):
    print(what, file=sys.stderr)
    sys.exit(MISSING)


def by_tensorboard(path, _schema):
    """Yields wall time, step and scalars as TensorBoard's parser gives them, after its conversion of old forms."""
    try:
        from tensorboard.backend.event_processing import event_file_loader
    except ImportError as error:
        absent(f"no TensorBoard: {error}")
    for event in event_file_loader.EventFileLoader(str(path)).Load():
        if event.HasField("summary"):
            yield event.wall_time, event.step, [
                (v.tag, v.tensor.float_val[0] if v.HasField("tensor") else v.simple_value) for v in event.summary.value]


def crc32c(data, table=[]):
    """CRC-32 with the polynomial of Castagnoli, bit by bit where it makes its table."""
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
            table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def records(path):
    """Yields the records of a TFRecord file, whose checksums must be right."""
    data, at = path.read_bytes(), 0

    def check(piece, want):
        crc = crc32c(piece)
        if ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF != want:
            sys.exit(f"{path}: byte {at}: wrong checksum")

    while at < len(data):
        length, crc = struct.unpack_from("<QI", data, at)
        check(data[at:at + 8], crc)
        record = data[at + 12:at + 12 + length]
        check(record, struct.unpack_from("<I", data, at + 12 + length)[0])
        yield record
        at += 16 + length


def compiled(schema, made={}):
    """Returns the class Event that protoc makes of a schema."""
    if not made:
        try:
            import google.protobuf  # noqa: F401
        except ImportError as error:
            absent(f"no library of Protocol Buffers: {error}: apt install python3-protobuf")
        to = tempfile.TemporaryDirectory()
        try:
            subprocess.run(["protoc", f"--python_out={to.name}", f"-I{schema.parent}", schema.name], check=True)
        except FileNotFoundError:
            absent("no protoc: apt install protobuf-compiler")
        sys.path.insert(0, to.name)
        made["event"] = __import__(schema.stem + "_pb2").Event
        to.cleanup()
    return made["event"]


def by_protobuf(path, schema):
    """Yields the same with Google's library. A field that the schema does not have is an error."""
    event = compiled(schema)
    for n, record in enumerate(records(path)):
        e = event.FromString(record)
        if e.SerializeToString() != record or n == 0 and e.file_version != "brain.Event:2":
            sys.exit(f"{path}: event {n} is not one of the schema: {e}")
        if e.HasField("summary"):
            yield e.wall_time, e.step, [(v.tag, v.simple_value) for v in e.summary.value]


def by_tfrecord(path, schema):
    """Yields the same with packages for Node, which check the checksums."""
    script = pathlib.Path(__file__).with_name("events.cjs")
    try:
        done = subprocess.run(["node", script, path, schema], capture_output=True, text=True)
    except FileNotFoundError:
        absent("no node")
    if done.returncode == MISSING:
        absent(done.stderr.strip())
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    for line in done.stdout.splitlines():
        e = json.loads(line)
        yield e["wall"], e["step"], [tuple(v) for v in e["values"]]


def single(value):
    """The number that single precision keeps of a value."""
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def table(path):
    """Returns lists of wall time, step and scalars by run and worker."""
    rows = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            text, _, fraction = row["time_utc"].rstrip("Z").partition(".")
            whole = datetime.datetime.fromisoformat(text + "+00:00").timestamp()
            values = [(name, single(v)) for name, v in row.items() if "/" in name and v != ""]
            rows.setdefault((row["run"], row["worker"]), []).append(
                (whole + float("0." + (fraction or "0")), int(row["round"]), values))
    return rows


def main():
    name, logs, rows, schema = sys.argv[1], pathlib.Path(sys.argv[2]), table(sys.argv[3]), pathlib.Path(sys.argv[4])
    read = {"tensorboard": by_tensorboard, "protobuf": by_protobuf, "tfrecord": by_tfrecord}[name]
    events = values = 0
    files = sorted(logs.rglob("*tfevents*"))
    for path in files:
        of = tuple(path.parent.relative_to(logs).parts)
        want = rows.pop(of, [])
        got = list(read(path, schema))
        if len(got) != len(want):
            sys.exit(f"{path}: {len(got)} events, want {len(want)}")
        for n, ((wall, step, scalars), (wall_want, step_want, scalars_want)) in enumerate(zip(got, want)):
            scalars = [(tag, single(v)) for tag, v in scalars]
            if step != step_want or abs(wall - wall_want) > 1e-5 or scalars != scalars_want:
                sys.exit(f"{path}: event {n}: {wall}, {step}, {scalars}, want {wall_want}, {step_want}, {scalars_want}")
            events, values = events + 1, values + len(scalars)
    if rows or not files:
        sys.exit(f"{logs}: no events of {sorted(rows)}")
    print(f"{name}: {len(files)} files, {events} events, {values} values: all as in the table")


if __name__ == "__main__":
    main()
