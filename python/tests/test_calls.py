"""What all workers do together: calls, the mean, equal starts. And which steps count."""

import contextlib
import io
import math
import os
import tempfile
import types
import unittest

import numpy
import torch

import gossiptrainer as gossip
from fakepeer import Run
from gossiptrainer import _torch

torch.set_num_threads(1)


def linear(rank=0, out=1):
    torch.manual_seed(rank)
    return torch.nn.Linear(2, out)


def descend(model, opt):
    opt.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    opt.step()


def said(worker):
    """Return a worker that returns what it says."""
    def wrapped(rank):
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            worker(rank)
        return text.getvalue()
    return wrapped


class Calls(unittest.TestCase):
    def test_another_optimizer_of_the_same_model(self):
        def worker(rank):
            model = linear()
            first, second = torch.optim.SGD(model.parameters(), 0.5), torch.optim.SGD(model.parameters(), 0.25)
            peer = gossip.join(model, first)
            descend(model, first)
            self.assertIs(gossip.join(model, second), peer)
            for _ in range(2):
                descend(model, second)
            rounds = [peer.round]
            descend(model, first)  # is a local step by now
            rounds.append(peer.round)
            self.assertIs(gossip.join(model, [second, first]), peer)
            descend(model, second)
            descend(model, first)
            try:
                gossip.join(model, torch.optim.SGD(linear().parameters(), 0.1))
            except gossip.Error as problem:
                return rounds + [peer.round, str(problem)]
        run = Run(rounds=None)(worker)
        self.assertEqual([got[:3] for got in run.returned], [[3, 3, 4]] * 2)
        self.assertIn("the optimizer trains a parameter of shape", run.returned[0][3])

    def test_values(self):
        def worker(rank):
            peer = gossip.join(linear())
            peer.barrier()
            return (peer.all_reduce(rank + 1), peer.all_reduce([rank, 2.0], "sum"),
                    peer.all_reduce(numpy.array([[rank]]), op="min").tolist(),
                    peer.all_reduce(torch.tensor([3.0 * rank]), "max").tolist(),
                    peer.broadcast({"seed": rank, "names": ["a"]}, root=1), peer.broadcast(5 if rank == 0 else None))
        run = Run(rounds=None)(worker)
        self.assertEqual(run.returned, [(1.5, [1, 4], [[0]], [3], {"seed": 1, "names": ["a"]}, 5)] * 2)
        self.assertEqual([c["kind"] for c in run.connections[0].calls], ["reduce", "barrier"] + ["reduce"] * 4 + ["broadcast"] * 2)

    def test_who_waits_mixes_on(self):
        """Worker 1 calls average after 2 steps, the other after 5: the vector of worker 1 moves meanwhile."""
        def worker(rank):
            model = linear()
            peer = gossip.join(model)
            for _ in range(2 if rank else 5):
                with torch.no_grad():
                    model.weight.add_(1)
                peer.step()
            mean = peer.average()
            return peer.round, model.weight.tolist(), mean.weight.tolist()
        for memory in ("memfd", "frames", "tcp"):
            run = Run(rounds=None, memory=memory)(worker)
            self.assertEqual([r[0] for r in run.returned], [5, 5])
            for rank in range(2):
                numpy.testing.assert_array_equal(run.returned[rank][1][0], run.x[5][rank][:2])
                numpy.testing.assert_allclose(run.returned[rank][2][0], run.x[5][:, :2].mean(0), rtol=1e-6)

    def test_who_waits_gives_a_state(self):
        """A run goes on from a round in which worker 1 waited: it makes its call again."""
        def worker(rank):
            model, count = linear(), numpy.zeros(1)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            peer.state(model, opt, count)
            while count < (2 if rank else 5):
                descend(model, opt)
                count += 1
            mean = peer.average()
            return peer.round, mean.weight.tolist()
        whole = Run(rounds=None, save=(4,))(worker)
        self.assertEqual([r[0] for r in whole.returned], [5, 5])
        saved = [(whole.x[4][r], whole.connections[r].states[4]) for r in range(2)]
        rest = Run(rounds=None, first=4, saved=saved)(worker)
        self.assertEqual(rest.returned, whole.returned)

    def test_the_run_ends_while_a_worker_waits(self):
        def worker(rank):
            model = linear()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            for _ in range(2 + 4 * rank):
                descend(model, opt)
            mean = peer.average()
            descend(model, opt)
            return peer.round, peer.why, mean.weight.tolist(), model.weight.tolist()
        for memory in ("memfd", "frames", "tcp"):
            run = Run(rounds=4, memory=memory)(worker)
            self.assertEqual([r[:2] for r in run.returned], [(4, "finished")] * 2)
            self.assertEqual(run.returned[0][2], run.returned[1][2])
            for rank in range(2):
                numpy.testing.assert_array_equal(run.returned[rank][3][0], run.x[4][rank][:2])

    def test_uneven_ends_of_a_fixed_run(self):
        def worker(rank):
            model = linear()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            for _ in range(3 + 4 * rank):
                descend(model, opt)
            before = model.weight.tolist()
            descend(model, opt) if rank else peer.finish()
            self.assertEqual(model.weight.tolist(), before)
            return peer.round, peer.done, peer.average().weight.tolist()
        run = Run(rounds=6)(worker)
        self.assertEqual(run.codes, [0, 0])
        self.assertEqual([r[:2] for r in run.returned], [(3, True), (6, True)])
        self.assertEqual(run.returned[0][2], run.returned[1][2])

    def test_stop(self):
        """Worker 0 stops the run after two steps, worker 2 waits in a call, and all call average at the end."""
        def worker(rank):
            model = linear(rank)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            descend(model, opt)
            if rank == 2:
                text = io.StringIO()
                with self.assertRaises(gossip.Stopped) as raised, contextlib.redirect_stderr(text):
                    peer.barrier()
                self.assertEqual(raised.exception.code, 0)
                self.assertIn("stopped while this worker waited for others (worker 0: it overfits)", text.getvalue())
            descend(model, opt) if rank == 1 else None
            if rank == 0:
                peer.stop("it\noverfits")
                peer.stop("again")
            while not peer.done:
                descend(model, opt)
            return peer.round, peer.done, peer.why, peer.average().weight.tolist()
        for memory in ("memfd", "frames", "tcp"):
            run = Run(n=3, rounds=None, memory=memory)(worker)
            self.assertEqual(run.codes, [0, 0, 0])
            self.assertEqual(run.returned, [run.returned[0]] * 3)
            self.assertEqual(run.returned[0][:3], (1, True, "stopped"))

    def test_stop_alone_and_too_late(self):
        def worker(rank):
            peer = gossip.join(linear())
            for why in ("", "x" * 201, "\x1b"):
                with self.assertRaisesRegex(gossip.Error, "stop takes a reason of 1 to 200 bytes"):
                    peer.stop(why)
            peer.finish()
            with self.assertRaisesRegex(gossip.Error, "call peer.stop.why. in place of peer.finish"):
                peer.stop("late")
        self.assertEqual(Run(n=1, rounds=None)(worker).codes, [0])

    def test_mistakes(self):
        def worker(rank):
            peer = gossip.join(linear())
            for call, message in ((lambda: peer.all_reduce([]), "takes 1 to 8192 numbers, not 0"),
                                  (lambda: peer.all_reduce([0] * 8193), "takes 1 to 8192 numbers, not 8193"),
                                  (lambda: peer.all_reduce(1, "product"), "knows mean, sum, min and max, not product"),
                                  (lambda: peer.broadcast("x" * 70000), "takes up to 65536 bytes, not 70002"),
                                  (lambda: peer.broadcast(object()), "takes what JSON can hold"),
                                  (lambda: peer.broadcast(1, root=2), "the run has workers 0 to 0"),
                                  (lambda: peer.log(), "log takes 1 to 64 values"),
                                  (lambda: peer.log("x"), "loss is no number"),
                                  (lambda: peer.log(**{"a" * 65: 1}), "names of at most 64 bytes"),
                                  (lambda: peer.evaluate(), "evaluate takes 1 to 64 values"),
                                  (lambda: peer.shard([1]), "peer.shard never ends when train.rounds is script: loop "
                                                            "over peer.loader"),
                                  (lambda: peer.params, "of a module, use the module itself"),
                                  (lambda: peer.exchange({}), "of a module, call peer.step"),
                                  (lambda: gossip.join(linear()), "joined already: call peer.leave.. first, or join a "
                                                                  "list of modules")):
                with self.assertRaisesRegex(gossip.Error, message):
                    call()
        self.assertEqual(Run(n=1, rounds=None)(worker).codes, [0])

    def test_logged_values(self):
        def worker(rank):
            peer = gossip.join(linear())
            peer.log(torch.tensor(0.5, requires_grad=True), lr=1e-2, td_error=float("nan"))
            peer.log(speed=3)
            peer.evaluate(accuracy=0.5, loss=float("inf"), f1=numpy.float32(1))
        c = Run(n=1, rounds=None)(worker).connections[0]
        self.assertEqual(c.logs, [(0, {"loss": 0.5, "lr": 0.01, "td_error": None}), (0, {"speed": 3})])
        self.assertEqual(c.scores, [(0, {"accuracy": 0.5, "loss": None, "f1": 1})])


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.kept = []

    def forward(self, x):
        out = self.layer(x).tanh()
        self.kept = [out]
        return out


class Mean(unittest.TestCase):
    def test_over_some_workers_and_without_waiting(self):
        """Worker 0 takes means of the newest values while the others wait or have ended."""
        def worker(rank):
            x = numpy.full(4, rank, "float32")
            peer = gossip.join_array(x)
            x += rank
            peer.step()
            two = peer.average(ranks=[2, 1]).tolist(), peer.mean_rounds
            if rank == 0:
                x += 1
                peer.step()
            if rank == 2:
                return two
            peer.barrier()
            text = io.StringIO()
            with contextlib.redirect_stderr(text):
                newest = peer.average(wait=False).tolist(), peer.mean_rounds, text.getvalue()
                with self.assertRaisesRegex(gossip.Error, "no worker of the mean has answered: worker 2: it is silent"):
                    peer.average(False, ranks=[2])
            for ranks, message in (([3], "ranks=.3.: want different workers of 0 to 2"), ([], "want different workers"),
                                   ([1, 1], "want different workers"), ("x", "ranks='x': want a list of workers")):
                with self.assertRaisesRegex(gossip.Error, message):
                    peer.average(ranks=ranks)
            with self.assertRaisesRegex(gossip.Error, "seconds=0: a mean that does not wait takes more than 0"):
                peer.average(wait=False, seconds=0)
            with tempfile.TemporaryDirectory() as folder:
                peer.save(os.path.join(folder, "mean.npz"), wait=False, ranks=[0])
                self.assertEqual(os.listdir(folder), ["mean.npz"])
            return two, newest
        run = Run(n=3, rounds=None, w=numpy.eye(3))(worker)
        self.assertEqual(run.codes, [0, 0, 0])
        self.assertEqual(run.returned[2], ([1.5] * 4, {1: 1, 2: 1}))
        for two, newest in run.returned[:2]:
            self.assertEqual((two, newest[:2]), (run.returned[2], ([1.0] * 4, {0: 2, 1: 2})))
            self.assertIn("the mean lacks worker 2: it is silent", newest[2])

    def test_models_that_deepcopy_refuses(self):
        def worker(rank):
            model = torch.nn.Sequential(torch.nn.utils.weight_norm(linear(out=2)), Keeps())
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            descend(model, opt)
            mean = peer.average()
            before = [p.tolist() for p in model.parameters()]
            with peer.averaged() as held:
                self.assertIs(held, model)
                same = all(torch.equal(p, q) for p, q in zip(model.parameters(), mean.parameters()))
            return same, before == [p.tolist() for p in model.parameters()]
        self.assertEqual(Run(rounds=None)(worker).returned, [(True, True)] * 2)

    def test_a_model_that_cannot_be_copied(self):
        def worker(rank):
            model = linear()
            model.lock = __import__("threading").Lock()
            peer = gossip.join(model)
            with self.assertRaisesRegex(gossip.Error, "cannot be copied .TypeError: .*use `with peer.averaged"):
                peer.average()
        self.assertEqual(Run(n=1, rounds=None)(worker).codes, [0])

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.pt")

            def worker(rank):
                torch.manual_seed(0)
                model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Linear(1, 500))
                peer = gossip.join(model[0])
                with torch.no_grad():
                    model[0].weight.fill_(rank)
                peer.step()
                peer.save(path)
                return torch.load(path)["weight"].tolist(), peer.average().weight.tolist(), os.path.getsize(path)
            run = Run(rounds=None)(worker)
            self.assertEqual(run.codes, [0, 0])
            for saved, mean, size in run.returned:
                self.assertEqual(saved, mean)
                self.assertLess(size, 2000, "the file holds more than the model")
            self.assertEqual(os.listdir(folder), ["model.pt"])

    def test_several_modules(self):
        def worker(rank):
            g, d = linear(), linear(out=3)
            opts = [torch.optim.SGD(d.parameters(), 0.1), torch.optim.SGD(g.parameters(), 0.1)]
            peer = gossip.join([g, d], opts)
            for _ in range(3):
                descend(d, opts[0])
                descend(d, opts[0])
                descend(g, opts[1])
            a, b = peer.average()
            return peer.round, type(a).__name__, b.weight.shape[0]
        run = Run(rounds=None)(worker)
        self.assertEqual(run.returned, [(3, "Linear", 3)] * 2)
        self.assertEqual([t["name"] for t in run.connections[0].hello["tensors"]],
                         ["0.weight", "0.bias", "1.weight", "1.bias"])


class EqualStarts(unittest.TestCase):
    def model(self, rank, dtype=torch.float32):
        torch.manual_seed(rank)
        model = torch.nn.Sequential(torch.nn.Linear(2, 2).requires_grad_(False), torch.nn.BatchNorm1d(2),
                                    torch.nn.Linear(2, 1, dtype=dtype))
        model[1].num_batches_tracked.fill_(rank)
        model.register_buffer("table", torch.arange(3) + rank)
        model.register_buffer("empty", torch.zeros(0))
        return model

    def test_frozen_integers_and_doubles(self):
        def worker(rank):
            model = self.model(rank, torch.float64)
            gossip.join(model)
            return {name: value.tolist() for name, value in model.state_dict().items()}
        run = Run(n=3, rounds=None)(worker)
        self.assertEqual(run.returned[1], run.returned[0])
        self.assertEqual(run.returned[2], run.returned[0])
        self.assertEqual(run.returned[0]["table"], [0, 1, 2])
        self.assertEqual([c["kind"] for c in run.connections[0].calls], ["reduce", "reduce", "broadcast"])

    def test_equal_ones_cost_one_call(self):
        def worker(rank):
            torch.manual_seed(5)
            gossip.join(self.model(0))
        run = Run(rounds=None)(worker)
        self.assertEqual(run.connections[1].calls, [{"kind": "reduce", "op": "max"}])
        self.assertEqual(run.codes, [0, 0])

    def test_the_note(self):
        one, other = Run(rounds=None)(said(lambda rank: gossip.join(self.model(rank)))).returned
        self.assertIn("gossip: 56 B of frozen tensors, buffers or float64 differ; worker 0 sends them once: seed the "
                      "script\n", one)
        self.assertNotIn("differ", other)

    def test_a_checkpoint_holds_what_came(self):
        def worker(rank):
            model = self.model(os.getpid())
            opt = torch.optim.SGD(model[2].parameters(), 0.1)
            peer = gossip.join(model[0:3:2], opt)
            base = model[0].weight.tolist()
            while not peer.done:
                descend(model[0:3:2], opt)
            return base
        whole = Run(rounds=4, save=(0, 2))(worker)
        self.assertEqual(whole.returned[0], whole.returned[1])
        saved = [(whole.x[2][r], whole.connections[r].states[2]) for r in range(2)]
        rest = Run(rounds=4, first=2, saved=saved)(worker)
        self.assertEqual(rest.returned, whole.returned)
        self.assertEqual(rest.connections[0].calls, [])
        first = Run(rounds=4, saved=[(whole.x[0][r], whole.connections[r].states[0]) for r in range(2)])(worker)
        self.assertEqual(first.codes, [0, 0])
        self.assertEqual(first.returned[0], first.returned[1])

    def test_other_shapes_are_named(self):
        def worker(rank):
            model = torch.nn.ModuleDict({"head": linear()})
            if rank == 0:
                model["base"] = torch.nn.Linear(5, 30).requires_grad_(False)
            elif rank == 1:
                model["base"] = torch.nn.Linear(7, 30).requires_grad_(False)
            elif rank == 3:
                model["base"] = torch.nn.Linear(5, 30).requires_grad_(False)
                model["more"] = torch.nn.Linear(1, 1).requires_grad_(False)
            try:
                gossip.join(model)
            except gossip.Error as problem:
                return str(problem)
        self.assertEqual(Run(n=4, rounds=None)(worker).returned, [
            None,
            "base.weight is 30x7 on worker 1 and 30x5 on worker 0: use the same script and the same model",
            "worker 2 has no base.weight, which worker 0 has: use the same script and the same model",
            "worker 3 has more.weight, which worker 0 lacks: use the same script and the same model"])


class Parameters(unittest.TestCase):
    """The set of parameters changes: all workers notice it before a step, and two rounds later it travels."""

    def check(self, change, names, memory="memfd", dtype=torch.float32):
        """Workers train by hand: each step adds rank + 1 to all that trains. Return their means after each step."""
        def worker(rank):
            model = torch.nn.ModuleDict({"body": linear(out=2).requires_grad_(False), "head": linear(out=3)}).to(dtype)
            with torch.no_grad():
                for each in model.parameters():
                    each.fill_(0)
            peer = gossip.join(model)
            seen = []
            for step in range(5):
                if step == 1:
                    change(model, rank)
                with torch.no_grad():
                    for each in model.parameters():
                        if each.requires_grad:
                            each.add_(rank + 1)
                peer.step()
                seen.append({name: each.flatten()[0].item() for name, each in model.named_parameters()})
            mean = peer.average()
            return seen, {name: each.flatten()[0].item() for name, each in mean.named_parameters()}, peer.round
        run = Run(n=2, rounds=None, memory=memory)(worker)
        self.assertEqual(run.codes, [0, 0])
        self.assertEqual([t["name"] for t in run.connections[0].hello["tensors"]], names)
        (one, mean, rounds), (other, same, _) = run.returned
        self.assertEqual(mean, same)
        return [{name: (a[name] + b[name]) / 2 for name in a} for a, b in zip(one, other)], mean, rounds

    # Both workers add 1.5 a round on average. The change comes before round 1, so new tensors travel from round 3 on.
    # They begin with the values that worker 0 has when it calls step, which are those after its local step.
    def test_unfrozen(self):
        names = ["body.weight", "body.bias", "head.weight", "head.bias"]
        for memory in "memfd", "frames":
            for dtype in torch.float32, torch.float64, torch.bfloat16:
                seen, mean, rounds = self.check(lambda m, _: m["body"].requires_grad_(True), names, memory, dtype)
                self.assertEqual([each["head.weight"] for each in seen], [1.5, 3, 4.5, 6, 7.5])
                self.assertEqual([each["body.bias"] for each in seen], [0, 1, 1, 2.5, 4])
                self.assertEqual((mean["body.weight"], mean["head.bias"], rounds), (4, 7.5, 5))

    def test_new_ones_start_from_worker_0(self):
        def change(model, rank):
            model["more"] = linear()
            torch.nn.init.constant_(model["more"].weight, 10 + rank)
        seen, _, _ = self.check(change, ["head.weight", "head.bias", "more.weight", "more.bias"])
        self.assertEqual([each.get("more.weight") for each in seen], [None, 11, 11, 12.5, 14])

    def test_resized(self):
        seen, mean, _ = self.check(lambda m, _: m.update({"head": torch.nn.Linear(2, 5)}), ["head.weight", "head.bias"])
        self.assertEqual(mean["head.bias"], seen[-1]["head.bias"])

    def test_removed(self):
        def change(model, _):
            model["body"].requires_grad_(True)
            del model["head"]
        self.check(change, ["body.weight", "body.bias"])

    def test_alone(self):
        model = torch.nn.ModuleDict({"body": linear(out=2).requires_grad_(False), "head": linear(out=3)})
        os.environ.pop("PEER_SOCKET", None)
        peer = gossip.join(model, rounds=3)
        peer.step()
        model["body"].requires_grad_(True)
        peer.step()
        self.assertEqual(len(peer._values.slots), 4)
        peer.leave()

    def test_replaced_by_the_same_and_frozen_later(self):
        def worker(rank):
            model = torch.nn.ModuleDict({"head": linear()})
            peer = gossip.join(model)
            model["head"] = linear()
            with torch.no_grad():
                model["head"].weight.fill_(5)
            peer.step()
            model["head"].weight.requires_grad_(False)
            peer.step()
            peer.step()
            self.assertEqual(model["head"].weight.tolist(), [[5, 5]])
        run = Run(n=1, rounds=None)(said(worker))
        self.assertEqual(run.codes, [0])
        self.assertEqual(run.x[1][0][:2].tolist(), [5, 5])
        self.assertEqual(run.returned[0].count("head.weight is frozen since step 1, and still travels"), 1)


class Steps(unittest.TestCase):
    """Each outermost step of the optimizer is one round, however it is called."""

    def rounds(self, use, n=6, **options):
        def worker(rank):
            model = linear()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = use(model, opt)
            return peer.round, peer._steps.count
        run = Run(n=1, rounds=None)(worker)
        self.assertEqual(run.codes, [0])
        return run.returned[0]

    def test_every(self):
        def use(model, opt):
            peer = gossip.join(model, opt, every=3)
            for _ in range(7):
                descend(model, opt)
            return peer
        self.assertEqual(self.rounds(use), (2, 7))

    def test_no_sync(self):
        def use(model, opt):
            peer = gossip.join(model, opt)
            for i in range(6):
                with peer.no_sync() if i % 3 else contextlib.nullcontext():
                    descend(model, opt)
            return peer
        self.assertEqual(self.rounds(use), (2, 6))

    def test_accelerate_with_a_scaler(self):
        """Its optimizer keeps the inner step at prepare, and puts it back at every step."""
        class Accelerated:
            def __init__(self, optimizer):
                self.optimizer = optimizer
                self._accelerate_step_called = False
                self._optimizer_original_step_method = optimizer.step
                inner = optimizer.step

                def patched(*args, **kwargs):
                    self._accelerate_step_called = True
                    return inner(*args, **kwargs)
                self._optimizer_patched_step_method = patched

            param_groups = property(lambda self: self.optimizer.param_groups)

            def step(self):
                self.optimizer.step = self._optimizer_patched_step_method
                self.optimizer.step()
                self.optimizer.step = self._optimizer_original_step_method
                assert self._accelerate_step_called

        for before in (True, False):
            def use(model, opt):
                accelerated = None if before else Accelerated(opt)
                peer = gossip.join(model, opt if before else accelerated)
                accelerated = accelerated or Accelerated(opt)
                for _ in range(3):
                    opt.zero_grad()
                    model(torch.ones(1, 2)).sum().backward()
                    accelerated.step()
                return peer
            self.assertEqual(self.rounds(use), (3, 3))

    def test_hooks_see_a_step_that_was_put_back(self):
        def use(model, opt):
            own, hooks = opt.step, {}
            opt.register_step_pre_hook = lambda hook: hooks.update(pre=hook)
            opt.register_step_post_hook = lambda hook: hooks.update(post=hook)
            peer = gossip.join(model, opt)
            wrapped = opt.step

            def hooked(this, *args, **kwargs):  # as torch 2 does
                hooks["pre"](opt, args, kwargs)
                own()
                hooks["post"](opt, args, kwargs)
            opt.step = types.MethodType(hooked, opt)
            descend(model, opt)
            self.assertEqual(peer.round, 1)
            opt.step = wrapped
            descend(model, opt)
            return peer
        self.assertEqual(self.rounds(use), (2, 2))

    def test_steps_that_nobody_sees(self):
        def use(model, opt):
            kept = opt.step
            peer = gossip.join(model, opt)
            opt.step = kept
            for name in ("register_step_post_hook", "register_step_pre_hook"):
                if hasattr(opt, name):  # torch.compile takes the hooks away
                    opt._optimizer_step_pre_hooks.clear()
                    opt._optimizer_step_post_hooks.clear()
            with self.assertRaisesRegex(gossip.Error, "changed 20 times, but no step of the optimizer that join got was "
                                                      "seen: join before accelerator.prepare, join again with an optimizer that "
                                                      "is made later, or call peer.step"):
                for _ in range(30):
                    descend(model, opt)
                    peer.log(1)
            return peer
        self.assertEqual(self.rounds(use)[0], 0)

    def test_another_optimizer_near_the_end_is_told(self):
        for others, told in ((3, True), (2, False)):
            def worker(rank):
                model = linear()
                opt, other = (torch.optim.SGD(model.parameters(), 0.1, weight_decay=0.1) for _ in range(2))
                peer = gossip.join(model, opt)
                descend(model, opt)
                for _ in range(2):
                    with peer.averaged():
                        pass
                for _ in range(others):
                    descend(model, other) if told else model.load_state_dict(model.state_dict())
                peer.finish()
            for text in Run(rounds=None)(said(worker)).returned:
                self.assertEqual("parameters changed after round 1, but not by the optimizer that join got" in text, told)

    def test_an_end_without_a_step_is_told(self):
        for steps, told in ((0, True), (1, False)):
            def worker(rank):
                model = linear()
                opt = torch.optim.SGD(model.parameters(), 0.1)
                peer = gossip.join(model)
                for k in range(4):
                    descend(model, opt)
                    if k < steps:
                        peer.step()
                peer.finish()
            for text in Run(rounds=None)(said(worker)).returned:
                self.assertEqual("ends without a step, so the changes of its model stay on this worker: give join the "
                                 "optimizer too, or call peer.step()" in text, told)

    def test_a_forked_child_trains_on_tensors_of_its_own(self):
        def worker(rank):
            model = linear()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer = gossip.join(model, opt)
            while not peer.done:
                child = os.fork()
                if not child:
                    descend(model, torch.optim.SGD(model.parameters(), 100.0))
                    os._exit(model.weight.abs().max().item() < 50)
                assert os.waitpid(child, 0)[1] == 0
                assert model.weight.abs().max() < 50
                opt.step()
            return peer.round
        run = Run(rounds=3, save=(0, 1, 2))(worker)
        self.assertEqual(run.returned, [3, 3])
        self.assertEqual(set(run.connections[0].states), {0, 1, 2})

    def test_compiled_and_wrapped_modules_keep_their_names(self):
        class OptimizedModule(torch.nn.Module):
            def __init__(self, model):
                super().__init__()
                self._modules["_orig_mod"] = model
        inner = torch.nn.Sequential(OptimizedModule(linear()))
        self.assertEqual([t["name"] for t in _torch.Module(OptimizedModule(inner), True).tensors],
                         ["0.weight", "0.bias"])
        wrapped = type("DistributedDataParallel", (torch.nn.Module,), {})()
        wrapped.module = linear()
        self.assertEqual([t["name"] for t in _torch.Module(wrapped, True).tensors], ["weight", "bias"])

    def test_buffers_that_have_a_mean_travel(self):
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(1))
                self.register_buffer("table", torch.zeros(1000))
                self.register_buffer("mask", torch.full((2,), -math.inf))
                self.register_buffer("far", torch.full((2,), torch.finfo(torch.float32).min))
                self.register_buffer("count", torch.zeros(2, dtype=torch.long))
                self.register_buffer("cache", torch.zeros(2), persistent=False)

        self.assertEqual([t["name"] for t in _torch.Module(Layer(), True).tensors], ["weight", "table"])
        self.assertEqual([t["name"] for t in _torch.Module(Layer(), False).tensors], ["weight"])

    def test_statistics_travel_whatever_their_layer_does_at_join(self):
        model = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2).eval(),
                                    torch.nn.BatchNorm1d(2).requires_grad_(False))
        self.assertEqual(_torch.Module(model, True).exact, 12)


class Alone(unittest.TestCase):
    def test_all_calls_work(self):
        def use():
            model = linear()
            opt = torch.optim.SGD(model.parameters(), 0.1)
            with gossip.join(model, opt, rounds=2) as peer:
                loader = peer.loader(torch.utils.data.DataLoader(torch.arange(10), batch_size=4))
                self.assertEqual([len(batch) for batch in loader], [4, 4, 2])
                self.assertEqual((peer.part([1, 2]), len(peer.sampler([1, 2, 3]))), ([1, 2], 3))
                while not peer.done:
                    descend(model, opt)
                    peer.log(1, lr=2)
                before = model.weight.tolist()
                descend(model, opt)
                self.assertEqual(model.weight.tolist(), before)
                peer.barrier(), peer.evaluate(0.5), peer.boundary(), peer.state(model, opt), peer.finish()
                self.assertEqual((peer.all_reduce(2), peer.broadcast([1]), peer.size), (2, [1], 1))
                with peer.averaged(), tempfile.TemporaryDirectory() as folder:
                    peer.save(os.path.join(folder, "x"))
                self.assertEqual(peer.average().weight.tolist(), before)
            peer.leave()
            descend(model, opt)  # its optimizer is as before
            self.assertNotEqual(model.weight.tolist(), before)

        with contextlib.redirect_stderr(io.StringIO()) as text:
            use()
            use()
        self.assertEqual(text.getvalue().count("so this script runs alone"), 2)

    def test_trees(self):
        with contextlib.redirect_stderr(io.StringIO()):
            peer = gossip.join({"w": numpy.ones(2), "n": 0}, rounds=2)
            for n in range(4):
                got = peer.exchange({"w": numpy.full(2, n), "n": n} if False else {"w": numpy.full(2, float(n)), "n": n})
            self.assertEqual((got["w"].tolist(), got["n"], peer.params is got), ([1, 1], 3, True))
            peer.leave()

    def test_leave_and_join_again(self):
        def worker(rank):
            model = linear(rank)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            first = gossip.join(model, opt)
            descend(model, opt)
            kept = model.weight.tolist()
            first.leave()
            descend(model, opt)  # its optimizer is as before
            left = model.weight.tolist()
            for call in (first.barrier, first.leave):
                with self.assertRaisesRegex(gossip.Error, "the script has left this peer: use the one that the next"):
                    call()
            with self.assertRaisesRegex(gossip.Error, "the run has other parameters than this model"):
                gossip.join(linear(out=2))
            other = linear(rank + 7)
            opt = torch.optim.SGD(other.parameters(), 0.1)
            peer = gossip.join(other, opt)
            self.assertEqual((peer.round, peer.rank, peer.size), (1, rank, 2))
            self.assertEqual(other.weight.tolist(), kept)
            descend(other, opt)
            self.assertEqual(model.weight.tolist(), left)
            self.assertEqual(peer.all_reduce(1, "sum"), 2)
            return peer.round, peer.average().weight.tolist()
        for memory in ("memfd", "frames", "tcp"):
            run = Run(rounds=None, memory=memory)(worker)
            self.assertEqual(run.codes, [0, 0])
            self.assertEqual(run.returned, [run.returned[0]] * 2)
            self.assertEqual(run.returned[0][0], 2)

    def test_who_has_finished_does_not_come_back(self):
        def worker(rank):
            peer = gossip.join(linear())
            peer.finish()
            peer.leave()
            with self.assertRaisesRegex(gossip.Error, "this process had finished when it left its peer"):
                gossip.join(linear())
        self.assertEqual(Run(n=1, rounds=None)(worker).codes, [0])


if __name__ == "__main__":
    unittest.main()
