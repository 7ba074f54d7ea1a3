"""A script that sets no seed is reproducible: gossip.py seeds by the run when it is imported, and by rank in join."""

import os
import subprocess
import sys
import unittest

import torch

import gossip
from fakepeer import Run

HERE = os.path.dirname(os.path.abspath(__file__))
DRAW = "; print(torch.rand(1).item(), numpy.random.rand(), random.random())"


def numbers(imports, seed):
    """Return the first random numbers of a script, as text."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PEER_SOCKET", "PEER_SEED")}
    environment.update({"PYTHONPATH": os.path.dirname(HERE)}, **({"PEER_SEED": seed} if seed else {}))
    done = subprocess.run([sys.executable, "-c", imports + DRAW], env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Import(unittest.TestCase):
    def test_seeds_in_any_order_of_imports(self):
        after = numbers("import torch, numpy, random, gossip", "1")
        self.assertEqual(numbers("import gossip, random, torch, numpy", "1"), after)
        self.assertNotEqual(numbers("import torch, numpy, random, gossip", "2"), after)

    def test_without_a_peer_seeds_nothing(self):
        self.assertNotEqual(numbers("import torch, numpy, random, gossip", None),
                            numbers("import torch, numpy, random, gossip", None))


class Join(unittest.TestCase):
    @staticmethod
    def draws(rank, prepare):
        """Return what a worker draws before join and after."""
        gossip._SEED = "1"
        gossip._seed("torch", gossip._number("1"))
        prepare()
        before = torch.rand(1).item()
        gossip.join(torch.nn.Linear(2, 2))
        return before, torch.rand(1).item()

    def test_gives_each_rank_numbers_of_its_own(self):
        run = [Run(rounds=0)(lambda rank: self.draws(rank, lambda: None)).returned for _ in range(2)]
        self.assertEqual(run[0], run[1])
        (before, after), (other_before, other_after) = run[0]
        self.assertEqual(before, other_before)
        self.assertNotEqual(after, other_after)

    def test_leaves_a_seed_of_the_script(self):
        one, other = Run(rounds=0)(lambda rank: self.draws(rank, lambda: torch.manual_seed(1))).returned
        self.assertEqual(one, other)


if __name__ == "__main__":
    unittest.main()
