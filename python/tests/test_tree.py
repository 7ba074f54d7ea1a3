"""Trees of arrays: any nesting, types that come back, and digits that float32 lacks."""

import collections
import dataclasses
import io
import os
import tempfile
import unittest

import numpy

import gossiptrainer as gossip
from fakepeer import Run
from gossiptrainer import _tree

Pair = collections.namedtuple("Pair", "a b")
W = numpy.array([[0.75, 0.25], [0.25, 0.75]])


@dataclasses.dataclass(frozen=True)
class State:
    w: object
    count: int


def tree(rank):
    return {"z": [numpy.full(2, rank + 1 / 3), Pair(numpy.ones((2, 1), "float32"), None)],
            "a": State(numpy.full((), rank, "float32"), 7), 3: numpy.zeros(2, "float16"), "name": "x"}


class Structure(unittest.TestCase):
    def test_leaves_have_names_that_no_order_changes(self):
        names = [name for name, _ in _tree.walk(tree(0))]
        self.assertEqual(names, ["3", "a.w", "a.count", "name", "z.0", "z.1.a", "z.1.b"])
        mixed = dict(reversed(list(tree(0).items())))
        self.assertEqual([name for name, _ in _tree.walk(mixed)], names)

    def test_rebuilds_each_kind_of_node(self):
        made = _tree.rebuild(tree(0), iter(range(7)))
        self.assertEqual(made, {"z": [4, Pair(5, 6)], "a": State(1, 2), 3: 0, "name": 3})
        self.assertEqual(list(made), ["z", "a", 3, "name"])
        self.assertIs(type(_tree.rebuild(collections.OrderedDict(a=1), iter([2]))), collections.OrderedDict)
        made = _tree.rebuild(collections.defaultdict(list, a=1), iter([2]))
        self.assertEqual((made["a"], made["b"]), (2, []))


class Exchange(unittest.TestCase):
    def test_mixes_and_gives_types_back(self):
        def worker(rank):
            peer = gossip.join(tree(rank))
            p = peer.params
            start = p["z"][0].copy()
            for step in range(3):
                p = peer.exchange({**p, "z": [p["z"][0] + rank, p["z"][1]], "a": State(p["a"].w, step)}, loss=step)
            mean = peer.average()
            with peer.averaged() as held:
                inside = held["z"][0].tolist()
            return start, p, mean, inside, peer.params["z"][0].tolist()

        run = Run(rounds=3, w=W)(worker)
        self.assertEqual(run.codes, [0, 0])
        self.assertEqual([t["name"] for t in run.connections[0].hello["tensors"]], ["3", "a.w", "z.0", "z.1.a"])
        self.assertEqual(run.connections[0].logs, [(0, 0), (1, 1), (2, 2)])
        numpy.testing.assert_array_equal(run.returned[0][0], [1 / 3] * 2)  # all of worker 0's digits
        numpy.testing.assert_array_equal(run.returned[1][0], [1 / 3] * 2)
        x = numpy.full(2, 1 / 3)
        for _ in range(3):
            x = W @ x + numpy.array([0, 1])
        for rank in range(2):
            _, p, mean, inside, after = run.returned[rank]
            self.assertEqual((p["z"][0].dtype, p["z"][1].a.dtype, p[3].dtype, p["a"].count, p["name"]),
                             ("float64", "float32", "float16", 2, "x"))
            self.assertIsInstance(p["z"][1], Pair)
            numpy.testing.assert_allclose(p["z"][0], x[rank], atol=1e-6)
            numpy.testing.assert_allclose(mean["z"][0], x.mean(), atol=1e-6)
            self.assertEqual((inside, after), (mean["z"][0].tolist(), p["z"][0].tolist()))

    def test_keeps_the_digits_that_float32_lacks(self):
        def worker(rank):
            peer = gossip.join({"w": numpy.zeros(1)})
            p = peer.params
            for _ in range(10):
                p = peer.exchange({"w": p["w"] + 1 + 1e-12})
            return p["w"][0]
        got = Run(n=1, rounds=10, w=numpy.eye(1))(worker).returned[0]
        self.assertEqual(abs(got - (10 + 1e-11)) < 1e-14, True, got - 10)

    def test_half_types_keep_a_master(self):
        def worker(rank):
            peer = gossip.join({"w": numpy.ones(1, "float16")})
            p = peer.params
            for _ in range(8):
                p = peer.exchange({"w": p["w"]})
            return p["w"][0]
        run = Nudged(n=1, rounds=8, w=numpy.eye(1))(worker)
        self.assertEqual(run.x[8][0][0], 1 + 8 * 2 ** -12)
        self.assertEqual(run.returned[0], 1 + 2 ** -9)

    def test_resumes(self):
        def worker(rank):
            peer = gossip.join({"w": numpy.full(2, 1 / 3), "v": numpy.ones(2, "float32"), "n": 0})
            p = peer.params
            while not peer.done:
                peer.boundary()
                p = peer.params
                p = peer.exchange({"w": 0.9 * p["w"] + 0.1, "v": p["v"] * (rank + 1), "n": p["n"] + 1})
            return p["w"].tolist(), p["n"]
        whole = Run(rounds=6, w=W, save=(4,))(worker)
        saved = [(whole.x[4][r], whole.connections[r].states[4]) for r in range(2)]
        rest = Run(rounds=6, w=W, first=4, saved=saved)(worker)
        numpy.testing.assert_array_equal(rest.x[6], whole.x[6])
        self.assertEqual(rest.returned, whole.returned)
        self.assertEqual(rest.connections[0].calls, [], "it compared what does not travel again")

    def test_save(self):
        def worker(rank):
            peer = gossip.join({"w": numpy.full(2, float(rank)), "b": [numpy.ones(1, "float32")]})
            path = os.path.join(tempfile.gettempdir(), f"tree-{os.getppid()}.npz")
            peer.save(path)
            peer.barrier()
            with numpy.load(path) as file:
                found = {name: file[name].tolist() for name in file}
            peer.barrier()
            if rank == 0:
                os.unlink(path)
            return found
        self.assertEqual(Run(rounds=None)(worker).returned, [{"w": [0, 0], "b.0": [1]}] * 2)

    def test_mistakes(self):
        def worker(rank):
            peer = gossip.join({"w": numpy.ones(2)})
            for wrong, message in (({"w": numpy.ones(3)}, "w is 3, but was 2 at join: exchange needs the tree of join"),
                                   ({}, "w is missing, but was 2 at join"),
                                   ({"w": numpy.ones(2), "b": numpy.ones(1)}, "b was no float array at join")):
                with self.assertRaisesRegex(gossip.Error, message):
                    peer.exchange(wrong)
        self.assertEqual(Run(n=1, rounds=None)(worker).codes, [0])


class Nudged(Run):
    def _mixed(self, after):
        return super()._mixed(after) + 2 ** -12


if __name__ == "__main__":
    unittest.main()
