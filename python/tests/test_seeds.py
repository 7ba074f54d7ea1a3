"""Each worker has random numbers of its own, whatever the script has seeded, and the same script repeats itself."""

import contextlib
import io
import os
import random
import subprocess
import sys
import unittest

import numpy
import torch

import gossiptrainer as gossip
from fakepeer import Run

HERE = os.path.dirname(os.path.abspath(__file__))


def draw():
    return torch.rand(1).item(), numpy.random.rand(), random.random()


def draws(prepare, seed="1", init=None):
    """Return what two workers draw after join."""
    def worker(rank):
        os.environ["PEER_SEED"] = seed
        prepare()
        if init is not None:
            gossip.init(seed=init)
        gossip.join(torch.nn.Linear(2, 2))
        return draw()
    return Run(rounds=None)(worker).returned


def seeded():
    torch.manual_seed(1)
    numpy.random.seed(2)
    random.seed(3)


class Join(unittest.TestCase):
    def test_workers_differ_and_repeat_themselves(self):
        one, other = first = draws(seeded)
        for a, b in zip(one, other):
            self.assertNotEqual(a, b)
        self.assertEqual(draws(seeded), first)

    def test_the_seed_of_the_run_varies_the_numbers(self):
        for a, b in zip(draws(seeded)[0], draws(seeded, seed="2")[0]):
            self.assertNotEqual(a, b)

    def test_init_seeds_a_script_that_does_not(self):
        first = draws(lambda: None, init=7)
        self.assertEqual(draws(lambda: None, init=7), first)
        self.assertNotEqual(draws(lambda: None, init=8), first)
        self.assertNotEqual(first[0], first[1])


def script(text, **environment):
    """Run a script without a peer, and return output and errors."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PEER_")}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], text=True, capture_output=True, timeout=60,
                          env=dict(clean, PYTHONPATH=os.path.dirname(HERE), **environment))
    return done.stdout, done.stderr


class Init(unittest.TestCase):
    LAB = {"PEER_SOCKET": "nowhere", "PEER_SEED": "5", "PEER_RANK": "2", "PEER_SIZE": "4", "PEER_LOCAL_RANK": "2",
           "PEER_LOCAL_SIZE": "4", "PEER_DIR": "/somewhere"}

    def test_has_the_place_before_the_model(self):
        text = ("import gossiptrainer\np = gossiptrainer.init(seed=1)\n"
                "print(p.rank, p.size, p.seed, p.dir, p.local_rank, p.local_size, gossiptrainer.init() is p)")
        self.assertEqual(script(text, **self.LAB), ("2 4 5 /somewhere 2 4 True\n", ""))

    def test_gives_each_rank_numbers_of_its_own(self):
        text = "import random, gossiptrainer\nrandom.seed(1)\ngossiptrainer.init()\nprint(random.random())"
        two, three = (script(text, **dict(self.LAB, PEER_RANK=rank))[0] for rank in "23")
        self.assertNotEqual(two, three)
        self.assertEqual(script(text, **self.LAB)[0], two)

    def test_without_a_peer_seeds_nothing(self):
        out, _ = script("import random, gossiptrainer\nrandom.seed(1)\na = random.random()\nrandom.seed(1)\n"
                        "p = gossiptrainer.init()\nprint(a == random.random(), p.rank, p.size)")
        self.assertEqual(out, "True 0 1\n")

    def test_mistakes(self):
        lan = {"PEER_SOCKET": "nowhere", "PEER_SEED": "5"}
        for text, message in (("print(gossiptrainer.init().rank)", "peer.rank is known after join"),
                              ("print(gossiptrainer.init().size)", "peer.size is known after join"),
                              ("gossiptrainer.init()\ngossiptrainer.init(seed=1)", "the seed comes too late"),
                              ("gossiptrainer.init().step()", "has not joined yet: call gossiptrainer.join")):
            self.assertIn(message, script("import gossiptrainer\n" + text, **lan)[1])

    def test_a_torch_that_nobody_seeded_is_named(self):
        def worker(rank):
            said = io.StringIO()
            torch.seed()
            with contextlib.redirect_stderr(said):
                if rank == 2:
                    torch.manual_seed(1)
                gossip.join(torch.nn.Linear(1, 1))
            return said.getvalue()
        note = "gossip: worker 0's generators were not seeded: two runs will differ (init(seed=1))\n"
        self.assertEqual(Run(n=2, rounds=None)(worker).returned, [note, ""])
        self.assertEqual(Run(n=1, rounds=None)(lambda rank: worker(2)).returned, [""])


if __name__ == "__main__":
    unittest.main()
