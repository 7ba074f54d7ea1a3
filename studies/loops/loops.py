#!/usr/bin/env python3
"""Compares loss against seconds: one process, DDP over gloo, and peers that mix models, with the same optimizer steps
and the same global batch. Each worker runs in a network namespace with a cable of a limited rate, so that all methods
have the same network. Prints a document, or writes the file of -o, where the sections of other models stay. It needs
an idle machine.

    PEER_DATA=... studies/loops/loops.py [--models char ...] [--links 100 1000] [-o FILE] [--kept FILE]

With --kept it goes on after a stop: the file has the runs that are finished, and --finished writes about those. Needs
root, ip and tc of iproute2, zstd, and PyTorch.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORKERS = 4
STEPS = {"char": 128, "resnet20": 64, "lora": 64}
PREFIX = f"loops{os.getpid()}"
CODECS = {"D-PSGD, 32 bits": "codec: full", "Moniqua, 8 bits": "codec: moniqua, bits: 8", "Moniqua, 4 bits": "codec: moniqua, bits: 4"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["char", "resnet20", "lora"])
    parser.add_argument("--links", nargs="+", type=int, default=[100, 1000], help="Mbit/s of each cable")
    parser.add_argument("--local", nargs="+", type=int, default=[1, 16, 64], help="optimizer steps for each exchange")
    parser.add_argument("--steps", type=int, help="optimizer steps of all models; by default each has its own")
    parser.add_argument("--limit", type=int, default=1200, help="seconds of one run")
    parser.add_argument("--kept", type=pathlib.Path, help="file of finished runs")
    parser.add_argument("--finished", action="store_true", help="make no run: write about those of --kept")
    parser.add_argument("-o", type=pathlib.Path, help="file to write")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("loops.py: needs root for network namespaces")
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(pathlib.Path(folder), args)
        for model in args.models:
            lab.row(model, "", "one process", lab.alone)
            for link in args.links:
                with Cables(link):
                    lab.row(model, link, "DDP, gloo", lab.ddp)
                    for (name, codec), local in itertools.product(CODECS.items(), args.local):
                        lab.row(model, link, f"{name}, {plural(local)}", lab.gossip, codec, local)
    others = sections(args.o.read_text()) if args.o and args.o.exists() else {}
    found = dict.fromkeys(r["model"] for r in lab.rows)
    text = document({**others, **{model: section(model, lab.rows) for model in found}})
    if args.o:
        args.o.write_text(text)
    else:
        print(text)


def plural(local):
    return "every step" if local == 1 else f"every {local} steps"


class Cables:
    """A bridge, and a namespace for each worker with a cable of a limited rate to it."""

    def __init__(self, rate):
        self.rate = rate

    def __enter__(self):
        sh("ip", "netns", "add", f"{PREFIX}-lan")
        sh("ip", "-n", f"{PREFIX}-lan", "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        sh("ip", "-n", f"{PREFIX}-lan", "link", "set", "bridge", "up")
        for i in range(WORKERS):
            own = f"{PREFIX}-{i}"
            sh("ip", "netns", "add", own)
            sh("ip", "-n", own, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{i}", "netns", f"{PREFIX}-lan")
            sh("ip", "-n", f"{PREFIX}-lan", "link", "set", f"port{i}", "master", "bridge", "up")
            sh("ip", "-n", own, "link", "set", "lo", "up")
            sh("ip", "-n", own, "address", "add", f"10.79.0.{i + 1}/24", "dev", "eth0")
            sh("ip", "-n", own, "link", "set", "eth0", "up")
            for space, device in ((own, "eth0"), (f"{PREFIX}-lan", f"port{i}")):  # up and down
                sh("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{self.rate}mbit", "burst",
                   "256kb", "latency", "100ms")

    def __exit__(self, *_):
        for name in ("lan", *range(WORKERS)):
            subprocess.run(["ip", "netns", "delete", f"{PREFIX}-{name}"], check=False)


class Lab:
    """Runs one method after the other."""

    def __init__(self, folder, args):
        self.folder, self.args, self.runs, self.peer = folder, args, itertools.count(), str(folder / "peer")
        self.rows = []
        self.kept = json.loads(args.kept.read_text()) if args.kept and args.kept.exists() else []
        if not args.finished:
            sh("go", "build", "-o", self.peer, "./cmd/peer", cwd=ROOT)
            sh(self.peer, "id", "secret", str(folder / "secret"))

    def steps(self, model):
        return self.args.steps or STEPS[model]

    def row(self, model, link, name, run, *options):
        """Adds the row of a run, which is made unless it is kept."""
        key = {"model": model, "link": link, "name": name, "steps": self.steps(model)}
        found = next((r for r in self.kept if r.items() >= key.items()), None)
        if found is None and self.args.finished:
            return
        if found is None:
            found = {**key, "machine": f"{processor()}, {os.cpu_count()} cores", **run(model, *options)}
            self.kept.append(found)
            if self.args.kept:
                self.args.kept.write_text(json.dumps(self.kept, indent=1))
        self.rows.append(found)

    def script(self, model, how):
        every = max(1, self.steps(model) // 6)
        return [sys.executable, str(HERE / "train.py"), "--model", model, "--how", how, "--steps", str(self.steps(model)),
                "--every", str(every), "--workers", str(WORKERS)]

    def alone(self, model):
        return self.results([self.script(model, "alone")], [{"OMP_NUM_THREADS": str(os.cpu_count())}])

    def ddp(self, model):
        inside = [["ip", "netns", "exec", f"{PREFIX}-{i}", *self.script(model, "ddp")] for i in range(WORKERS)]
        shared = {"MASTER_ADDR": "10.79.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": str(WORKERS), "GLOO_SOCKET_IFNAME": "eth0"}
        return self.results(inside, [{**shared, "RANK": str(i)} for i in range(WORKERS)])

    def gossip(self, model, codec, local):
        run = next(self.runs)
        settings = [f"name=loops-{run}", "model.name=external", f"topology={{kind: ring, size: {WORKERS}}}",
                    "train.rounds=script", "checkpoint={every: 0, seconds: 0}",
                    f"algorithm={{name: dpsgd, {codec}, local_steps: {local}}}"]
        inside, own = [], []
        for i in range(WORKERS):
            home = self.folder / f"{run}-{i}"
            home.mkdir()
            set_ = [*settings, f"output.dir={home}/runs", f"node.key={home}/key", f"node.join_secret_file={self.folder}/secret"]
            inside.append(["ip", "netns", "exec", f"{PREFIX}-{i}", self.peer, "run", "script",
                           *(word for each in set_ for word in ("--set", each)), "--", *self.script(model, "gossip")])
            own.append({"XDG_CONFIG_HOME": str(home)})
        return self.results(inside, own)

    def results(self, commands, environments):
        """Runs processes at once and returns what worker 0 has printed."""
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    env={**os.environ, "OMP_NUM_THREADS": "1", **own})
                   for command, own in zip(commands, environments)]
        said = []
        try:
            for process in running:
                said.append(process.communicate(timeout=self.args.limit)[0])
        finally:
            for process in running:
                process.kill()
        for process, text in zip(running, said):
            if process.returncode:
                sys.exit(f"{' '.join(map(str, process.args))} failed with code {process.returncode}:\n{text}")
        found = [line.partition("curve ")[2] for line in "".join(said).splitlines() if "curve {" in line]
        print(" ".join(map(str, commands[0][-12:])), found[0], file=sys.stderr)
        return json.loads(found[0])


def document(parts):
    return """# Loss against seconds

Written by `studies/loops/loops.py`. Four workers, each behind a cable of its own, take as many optimizer steps with the
same global batch as one process does. DDP averages gradients over gloo in each step. Peers on a ring mix models.
Seconds are those of worker 0, without its evaluations. All workers share the cores of one machine, so the seconds of
computing are the same for all methods with several workers. The loss is that of held-out samples. Peers end with the
loss of the mean model; the loss at two thirds is that of worker 0.

""" + "\n".join(parts.values())


def section(model, rows):
    own = [r for r in rows if r["model"] == model]
    table = [("Mbit/s", "method", "loss at 2/3", "loss", "seconds", "steps per second", "MB sent by a worker")]
    for r in own:
        third = r["curve"][len(r["curve"]) * 2 // 3 - 1]
        seconds = r["curve"][-1][1]
        table.append((str(r["link"]), r["name"], f"{third[2]:.3f}", f"{r['final']:.3f}", f"{seconds:.1f}",
                      f"{r['steps'] / seconds:.2f}", f"{r['sent'] / 1e6:.1f}" if r["link"] else ""))
    machines = " and ".join(dict.fromkeys(r["machine"] for r in own))
    return (f"## {model}: {own[0]['parameters']:,} trainable parameters, {own[0]['steps']} steps\n\n"
            f"Measured on {machines}.\n\n{aligned(table)}\n")


def sections(text):
    """Returns the sections of a document by model."""
    return {part.partition(":")[0]: f"## {part}".rstrip("\n") + "\n" for part in text.split("\n## ")[1:]}


def aligned(table):
    """Returns a Markdown table that is also aligned as text."""
    widths = [max(len(r[i]) for r in table) for i in range(len(table[0]))]
    lines = ["| " + " | ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths))) + " |"
             for r in table]
    rule = "|" + "|".join("-" * (w + 2) if i < 2 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "an unknown processor"


def sh(*command, **options):
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL if command[0].endswith("peer") else None, **options)


if __name__ == "__main__":
    main()
