"""The worker's part of the data, and the return from a checkpoint to the same batch."""

import contextlib
import functools
import io
import random
import unittest

import numpy
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset

import gossiptrainer as gossip
from fakepeer import BYE, Run

torch.set_num_threads(1)


class Numbers(Dataset):
    """The numbers from 0, each with noise from the random numbers of torch, NumPy and Python."""

    def __init__(self, count, noise=0.0):
        self.count, self.noise = count, noise

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        noise = torch.rand(()).item() + numpy.random.rand() + random.random()
        return torch.tensor(float(i) + self.noise * noise)


def seen(loader):
    """Return a worker that steps once per batch and returns the batches."""
    def worker(rank):
        random.seed(rank), numpy.random.seed(rank), torch.manual_seed(rank)
        peer = gossip.join(torch.nn.Linear(1, 1))
        batches = []
        for batch in peer.shard(loader):
            batches.append(batch.tolist() if hasattr(batch, "tolist") else batch)
            peer.step()
        return batches
    return worker


class Shards(unittest.TestCase):
    def test_every_sample_goes_to_one_worker(self):
        for workers in (0, 2):
            loader = DataLoader(Numbers(23), batch_size=4, shuffle=True, num_workers=workers)
            run = Run(n=2, rounds=6)(seen(loader))
            self.assertEqual(run.codes, [0, 0])
            for rank in range(2):
                batches = run.returned[rank]
                one_pass = [len(b) for b in batches[:3]]
                self.assertEqual(one_pass, [4, 4, 4 if rank == 0 else 3])
                samples = sum(batches[:3], [])
                self.assertEqual(sorted(samples), [float(i) for i in range(rank, 23, 2)])
                self.assertNotEqual(samples, sorted(samples), "the samples are not shuffled")
                self.assertEqual(sorted(sum(batches[3:], [])), sorted(samples))
                self.assertNotEqual(batches[3:], batches[:3], "the second pass has the order of the first")
            again = Run(n=2, rounds=6)(seen(loader))
            self.assertEqual(again.returned, run.returned)
            self.assertEqual([c.others for c in run.connections], [[], []], "a data-loader worker spoke to the peer")

    def test_options_of_the_loader(self):
        loader = DataLoader(Numbers(10), batch_size=2, drop_last=True)
        self.assertEqual(Run(n=2, rounds=3)(seen(loader)).returned[1], [[1, 3], [5, 7], [1, 3]])
        loader = DataLoader(Numbers(6), batch_size=None, collate_fn=lambda x: x.item() + 100)
        self.assertEqual(Run(n=2, rounds=4)(seen(loader)).returned[1], [101, 103, 105, 101])
        sampler = [5, 4, 3, 2, 1, 0]  # a sampler of the script's own: every size-th batch
        loader = DataLoader(Numbers(6), batch_size=1, sampler=sampler)
        self.assertEqual(Run(n=2, rounds=4)(seen(loader)).returned[1], [[4], [2], [0], [4]])

    def test_a_loop_that_is_left_goes_on_elsewhere(self):
        loader = DataLoader(Numbers(60), batch_size=5, shuffle=True)

        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            batches = []
            while not peer.done:
                for batch in peer.shard(loader):
                    batches.append(batch.tolist())
                    peer.step()
                    if peer.round % 2 == 0:
                        break
            return batches
        run = Run(n=1, rounds=4, save=(2, 4))(worker)
        self.assertNotEqual(run.returned[0][:2], run.returned[0][2:])
        self.assertEqual(sorted(run.connections[0].states), [2, 4], "a state was lost with the loop")

    def test_any_iterable(self):
        self.assertEqual(Run(n=2, rounds=4)(seen("abcde")).returned, [list("acea"), list("bdbd")])

    def test_mistakes(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            for data, message in ((iter("abc"), "an iterator cannot"), (map(str, "abc"), "an iterator cannot"),
                                  (DataLoader(Numbers(1)), "fewer than the 2 workers"),
                                  (DataLoader(Numbers(6), batch_size=4, drop_last=True), "fewer than a batch")):
                with self.assertRaisesRegex(gossip.Error, message):
                    peer.shard(data)
            with self.assertRaisesRegex(gossip.Error, "no item for rank"):
                list(peer.shard([]))
            with self.assertRaisesRegex(gossip.Error, "batches went by without a step"):
                list(peer.shard(range(10)))
            while not peer.done:
                peer.step()
        self.assertEqual(Run(n=2, rounds=1)(worker).codes, [0, 0])

    def test_losses_belong_to_their_rounds(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            if rank < 2:
                for batch in peer.shard(range(100)):
                    if rank == 0:  # before the step
                        peer.log(peer.round)
                        peer.step()
                    else:  # after it, and before it too
                        peer.log(torch.tensor(float(peer.round), requires_grad=True))
                        round = peer.round
                        peer.step()
                        peer.log(round)
                return
            while not peer.done:  # without a shard: rank 2 after the step, rank 3 before it
                round = peer.round
                if rank == 3:
                    peer.log(round)
                peer.step()
                if rank == 2:
                    peer.log(round)
            peer.evaluate(0.5)
            peer.evaluate(loss=2)
            peer.log(float("nan"))
        run = Run(n=4, rounds=4)(worker)
        self.assertEqual(run.codes, [0] * 4)
        self.assertEqual(run.connections[0].logs, [(k, k) for k in range(4)])
        self.assertEqual(run.connections[2].logs, [(k, k) for k in range(4)] + [(3, None)])
        self.assertEqual(run.connections[3].logs, [(k, k) for k in range(4)] + [(4, None)])
        self.assertEqual(run.connections[1].logs, [(k, k) for k in range(4) for _ in range(2)])
        self.assertEqual(run.connections[2].scores, [(4, {"accuracy": 0.5}), (4, {"loss": 2})])


class Streams(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(11))


class Parts(unittest.TestCase):
    """peer.loader, peer.sampler and peer.part: one pass over every size-th sample."""

    @staticmethod
    def passes(make, count=2, n=2, rounds=None):
        """Return the batches of each pass of each worker."""
        def worker(rank):
            torch.manual_seed(rank)
            peer = gossip.join(torch.nn.Linear(1, 1))
            loader = make(peer)
            return [[batch.tolist() for batch in loader] for _ in range(count)]
        run = Run(n=n, rounds=rounds)(worker)
        assert run.codes == [0] * n, run.codes
        return run.returned

    def test_loader(self):
        for workers in (0, 2):
            given = DataLoader(Numbers(11), batch_size=2, shuffle=True, num_workers=workers)
            first = self.passes(lambda peer: peer.loader(given))
            for rank, (one, two) in enumerate(first):
                self.assertEqual([len(b) for b in one], [2, 2, 2 - rank] if rank == 0 else [2, 2, 1])
                self.assertEqual({int(v) for b in one for v in b}, set(range(rank, 11, 2)))
                self.assertNotEqual([int(v) for b in one for v in b], [int(v) for b in two for v in b])
            again = self.passes(lambda peer: peer.loader(given))
            self.assertEqual([[int(v) for b in p for v in b] for p in again[0]],
                             [[int(v) for b in p for v in b] for p in first[0]])

    def test_loader_is_a_data_loader_over_a_part(self):
        def make(peer):
            loader = peer.loader(DataLoader(TensorDataset(torch.arange(11)), batch_size=2, shuffle=True,
                                            collate_fn=lambda b: torch.stack([x for x, in b])))
            self.assertIsInstance(loader, DataLoader)
            self.assertEqual((len(loader), len(loader.dataset)), (3, 6 - peer.rank))
            orders = []
            for epoch in (0, 1, 0):
                loader.sampler.set_epoch(epoch)
                orders.append([b.tolist() for b in loader])
            self.assertEqual(orders[0], orders[2])
            self.assertNotEqual(orders[0], orders[1])
            rebuilt = DataLoader(loader.dataset, batch_size=None)  # as frameworks do
            self.assertEqual(sorted(int(x) for x, in rebuilt), list(range(peer.rank, 11, 2)))
            return loader
        self.passes(make)

    def test_batch_sampler(self):
        """One of torch's own is as good as batch_size, and a loader with one is divided by samples too."""
        for name in ("loader", "shard"):
            def worker(rank):
                data = Numbers(23)
                order = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), 4, drop_last=True)
                peer = gossip.join(torch.nn.Linear(1, 1), rounds=9)
                found = []
                for x in getattr(peer, name)(DataLoader(data, batch_sampler=order)):
                    found.append(x.tolist())
                    peer.step()
                return found
            run = Run(n=2, rounds=2)(worker)
            for rank in range(2):
                self.assertEqual([len(x) for x in run.returned[rank]], [4, 4])
                self.assertEqual({i % 2 for x in run.returned[rank] for i in x}, {rank})
                order = sum(run.returned[rank], [])
                self.assertNotEqual(order, sorted(order))

    def test_a_loader_for_each_pass_has_other_orders(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            data = Numbers(20)
            loaders = [lambda: peer.loader(DataLoader(data, shuffle=True)),
                       lambda: DataLoader(data, sampler=peer.sampler(data))]
            found = [[x.item() for x in make()] for make in loaders for _ in range(3)]
            while not peer.done:
                peer.step()
            return found
        found, = Run(n=1, rounds=1)(worker).returned
        self.assertEqual(len({tuple(order) for order in found}), 6)
        self.assertEqual({tuple(sorted(order)) for order in found}, {tuple(float(i) for i in range(20))})

    def test_sampler(self):
        def make(peer):
            self.assertEqual(list(peer.sampler(range(6), shuffle=False)), [peer.rank, peer.rank + 2, peer.rank + 4])
            return DataLoader(torch.arange(11), batch_size=3, sampler=peer.sampler(range(11)))
        for rank, (one, two) in enumerate(self.passes(make)):
            self.assertEqual(sorted(sum(one, [])), list(range(rank, 11, 2)))
            self.assertNotEqual(one, two)

    @unittest.skipUnless(hasattr(torch, "set_default_device"), "torch 2 has a default device")
    def test_orders_where_the_script_has_another_default_device(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            torch.set_default_device("meta")
            order = list(peer.sampler(range(8)))
            peer.step()
            return sorted(order)
        self.assertEqual(Run(n=1, rounds=1)(worker).returned, [list(range(8))])

    def test_part(self):
        class Numbered(Dataset):
            def __len__(self):
                return 5

            def __getitem__(self, i):
                return i if 0 <= i < 5 else None

        class Columns:
            __len__ = Numbered.__len__

            def __getitem__(self, i):
                return [1, 2, 3, 4, 5][int(i)]

        def make(peer):
            self.assertEqual(peer.part([1, 2, 3, 4, 5]), [1, 3, 5] if peer.rank == 0 else [2, 4])
            self.assertEqual(peer.part(Columns()), peer.part([1, 2, 3, 4, 5]))
            self.assertEqual(peer.part(numpy.arange(4)).tolist(), [peer.rank, peer.rank + 2])
            part = peer.part(Numbered())
            self.assertEqual(list(part), list(range(peer.rank, 5, 2)))
            self.assertIsInstance(part, Dataset)
            both = DataLoader(peer.part(Streams()), batch_size=None, num_workers=2)
            self.assertEqual(sorted(both), list(range(peer.rank, 11, 2)))
            return peer.loader(DataLoader(Streams(), batch_size=3))
        self.assertEqual(self.passes(make, 1), [[[[0, 2, 4], [6, 8, 10]]], [[[1, 3, 5], [7, 9]]]])

    def test_hugging_face_datasets(self):
        class Table(list):
            def shard(self, num_shards, index, contiguous):
                return num_shards, index, contiguous
        Table.__module__ = "datasets.arrow_dataset"

        def make(peer):
            self.assertEqual(peer.part(Table([1, 2])), (2, peer.rank, False))
            return []
        self.passes(make)

    def test_a_sampler_of_distributed_data_parallel_divides_nothing_more(self):
        for shuffle in (True, False):
            def worker(rank):
                peer = gossip.join(torch.nn.Linear(1, 1))
                sampler = DistributedSampler(Numbers(21), num_replicas=peer.size, rank=rank, shuffle=shuffle)
                loader = peer.loader(DataLoader(Numbers(21), batch_size=4, sampler=sampler))
                passes = []
                for epoch in range(2):
                    sampler.set_epoch(epoch)
                    passes.append([])
                    for batch in loader:
                        passes[-1] += batch.tolist()
                        peer.step()
                return passes
            run = Run(n=2, rounds=12)(worker)
            self.assertEqual(run.codes, [0, 0])
            for rank in range(2):
                part = [float(i) for i in range(rank, 21, 2)]
                first, second = run.returned[rank]
                self.assertEqual([sorted(first), sorted(second)], [part, part], "a sample is in no part, or in both")
                self.assertEqual((first == part, first == second), (not shuffle, not shuffle))

    def test_loaders_that_cannot_be_made_again(self):
        class Own(DataLoader):
            def __iter__(self):
                return super().__iter__()

        for given, why in ((lambda: DataLoader(torch.arange(6), sampler=[5, 4, 3, 2, 1, 0]), "a list"),
                           (lambda: Own(torch.arange(6)), "an __iter__ of its own")):
            def make(peer):
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    loader = peer.loader(given())
                self.assertIn(f"the loader has {why}, so each worker takes every 2th batch, and loads the others in vain: "
                              "use peer.sampler", said.getvalue())
                self.assertEqual((len(loader), loader.batch_size), (3, 1))
                return loader
            one, other = self.passes(make, 1)
            self.assertEqual(sorted(sum(one[0] + other[0], [])), list(range(6)))

    def test_the_pass_in_which_the_run_ends_is_the_last(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            loader, counts = peer.loader(DataLoader(torch.arange(20), batch_size=1)), []
            for epoch in range(3):
                counts.append(0)
                for _ in loader:
                    counts[-1] += 1
                    peer.step()
            return counts, len(list(loader))  # a pass that takes no step is complete
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(Run(n=1, rounds=25)(worker).returned, [([20, 5, 1], 20)])

    def test_resumes_at_the_next_batch(self):
        def worker(rank):
            torch.manual_seed(rank)
            peer = gossip.join(torch.nn.Linear(1, 1))
            loader, seen = peer.loader(DataLoader(Numbers(10, noise=1), batch_size=2, shuffle=True)), []
            while not peer.done:
                for batch in loader:
                    seen.append((peer.round, batch.tolist()))
                    peer.step()
                    if peer.done:
                        break
            return seen
        whole = Run(n=2, rounds=9, save=(5,))(worker)
        saved = [(whole.x[5][r], whole.connections[r].states[5]) for r in range(2)]
        rest = Run(n=2, rounds=9, first=5, saved=saved)(worker)
        self.assertEqual(rest.returned, [whole.returned[r][5:] for r in range(2)])

    def test_mistakes(self):
        def worker(rank):
            peer = gossip.join(torch.nn.Linear(1, 1))
            for call, message in ((lambda: peer.part(range(1)), "part 1 of 2 has no sample: the data has 1"),
                                  (lambda: peer.loader(DataLoader(Numbers(1))), "part 1 of 2 has no sample"),
                                  (lambda: peer.part(iter("ab")), "part needs a list, an array or a dataset"),
                                  (lambda: peer.loader(iter("ab")), "an iterator cannot do"),
                                  (lambda: peer.loader(DataLoader(Numbers(6), batch_size=4, drop_last=True)),
                                   "fewer than a batch of 4")):
                if rank == 1:
                    with self.assertRaisesRegex(gossip.Error, message):
                        call()
        self.assertEqual(Run(n=2, rounds=None)(worker).codes, [0, 0])


class Resumes(unittest.TestCase):
    """A run that goes on from a checkpoint ends as the undisturbed one."""

    def check(self, make_loader, own_state=False, at=5, rounds=11):
        def worker(rank):
            torch.manual_seed(rank)
            random.seed(rank)
            numpy.random.seed(rank)
            model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Dropout(0.3), torch.nn.BatchNorm1d(4),
                                        torch.nn.Linear(4, 1))
            opt = torch.optim.AdamW(model.parameters(), 0.05)
            scheduler = torch.optim.lr_scheduler.StepLR(opt, 2, 0.7) if own_state else None
            peer = gossip.join(model, opt)
            if own_state:
                peer.state(model, opt, scheduler)
            begin = peer.round
            batches = []
            for batch in peer.shard(make_loader()):
                loss = F.mse_loss(model(batch.reshape(-1, 1) / 10), batch.reshape(-1, 1))
                opt.zero_grad()
                loss.backward()
                opt.step()
                if scheduler:
                    scheduler.step()
                peer.log(loss)
                batches.append((peer.round, batch.tolist()))
            return begin, batches, int(model[2].num_batches_tracked)

        whole = Run(n=2, rounds=rounds, save=(at,))(worker)
        self.assertEqual(whole.codes, [0, 0])
        saved = [(whole.x[at][rank], whole.connections[rank].states[at]) for rank in range(2)]
        rest = Run(n=2, rounds=rounds, first=at, saved=saved)(worker)
        self.assertEqual(rest.codes, [0, 0])
        for rank in range(2):
            begin, batches, tracked = rest.returned[rank]
            self.assertEqual(begin, at)
            self.assertEqual(batches, whole.returned[rank][1][at:])
            self.assertEqual(tracked, rounds)
            self.assertEqual(rest.connections[rank].logs, whole.connections[rank].logs[at:])
        numpy.testing.assert_array_equal(rest.x[rounds], whole.x[rounds])

    def test_passes_over_a_loader(self):
        """They may be left early. A look at a batch before the loop is none, nor are passes over held-out data."""
        def leaves(train, loader, held, opt, peer):
            for batch in loader:
                train(batch)
                if peer.round % 4 == 0:
                    break

        def decays(train, loader, held, opt, peer):
            for batch in loader:
                train(batch)
            opt.param_groups[0]["lr"] *= 0.5

        def evaluates(train, loader, held, opt, peer):
            for batch in loader:
                train(batch)
                if peer.round % 3 == 0:
                    list(held)

        def zips(train, loader, held, opt, peer):  # the shorter loader ends the pass of both
            for batch, _ in zip(loader, held):
                train(batch)

        def shorter_first(train, loader, held, opt, peer):
            for (other,), batch in zip(held, loader):
                train(batch + other[:len(batch)])

        def averages(train, loader, held, opt, peer):  # the state is due at the call, within the last batch of a pass
            for (other,), batch in zip(held, loader):
                train(batch + other[:len(batch)])
                peer.average()

        def worker(loop, looks, rank):
            torch.manual_seed(rank)
            model = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
            opt = torch.optim.AdamW(model.parameters(), 0.05)
            peer = gossip.join(model, opt)
            loader = peer.loader(DataLoader(Numbers(28, noise=1), batch_size=4, shuffle=True))
            held = peer.loader(DataLoader(TensorDataset(torch.arange(16.)), batch_size=4, shuffle=True))
            seen = []

            def train(batch):
                opt.zero_grad()
                F.mse_loss(model(batch.reshape(-1, 1) / 10), batch.reshape(-1, 1)).backward()
                opt.step()
                seen.append((peer.round, batch.tolist()))
            if looks:
                next(iter(loader))
            while not peer.done:
                loop(train, loader, held, opt, peer)
            return seen

        for loop, looks in ((leaves, False), (leaves, True), (decays, False), (decays, True), (evaluates, False),
                            (zips, False), (zips, True), (shorter_first, False), (averages, False)):
            for at in (3, 4, 6):
                with self.subTest(loop.__name__, looks=looks, at=at):
                    script = functools.partial(worker, loop, looks)
                    whole = Run(n=2, rounds=11, save=(at,))(script)
                    rest = Run(n=2, rounds=11, first=at, saved=[
                        (whole.x[at][rank], whole.connections[rank].states[at]) for rank in range(2)])(script)
                    self.assertEqual(rest.returned, [found[at:] for found in whole.returned])
                    numpy.testing.assert_array_equal(rest.x[11], whole.x[11])

    def test_loader(self):
        self.check(lambda: DataLoader(Numbers(28, noise=1), batch_size=4, shuffle=True))

    def test_loader_at_a_pass_boundary(self):
        self.check(lambda: DataLoader(Numbers(40, noise=1), batch_size=4, shuffle=True))

    def test_loader_with_workers(self):
        # torch seeds the random numbers of its workers, and those of Python, but not NumPy's
        self.check(lambda: DataLoader(Quiet(28), batch_size=4, shuffle=True, num_workers=2))

    def test_own_sampler(self):
        weights = torch.arange(1.0, 29.0)
        self.check(lambda: DataLoader(Numbers(28, noise=1), batch_size=4,
                                      sampler=torch.utils.data.WeightedRandomSampler(weights, 28)))

    def test_scheduler(self):
        self.check(lambda: DataLoader(Numbers(28, noise=1), batch_size=4, shuffle=True), own_state=True)

    def test_checkpoint_at_the_end_of_a_stopped_run(self):
        loader = DataLoader(Numbers(28, noise=1), batch_size=4, shuffle=True)
        whole = Run(n=2, rounds=6)(seen(loader))
        first = Run(n=2, rounds=3, save=(3,), why="interrupted")(seen(loader))
        saved = [(first.x[3][r], first.connections[r].states[3]) for r in range(2)]
        rest = Run(n=2, rounds=6, first=3, saved=saved)(seen(loader))
        self.assertEqual([whole.returned[r][3:] for r in range(2)], rest.returned)

    def test_first_round(self):
        self.check(lambda: DataLoader(Numbers(28, noise=1), batch_size=4, shuffle=True), at=0)

    def test_without_a_shard(self):
        def worker(rank):
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
            peer = gossip.join(model, opt)
            while not peer.done:
                opt.zero_grad()
                model(torch.rand(3, 2)).sum().backward()
                opt.step()
        whole = Run(n=2, rounds=6, save=(3, 5))(worker)
        self.assertEqual(sorted(whole.connections[0].states), [3, 5])
        rest = Run(n=2, rounds=6, first=3, saved=[(whole.x[3][r], whole.connections[r].states[3]) for r in range(2)])
        numpy.testing.assert_array_equal(rest(worker).x[6], whole.x[6])

    def test_another_script(self):
        def first(rank):
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            while not peer.done:
                peer.step()

        def second(rank):
            model = torch.nn.Linear(2, 1)
            peer = gossip.join(model)
            with self.assertRaisesRegex(gossip.Error, "holds the states of Linear, SGD: call peer.state"):
                peer.step()
            with self.assertRaisesRegex(gossip.Error, "holds the states of Linear, SGD, not of Linear: resume with"):
                peer.state(model)
            with self.assertRaisesRegex(gossip.Error, "int has no state_dict"):
                peer.state(5)
            peer.state(model, torch.optim.SGD(model.parameters(), 0.1))
            while not peer.done:
                peer.step()
        whole = Run(n=1, rounds=2, save=(1,))(first)
        rest = Run(n=1, rounds=2, first=1, saved=[(whole.x[1][0], whole.connections[0].states[1])])(second)
        self.assertEqual(rest.codes, [0])


class Quiet(Numbers):
    def __getitem__(self, i):
        return torch.tensor(float(i) + torch.rand(()).item() + random.random())


if __name__ == "__main__":
    unittest.main()
