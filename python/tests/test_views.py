"""Members come and go: what a script hears of it, and its part of the data."""

import itertools
import unittest

import torch
from torch.utils.data import DataLoader, IterableDataset

import gossiptrainer as gossip
from fakepeer import Run
from gossiptrainer._peer import Member

torch.set_num_threads(1)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(12))


class TestViews(unittest.TestCase):
    def test_rank_size_and_members_follow(self):
        def worker(rank):
            peer, heard = gossip.join(torch.nn.Linear(1, 1)), []
            first = peer.view, peer.rank, peer.size, [each.id for each in peer.members]

            @peer.on_view
            def hear(number, members, reason):
                heard.append((peer.round, number, members, reason, peer.rank, peer.size))

            while not peer.done:
                peer.step()
            return first, heard
        run = Run(2, 6, views={0: [0, 1], 2: [0, 1, 5], 4: [1, 0]})(worker)
        three, two = (Member(0, "m0"), Member(1, "m1"), Member(5, "m5")), (Member(1, "m1"), Member(0, "m0"))
        for rank in range(2):
            self.assertEqual(run.returned[rank], ((0, rank, 2, [0, 1]), [
                (2, 1, three, "why 1", rank, 3), (4, 2, two, "why 2", 1 - rank, 2)]))

    def test_a_fixed_crew(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            peer.on_view(lambda *_: self.fail("nobody comes or goes"))
            while not peer.done:
                peer.step()
            return peer.view, peer.members
        run = Run(2, 2)(worker)
        self.assertEqual(run.returned[0], (None, (Member(0, ""), Member(1, ""))))
        self.assertNotIn("views", run.connections[0].hello)

    def test_peers_compare_what_does_not_travel(self):
        """In the place of calls at join, which a newcomer could not make with others."""
        def worker(rank):
            torch.manual_seed(rank)
            model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
            model[0].requires_grad_(frozen == "not")
            if frozen == "equal":
                torch.nn.init.ones_(model[0].weight), torch.nn.init.ones_(model[0].bias)
            gossip.join(model)
        for frozen, same in ("not", True), ("equal", True), ("other", False):
            run = Run(2, 1, views={0: [0, 1]})(worker)
            one, other = (c.hello["views"] for c in run.connections)
            self.assertEqual(one == other, same, frozen)
            self.assertEqual(len(one), 64)
            self.assertEqual(run.connections[0].calls, [])

    def passes(self, make):
        """Return the samples of three passes of three rounds, each over other parts."""
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            batches, seen = iter(make(peer)), []
            for _ in range(9):
                seen.append(next(batches).tolist())
                peer.step()
            return [sorted(sum(seen[i:i + 3], [])) for i in (0, 3, 6)]
        return Run(2, 9, views={0: [0, 1], 2: [0, 1, 5, 6], 5: [1, 0], 7: [0, 1]})(worker).returned

    def test_the_next_pass_has_the_part_of_the_next_view(self):
        """A pass goes on with its part when others come or go meanwhile."""
        ways = {
            "shard": lambda peer: peer.shard(DataLoader(torch.arange(12), batch_size=2, shuffle=True)),
            "shard of a list": lambda peer: peer.shard([torch.tensor([i]) for i in range(6)]),
            "loader": lambda peer: endless(peer.loader(DataLoader(torch.arange(12), batch_size=2, shuffle=True))),
            "loader with workers": lambda peer: endless(peer.loader(DataLoader(
                torch.arange(12), batch_size=2, num_workers=1, persistent_workers=True))),
            "stream": lambda peer: endless(peer.loader(DataLoader(Stream(), batch_size=2))),
            "sampler": lambda peer: endless(DataLoader(torch.arange(12), batch_size=2,
                                                       sampler=peer.sampler(range(12)))),
        }
        for name, make in ways.items():
            with self.subTest(name):
                for rank, passes in enumerate(self.passes(make)):
                    count = 6 if name == "shard of a list" else 12
                    first = list(range(rank, count, 2))
                    self.assertEqual(passes[0], first)  # though the view of round 2 has four members
                    self.assertTrue(set(passes[1]) >= set(range(rank, count, 4)), passes)

    def test_refusals(self):
        def worker(rank):
            model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
            model[0].requires_grad_(False)
            torch.nn.init.zeros_(model[0].weight), torch.nn.init.zeros_(model[0].bias)
            peer, said = gossip.join(model), []

            def refused(call):
                try:
                    call()
                except gossip.Error as problem:
                    said.append(str(problem))
            refused(lambda: peer.stop("enough"))
            refused(peer.leave)
            model[0].requires_grad_(True)
            refused(peer.refresh)
            model[0].requires_grad_(False)
            peer.step()
            refused(peer.average)
            return said
        said = Run(2, 1, views={0: [0, 1]}, why="interrupted")(worker).returned[0]
        wants = ("Ctrl-C leaves the run", "end the script", "unfreeze them before join", "this machine has left the run")
        self.assertEqual(len(said), len(wants))
        for text, want in zip(said, wants):
            self.assertIn(want, text)

    def test_a_root_that_is_gone(self):
        class Lonely(Run):
            def _answer(self):
                for c in self.connections:
                    kind = c.call[1]["kind"]
                    c.result(c.call[0], {"kind": kind, "round": self.k, "moved": False, "missing": {"1": "it is gone"}},
                             self.now[0].tobytes() if kind == "mean" else b"")
                    c.state = c.before

        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            try:
                peer.broadcast(1, root=1)
            except gossip.Error as problem:
                peer.average()
                return str(problem), peer.mean_rounds
        said, rounds = Lonely(2, 1, views={0: [0, 1]})(worker).returned[0]
        self.assertEqual(said, "worker 1 was to give its value, but it is gone: choose another root")
        self.assertEqual(rounds, {0: 0})


def endless(loader):
    return itertools.chain.from_iterable(loader for _ in itertools.count())


if __name__ == "__main__":
    unittest.main()
