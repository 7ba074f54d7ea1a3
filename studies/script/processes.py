"""Processes that train alone, or as peers on a ring that exchange models with Moniqua, and what they print."""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def alone(command, processes):
    """Run a command several times without peers and return what the processes print."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT / "python"))
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
               for _ in range(processes)]
    return "".join(process.communicate()[0] for process in running)


def peers(command, args, name, program, folder):
    """Run a command as the peers of a run with a name and return what they print."""
    settings = {
        "name": name, "model.name": "external", "topology.kind": "ring", "topology.size": args.processes,
        "algorithm.name": "dpsgd", "algorithm.codec": "moniqua", "algorithm.bits": args.bits,
        "train.rounds": args.steps, "output.dir": folder,
    }
    words = [program, "lab"]  # --quiet drops what scripts print
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    done = subprocess.run(words + ["--"] + command, env=dict(os.environ, OMP_NUM_THREADS="1"), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"peer lab failed with code {done.returncode}:\n{done.stdout}")
    return done.stdout


def figures(output, first, processes):
    """Return the JSON objects that the scripts have printed, whose first key is given."""
    found = [json.loads(line) for line in re.findall(r"\{.%s.*\}" % first, output)]
    if len(found) != processes:
        sys.exit(f"{len(found)} of {processes} scripts have printed their figures:\n{output}")
    return found
