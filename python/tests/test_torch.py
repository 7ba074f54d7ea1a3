"""Torch models over a fake peer: the numbers must be those of D-PSGD, computed here in one process."""

import functools
import tempfile
import types
import unittest
import warnings

import numpy
import torch
import torch.nn.functional as F

import gossiptrainer as gossip
from gossiptrainer import _torch
from fakecuda import Cuda
from fakepeer import Run

torch.set_num_threads(1)

W = numpy.array([[0.75, 0.25], [0.25, 0.75]])
ROUNDS = 6


def samples(rank, k, shape=(8, 4), classes=3):
    """Return the mini-batch of a worker and a round."""
    r = numpy.random.default_rng([rank, k])
    return r.standard_normal(shape).astype("float32"), r.integers(0, classes, shape[0])


def batch(rank, k, shape=(8, 4)):
    x, y = samples(rank, k, shape)
    return torch.from_numpy(x), torch.from_numpy(y)


def learn(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def flat(model):
    """Return what travels: trainable parameters, then floating-point buffers."""
    with torch.no_grad():
        values = [p.float().reshape(-1) for p in model.parameters() if p.requires_grad]
        values += [b.float().reshape(-1) for b in model.buffers() if b.is_floating_point()]
        return torch.cat(values).numpy().copy()


def unflatten(model, x):
    with torch.no_grad():
        first = 0
        for value in [p for p in model.parameters() if p.requires_grad] + \
                [b for b in model.buffers() if b.is_floating_point()]:
            value.copy_(torch.from_numpy(x[first:first + value.numel()]).view(value.shape))
            first += value.numel()


def reference(make, step, rounds=ROUNDS, w=W):
    """D-PSGD in one process: x_{k+1} = W x_k + u, where u is what the local step changes."""
    workers = [make(0) for _ in w]  # what is frozen comes from worker 0
    x = numpy.array([flat(workers[0][0])] * len(w))
    for k in range(rounds):
        u = []
        for rank, worker in enumerate(workers):
            unflatten(worker[0], x[rank])
            step(rank, k, *worker)
            u.append(flat(worker[0]) - x[rank])
        x = (w @ x + numpy.array(u)).astype("float32")
    return x


class TorchTest(unittest.TestCase):
    def compare(self, make, step, shape=None, **options):
        """Run the worker's steps with gossip and without, and compare the vectors at the end."""
        def worker(rank):
            built = make(rank)
            peer = gossip.join(built[0], built[1])
            while not peer.done:
                step(rank, peer.round, *built)
            return flat(built[0]), [p.stride() for p in built[0].parameters()]

        run = Run(rounds=ROUNDS, w=W, **options)(worker)
        want = in_child(lambda: reference(make, step))
        self.assertEqual(run.codes, [0, 0])
        got = numpy.array([r[0] for r in run.returned])
        numpy.testing.assert_array_equal(got, run.x[ROUNDS])
        numpy.testing.assert_allclose(got, want, rtol=0, atol=1e-6)
        self.assertGreater(abs(got - run.x[0]).max(), 1e-3, "the model has learned nothing")
        return run


def in_child(compute):
    """Run torch in a child, since a process that has differentiated should not be forked."""
    import multiprocessing
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=lambda: theirs.send(compute()))
    child.start()
    theirs.close()
    result = ours.recv()
    child.join()
    return result


class Optimizers(unittest.TestCase):
    """A linear classifier, against gradients and optimizers written out in NumPy."""

    def check(self, make_optimizer, make_update):
        def worker(rank):
            torch.manual_seed(rank)  # everyone starts from rank 0's parameters
            model = torch.nn.Linear(4, 3)
            optimizer = make_optimizer(model.parameters())
            peer = gossip.join(model, optimizer)
            losses = []
            while not peer.done:
                loss = learn(model, optimizer, *batch(rank, peer.round))
                peer.log(loss)
                losses.append(float(loss.detach()))
            return flat(model), losses

        run = Run(rounds=40, w=W)(worker)
        self.assertEqual(run.codes, [0, 0])
        x = run.x[0].astype("float64")
        numpy.testing.assert_array_equal(x[0], x[1])
        updates = [make_update(x.shape[1]) for _ in range(2)]
        losses = [[], []]
        for k in range(40):
            u = numpy.zeros_like(x)
            for rank in range(2):
                loss, g = gradient(x[rank], *samples(rank, k))
                losses[rank].append(loss)
                u[rank] = updates[rank](x[rank], g, k)
            x = W @ x + u
        for rank in range(2):
            numpy.testing.assert_allclose(run.returned[rank][0], x[rank], rtol=0, atol=1e-5)
            numpy.testing.assert_allclose(run.returned[rank][1], losses[rank], rtol=0, atol=1e-5)
            self.assertEqual(run.connections[rank].logs, list(enumerate(run.returned[rank][1])))

    def test_sgd(self):
        self.check(lambda p: torch.optim.SGD(p, 0.1), lambda n: lambda x, g, k: -0.1 * g)

    def test_momentum(self):
        def update(n):
            v = numpy.zeros(n)

            def step(x, g, k):
                v[:] = 0.9 * v + g
                return -0.1 * v
            return step
        self.check(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), update)

    def test_adamw(self):
        def update(n):
            m, v = numpy.zeros(n), numpy.zeros(n)

            def step(x, g, k):
                m[:] = 0.9 * m + 0.1 * g
                v[:] = 0.999 * v + 0.001 * g * g
                mean, square = m / (1 - 0.9 ** (k + 1)), v / (1 - 0.999 ** (k + 1))
                return -0.01 * 0.1 * x - 0.01 * mean / (numpy.sqrt(square) + 1e-8)
            return step
        self.check(lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1), update)


def gradient(x, samples, labels):
    """Return loss and gradient of softmax regression with the weights (3, 4), then the biases, in x."""
    w, b = x[:12].reshape(3, 4), x[12:]
    z = samples.astype("float64") @ w.T + b
    p = numpy.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    rows = numpy.arange(len(labels))
    loss = -numpy.log(p[rows, labels]).mean()
    p[rows, labels] -= 1
    p /= len(labels)
    return loss, numpy.concatenate([(p.T @ samples).reshape(-1), p.sum(0)])


class Models(TorchTest):
    def test_batch_norm(self):
        def make(rank):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3))
            return model, torch.optim.SGD(model.parameters(), 0.1)

        run = self.compare(make, lambda rank, k, model, opt: learn(model, opt, *batch(rank, k)))
        hello = run.connections[0].hello
        self.assertEqual(hello["exact"], 12)
        self.assertEqual([t["name"] for t in hello["tensors"][-2:]], ["1.running_mean", "1.running_var"])
        self.assertEqual(hello["elements"], 30 + 12 + 21 + 12)

    def test_buffers_may_stay(self):
        def worker(rank):
            model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
            gossip.join(model, buffers=False)
        run = Run(rounds=None)(worker)
        self.assertEqual((run.connections[0].hello["exact"], run.connections[0].hello["elements"]), (0, 21))

    def test_frozen(self):
        def make(rank):
            torch.manual_seed(rank)  # frozen layers differ, and become that of worker 0
            frozen = torch.nn.Linear(4, 5).requires_grad_(False)
            torch.manual_seed(1)
            model = torch.nn.Sequential(frozen, torch.nn.Linear(5, 3))
            return model, torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)

        run = self.compare(make, lambda rank, k, model, opt: learn(model, opt, *batch(rank, k)))
        self.assertEqual([t["name"] for t in run.connections[0].hello["tensors"]], ["1.weight", "1.bias"])

    def scheduled(self, before):
        def worker(rank):
            warnings.simplefilter("error")  # torch warns of a step that it does not know
            model = torch.nn.Linear(4, 3)
            opt = torch.optim.SGD(model.parameters(), 1.0)
            make = functools.partial(torch.optim.lr_scheduler.LambdaLR, opt, lambda k: 1 / (k + 1))
            scheduler = make() if before else None
            peer = gossip.join(model, opt)
            scheduler = scheduler or make()
            rates = []
            while not peer.done:
                rates.append(opt.param_groups[0]["lr"])
                learn(model, opt, *batch(rank, peer.round))
                scheduler.step()
            return rates
        run = Run(rounds=4)(worker)
        self.assertEqual(run.returned, [[1, 1 / 2, 1 / 3, 1 / 4]] * 2)

    def test_scheduler_before_join(self):
        self.scheduled(True)

    def test_scheduler_after_join(self):
        self.scheduled(False)

    def test_scheduler_of_torch_2(self):
        """Its schedulers ask for a bound method, leave a function, and look for a mark of their own."""
        def patch(opt):
            function = opt.step.__func__

            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                opt._opt_called = True
                return function.__get__(opt, opt.__class__)(*args, **kwargs)
            wrapper._wrapped_by_lr_sched = True
            opt.step = wrapper

        def worker(rank):
            model = torch.nn.Linear(4, 3)
            opt = torch.optim.SGD(model.parameters(), 1.0)
            if rank == 0:
                patch(opt)
            peer = gossip.join(model, opt)
            if rank == 1:
                patch(opt)
            while not peer.done:
                learn(model, opt, *batch(rank, peer.round))
            return opt._opt_called, hasattr(opt.step, "_wrapped_by_lr_sched"), peer.round
        self.assertEqual(Run(rounds=3)(worker).returned, [(True, True, 3)] * 2)

    def test_accumulation(self):
        def make(rank):
            torch.manual_seed(0)
            model = torch.nn.Linear(4, 3)
            return model, torch.optim.SGD(model.parameters(), 0.1)

        def step(rank, k, model, opt):
            opt.zero_grad()
            for part in range(4):
                (F.cross_entropy(model(batch(rank, 4 * k + part)[0]), batch(rank, 4 * k + part)[1]) / 4).backward()
            opt.step()
        self.compare(make, step)

    def test_channels_last(self):
        def make(rank):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                        torch.nn.Linear(16, 3))
            if rank == 1:  # the other worker has another memory format, and both must agree
                model = model.to(memory_format=torch.channels_last)
            return model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)

        run = self.compare(make, lambda rank, k, model, opt: learn(model, opt, *batch(rank, k, (8, 3, 4, 4))))
        self.assertEqual(run.returned[0][1][0], (27, 9, 3, 1))
        self.assertEqual(run.returned[1][1][0], (27, 1, 9, 3), "the strides have changed")

    def test_strided_and_shared_parameters(self):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Linear(4, 4)
                self.b = torch.nn.Linear(4, 4)
                self.b.weight = self.a.weight  # one parameter
                self.c = torch.nn.Linear(4, 4)
                self.c.bias.data = self.a.bias.data  # two parameters on one memory
                self.d = torch.nn.Parameter(torch.randn(3, 4).t())
                self.e = torch.nn.Parameter(torch.zeros(0))

            def forward(self, x):
                return self.c(self.b(self.a(x))) @ self.d

        def worker(rank):
            torch.manual_seed(rank)
            model = Tied()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            while not peer.done:
                learn(model, opt, *batch(rank, peer.round))
            mean = peer.average()
            self.assertIs(model.a.weight, model.b.weight)
            self.assertEqual(model.a.bias.data_ptr(), model.c.bias.data_ptr())
            self.assertEqual(model.d.stride(), (1, 4))
            self.assertIs(mean.a.weight, mean.b.weight)
            return [v.detach().numpy() for v in (model.a.weight, model.c.bias, model.d, mean.c.bias, mean.d)]

        run = Run(rounds=4)(worker)
        self.assertEqual(run.codes, [0, 0])
        names = [t["name"] for t in run.connections[0].hello["tensors"]]
        self.assertEqual(names, ["d", "e", "a.weight", "a.bias", "b.bias", "c.weight"])
        x, got = run.x[4][0], run.returned[0]
        numpy.testing.assert_array_equal(got[2], x[:12].reshape(4, 3))
        numpy.testing.assert_array_equal(got[0], x[12:28].reshape(4, 4))
        numpy.testing.assert_array_equal(got[1], x[28:32])
        numpy.testing.assert_allclose(got[3], run.x[4][:, 28:32].mean(0), rtol=1e-6)
        numpy.testing.assert_allclose(got[4].ravel(), run.x[4][:, :12].mean(0), rtol=1e-6)

    def test_half_precision_keeps_a_master(self):
        for dtype in (torch.bfloat16, torch.float16):
            def worker(rank):
                model = torch.nn.Linear(4, 3).to(dtype)
                peer = gossip.join(model)
                with torch.no_grad():
                    model.weight.fill_(1)
                    model.bias.fill_(rank / 1024)  # the mean of both is 1/2048
                peer.step()
                seen = model.bias.float().tolist()
                for _ in range(2):  # no change by the script is no change of the vector
                    with torch.no_grad():
                        model.weight.add_(0)
                    peer.step()
                for _ in range(4):
                    with torch.no_grad():
                        model.weight.add_(1 / 128)
                    peer.step()
                return seen
            # the fake peer hands out 1 + 2^-12 after the first round, which half precision cannot hold
            run = Nudged(n=1, rounds=7, w=numpy.eye(1))(worker)
            self.assertEqual(run.codes, [0])
            self.assertEqual(run.x[3][0][0], 1 + 2 ** -12, "the master lost what half precision cannot hold")
            self.assertEqual(run.x[7][0][0], 1 + 2 ** -12 + 4 / 128)
            self.assertEqual(run.connections[0].hello["tensors"][0]["dtype"], str(dtype)[6:])

    def test_double_precision(self):
        def worker(rank):
            model = torch.nn.Linear(2, 1).double()
            peer = gossip.join(model)
            while not peer.done:
                with torch.no_grad():
                    model.weight.fill_(rank + 0.5)
                peer.step()
            return model.weight.tolist()
        run = Run(rounds=1)(worker)
        self.assertEqual(run.connections[0].hello["tensors"][0]["dtype"], "float64")
        x = run.x[0]
        want = numpy.float32(0.5 * (x[0] + x[1]) + (numpy.array([0.5, 1.5])[:, None] - x))[:, :2]
        numpy.testing.assert_allclose([r[0] for r in run.returned], want, atol=1e-6)

    def test_copies_of_accelerators(self):
        def make(rank):
            _torch.STAGE_ALL = Cuda()  # in this child alone; its copies are done late
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3))
            return model, torch.optim.AdamW(model.parameters(), 0.01)
        for memory in ("memfd", "frames"):
            self.compare(make, lambda rank, k, model, opt: learn(model, opt, *batch(rank, k)), memory=memory)
        self.assertIsNone(_torch.STAGE_ALL)

    def test_types_of_accelerators(self):
        def worker(rank, staged=True):
            _torch.STAGE_ALL = Cuda() if staged else None
            types = torch.float32, torch.bfloat16, torch.float16, torch.float64
            model = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(3, dtype=each)) for each in types])
            peer = gossip.join(model)
            while not peer.done:
                with torch.no_grad():
                    for i, each in enumerate(model):
                        each.add_((1 + i + rank) / 3)
                peer.step()
            return [each.double().tolist() for each in model]
        staged, plain = Run(rounds=4)(worker), Run(rounds=4)(lambda rank: worker(rank, False))
        self.assertEqual(staged.returned, plain.returned)
        self.assertNotEqual(staged.returned[0][3], staged.returned[0][0])

    def test_frames(self):
        def make(rank):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 3))
            return model, torch.optim.AdamW(model.parameters(), 0.01)
        self.compare(make, lambda rank, k, model, opt: learn(model, opt, *batch(rank, k)), memory="frames")

    def test_load_state_dict_after_join(self):
        def worker(rank):
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), 0.0)
            peer = gossip.join(model, opt)
            address = model.weight.data_ptr()
            model.load_state_dict({"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([3.0])})
            self.assertEqual(model.weight.data_ptr(), address, "the parameter left the shared memory")
            peer.step()
            model.weight.data = torch.tensor([[5.0, 6.0]])  # a script may also put other memory there
            peer.step()
            return model.weight.tolist() + model.bias.tolist()
        run = Run(rounds=2)(worker)
        self.assertEqual(run.returned, [[[5, 6], 3]] * 2)

    def test_average_keeps_the_own_values(self):
        def worker(rank):
            model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.BatchNorm1d(1))
            peer = gossip.join(model)
            with torch.no_grad():
                model[0].weight.fill_(rank)
                model[1].running_mean.fill_(10 * rank)
            peer.step()
            with torch.no_grad():
                model[0].weight.fill_(rank)  # the mean is that of the values which the peers mixed last
            first = peer.average()
            self.assertEqual(model[0].weight.tolist(), [[rank, rank]])
            with torch.no_grad():
                first[0].weight.add_(1)  # a copy is the script's own
            peer.step()
            after = peer.average()  # also after the end
            return first[0].weight.tolist(), first[1].running_mean.tolist(), after[0].weight.tolist(), \
                after[1].running_mean.untyped_storage().nbytes() if hasattr(torch.Tensor, "untyped_storage") \
                else after[1].running_mean.storage().nbytes()
        for memory in ("memfd", "frames"):
            run = Run(rounds=2, memory=memory)(worker)
            self.assertEqual(run.codes, [0, 0])
            for got in run.returned:
                numpy.testing.assert_allclose(got[0], 1 + run.x[1][:, :2].mean(0)[None], atol=1e-6)
                self.assertEqual(got[1], [5.0])
                numpy.testing.assert_allclose(got[2], run.x[2][:, :2].mean(0)[None], atol=1e-6)
                self.assertEqual(got[3], 4, "a buffer of the copy holds a whole vector")

    def test_mistakes(self):
        model = torch.nn.Linear(2, 1)
        for wrong, message in (
                (lambda: gossip.join([model, 5]), "needs a torch.nn.Module, a list of modules, or a tree"),
                (lambda: gossip.join({"a": numpy.ones(2, complex)}), "a is complex128: only real floating-point"),
                (lambda: gossip.join({"a": numpy.ones(2)}, torch.optim.SGD(model.parameters(), 1)), "exchange.tree."),
                (lambda: gossip.join(model, every=0), "every=0: a round has at least one step"),
                (lambda: gossip.join(torch.nn.Linear(2, 1).requires_grad_(False)), "nothing to train"),
                (lambda: gossip.join(torch.nn.LazyLinear(2)), "run the model once"),
                (lambda: gossip.join(torch.nn.Linear(2, 1, dtype=torch.complex64)), "only floating-point"),
                (lambda: gossip.join(model, torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), 1)),
                 "the model lacks")):
            with self.assertRaisesRegex(gossip.Error, message):
                wrong()

    def test_divided_parameters_are_refused(self):
        class FullyShardedDataParallel(torch.nn.Linear):
            pass

        class OwnShards(FullyShardedDataParallel):
            pass

        class DeepSpeedEngine(torch.nn.Sequential):
            pass

        class DTensor(torch.Tensor):
            device_mesh = types.SimpleNamespace(size=lambda: 4)

        whole, shard, zero = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        shard.weight = torch.nn.Parameter(shard.weight.detach().as_subclass(DTensor))
        zero.bias.ds_id = 7
        for model, message in (
                (OwnShards(2, 1), "^the model is a FullyShardedDataParallel, which divides"),
                ([whole, torch.nn.Sequential(FullyShardedDataParallel(2, 1))], "^1.0 is a FullyShardedDataParallel"),
                (DeepSpeedEngine(whole), "^the model is a DeepSpeedEngine, which divides"),
                (torch.nn.Sequential(whole, zero), "^1.bias is divided among processes by DeepSpeed ZeRO 3: train with"),
                (shard, "^weight is a DTensor on a mesh of 4: train with DDP, or join each shard")):
            with self.assertRaisesRegex(gossip.Error, message):
                gossip.join(model)

    def test_modules_that_torch_divides_are_refused(self):
        def refused():
            from torch import distributed
            try:
                from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
            except (ImportError, ValueError):  # Debian's torch 1.13 cannot import it with Python 3.11
                return None
            with tempfile.TemporaryDirectory() as folder:
                distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
                mesh = distributed.device_mesh.init_device_mesh("cpu", (1,))
                return [refusal(FullyShardedDataParallel(torch.nn.Linear(2, 1), device_id=torch.device("cpu"))),
                        refusal(fully_shard(torch.nn.Linear(2, 1), mesh=mesh))]

        def refusal(model):
            try:
                gossip.join(model)
            except gossip.Error as problem:
                return str(problem)

        first, second = in_child(refused) or self.skipTest("this torch has no FSDP")
        self.assertRegex(first, "^the model is a FullyShardedDataParallel")
        self.assertRegex(second, "^weight is a DTensor on a mesh of 1: train with DDP")


class Nudged(Run):
    """A run in which the peer adds 2^-12 to the first vector that it hands out."""

    def _mixed(self, after):
        return super()._mixed(after) + (2 ** -12 if self.k == 0 else 0)


if __name__ == "__main__":
    unittest.main()
