"""Trainers that own the loop, and peers of several processes."""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import time
import types
import unittest

import numpy
import torch
from torch.utils.data import DataLoader, TensorDataset

import gossiptrainer as gossip
from fakepeer import Run
from gossiptrainer import _group
from gossiptrainer.callbacks import Callback

torch.set_num_threads(1)
torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)  # torch 2 loads its compiler for the first one, in seconds


class Trainer:
    """A trainer with the callbacks of transformers."""

    def __init__(self, rank, callback, steps=6):
        torch.manual_seed(3)
        self.model, self.callbacks, self.steps = torch.nn.Linear(3, 1), [callback], steps
        self.train_dataset = TensorDataset(torch.arange(8.))
        self.args = types.SimpleNamespace(seed=42, output_dir="runs/out/")
        self.control = types.SimpleNamespace(should_training_stop=False)
        self.done = 0

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def call(self, event, **more):
        for callback in self.callbacks:
            getattr(callback, event)(self.args, None, self.control, model=self.model, optimizer=self.opt, **more)

    def train(self):
        torch.manual_seed(self.args.seed)
        self.opt = torch.optim.AdamW(self.model.parameters(), 0.05)
        self.call("on_epoch_begin")
        self.call("on_train_begin")
        while self.done < self.steps and not self.control.should_training_stop:
            loss = (self.model(torch.randn(4, 3)) ** 2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.done += 1
            self.call("on_step_end")
            self.call("on_log", logs={"loss": loss.item(), "lr": 0.05, "text": "x"})
        self.call("on_evaluate", metrics={"eval_loss": 0.5, "epoch": 1})
        self.call("on_train_end")
        return self


class Callbacks(unittest.TestCase):
    def test_a_step_is_a_round_and_the_end_stops_the_trainer(self):
        for rounds, steps in ((None, 6), (4, 4)):
            def worker(rank):
                callback = Callback(buffers=False)
                trainer = Trainer(rank, callback).train()
                return trainer.done, callback.peer.round, callback.peer.average().weight.tolist()
            run = Run(rounds=rounds)(worker)
            self.assertEqual([r[:2] for r in run.returned], [(steps, steps)] * 2)
            self.assertEqual(run.returned[0][2], run.returned[1][2])
            c = run.connections[0]
            self.assertEqual([(k, sorted(v)) for k, v in c.logs], [(k, ["loss", "lr"]) for k in range(steps)])
            self.assertEqual([s for _, s in c.scores], [{"loss": 0.5, "epoch": 1}])

    def test_resumes(self):
        def worker(rank):
            return Trainer(rank, Callback(), steps=9).train().model.weight.tolist()
        whole = Run(rounds=5, save=(3,))(worker)
        saved = [(whole.x[3][r], whole.connections[r].states[3]) for r in range(2)]
        rest = Run(rounds=5, first=3, saved=saved)(worker)
        numpy.testing.assert_array_equal(rest.x[5], whole.x[5])

    def test_trains_twice(self):
        def worker(rank):
            callback = Callback(fits=2)
            trainer = Trainer(rank, callback, steps=3 + rank).train()
            trainer.steps = 7
            trainer.train()
            with self.assertRaisesRegex(gossip.Error, "has finished after 2 trainings, .*, such as fits=2"):
                trainer.train()
            mean = callback.peer.average().weight.tolist()
            return mean, callback.peer.round
        run = Run(rounds=None)(worker)
        self.assertEqual(run.codes, [0, 0])
        self.assertEqual(run.returned[0], run.returned[1])
        self.assertEqual(run.returned[0][1], 7)
        with self.assertRaisesRegex(gossip.Error, "fits=0: a script trains at least once"):
            Callback(fits=0)

    def test_a_trainer_without_a_model(self):
        with self.assertRaisesRegex(gossip.Error, "gave no model at on_train_begin"):
            Callback().on_train_begin(None, None, None)


@contextlib.contextmanager
def stub(name, **members):
    """Put a module with these members in the place of a framework."""
    parts = name.split(".")
    for i in range(len(parts)):
        sys.modules[".".join(parts[:i + 1])] = types.ModuleType(".".join(parts[:i + 1]))
    vars(sys.modules[name]).update(members)
    if len(parts) > 1:
        vars(sys.modules[parts[0]])[parts[1]] = sys.modules[name]
    yield


class Transformers(unittest.TestCase):
    def test_attach(self):
        class TrainerCallback:
            def on_epoch_begin(self, *args, **kwargs):
                pass

        def worker(rank):
            os.environ["PEER_DIR"] = f"/worker/{rank}"
            with stub("transformers", TrainerCallback=TrainerCallback):
                import gossiptrainer.transformers as ours
            trainer = Trainer(rank, Callback())
            trainer.callbacks.clear()
            peer = ours.attach(trainer)
            part = [x.item() for x, in trainer.train_dataset]
            trainer.train()
            return part, trainer.args.seed, trainer.args.output_dir, peer.round
        run = Run(rounds=None)(worker)
        (a, first, there, rounds), (b, second, elsewhere, _) = run.returned
        self.assertEqual((a, b), ([0, 2, 4, 6], [1, 3, 5, 7]))
        self.assertEqual(len({first, second, 42}), 3)
        self.assertEqual((there, elsewhere, rounds), ("runs/out/", "/worker/1/out", 6))

    def test_refusals(self):
        with stub("transformers", TrainerCallback=object):
            import gossiptrainer.transformers as ours
        for trainer, message in ((types.SimpleNamespace(is_deepspeed_enabled=True), "train with DDP"),
                                 (types.SimpleNamespace(model=None), "give it a model, not model_init")):
            with self.assertRaisesRegex(gossip.Error, message):
                ours.attach(trainer)


class Source:
    """Where Lightning keeps its loader."""

    def __init__(self, instance):
        self.instance, self.name = instance, "train_dataloader"


class Lightning(unittest.TestCase):
    @staticmethod
    def ours():
        with stub("lightning.pytorch", Callback=object):
            import gossiptrainer.lightning as ours
        return ours

    def test_a_batch_that_steps_is_a_round(self):
        for hook in (False, True):
            def worker(rank):
                os.environ.update(PEER_RANK=str(rank), PEER_SIZE="2", PEER_DIR=f"/worker/{rank}")
                torch.manual_seed(1)
                module = torch.nn.Linear(1, 1)
                loader = DataLoader(torch.arange(16.), batch_size=2, shuffle=True)
                if hook:
                    module.train_dataloader = lambda: loader
                opt = torch.optim.SGD(module.parameters(), 0.01)
                checkpoint = types.SimpleNamespace(dirpath="a/saved")
                trainer = types.SimpleNamespace(
                    fit_loop=types.SimpleNamespace(_data_source=Source(module if hook else loader)), optimizers=[opt],
                    global_step=0, should_stop=False, sanity_checking=False, checkpoint_callbacks=[checkpoint],
                    callback_metrics={"val_loss": torch.tensor(0.5), "loss": 1}, _default_root_dir=".")
                callback = self.ours().GossipCallback(validate="mean")
                callback.setup(trainer, module, "validate")
                callback.setup(trainer, module, "fit")
                source = trainer.fit_loop._data_source
                loader = source.instance.train_dataloader() if hook else source.instance
                callback.on_train_start(trainer, module)
                for index, batch in enumerate(loader):
                    loss = module(batch.reshape(-1, 1) / 16).sum()
                    loss.backward()
                    if index % 2:
                        opt.step()
                        opt.zero_grad()
                        trainer.global_step += 1
                    callback.on_train_batch_end(trainer, module, {"loss": loss}, batch, index)
                own = module.weight.item()
                callback.on_validation_start(trainer, module)
                mean = module.weight.item()
                callback.on_validation_end(trainer, module)
                callback.on_train_end(trainer, module)
                return (len(loader), callback.peer.round, mean, own == module.weight.item(), trainer._default_root_dir,
                        checkpoint.dirpath)
            run = Run(rounds=None)(worker)
            self.assertEqual([r[:2] for r in run.returned], [(4, 2)] * 2)
            self.assertEqual(run.returned[0][2], run.returned[1][2])
            self.assertEqual([r[3:] for r in run.returned], [(True, ".", "a/saved"),
                                                             (True, "/worker/1/lightning", "/worker/1/saved")])
            self.assertEqual([s for _, s in run.connections[0].scores], [{"val_loss": 0.5}])

    def test_refusals(self):
        ours = self.ours()
        with self.assertRaisesRegex(gossip.Error, "validate='best': give \"mean\""):
            ours.GossipCallback(validate="best")
        callback = ours.GossipCallback()
        for loop, message in ((types.SimpleNamespace(), "keeps its loader elsewhere: give fit peer.loader"),
                              (types.SimpleNamespace(_data_source=Source([1, 2])), "several training loaders")):
            with self.assertRaisesRegex(gossip.Error, message):
                callback.setup(types.SimpleNamespace(fit_loop=loop), None, "fit")


class Processes(unittest.TestCase):
    """Two peers of two processes each, of which the first speaks to the peer."""

    def test_local_rank_0_exchanges_and_broadcasts(self):
        with tempfile.TemporaryDirectory() as folder:
            def worker(rank):
                child = os.fork()
                local = int(child == 0)
                torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/{rank}", rank=local,
                                                     world_size=2)
                torch.manual_seed(4)
                model = torch.nn.Linear(2, 1, dtype=torch.float64 if rank else torch.float32)
                net = torch.nn.parallel.DistributedDataParallel(model)
                opt = torch.optim.SGD(net.parameters(), 0.05)
                peer = gossip.join(net, opt)
                noise = torch.rand(1).item()
                for step in range(5):
                    x = torch.ones(2, 2, dtype=model.weight.dtype) * (1 + local + 2 * rank)
                    opt.zero_grad()
                    net(x).sum().backward()
                    opt.step()
                mean = peer.average()
                with peer.averaged():
                    inside = model.weight.tolist()
                result = (peer.rank, peer.size, peer.round, peer.part(list(range(8))), mean.weight.tolist() == inside,
                          peer.all_reduce(local + 2 * rank, "sum"), peer.broadcast(rank), model.weight.tolist(), noise)
                if child == 0:
                    with open(f"{folder}/result-{rank}", "w") as file:
                        json.dump(result, file)
                    peer.close()
                    os._exit(0)
                os.waitpid(child, 0)
                with open(f"{folder}/result-{rank}") as file:
                    return result, json.load(file)
            for memory in ("memfd", "frames"):
                run = Run(rounds=None, memory=memory)(worker)
                self.assertEqual(run.codes, [0, 0])
                for rank in range(2):
                    for local in range(2):
                        result = run.returned[rank][local]
                        self.assertEqual(list(result[:7]), [rank, 2, 5, [2 * rank + local, 2 * rank + local + 4], True, 6, 0])
                    self.assertEqual(*[result[7] for result in run.returned[rank]])
                    self.assertNotEqual(*[result[8] for result in run.returned[rank]])
                self.assertEqual(run.connections[0].hello["tensors"][0]["name"], "weight")
                for name in os.listdir(folder):
                    os.unlink(os.path.join(folder, name))

    def resumed(self, train, change=lambda blob: blob):
        """Return what two processes of one peer find in a run of 9 rounds, and in its rest after round 4.

        The rest begins with what change makes of the state.
        """
        def worker(rank):
            with tempfile.TemporaryDirectory() as folder:
                child = os.fork()
                local = int(child == 0)
                torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=local,
                                                     world_size=2)
                found = [None, None]
                torch.distributed.all_gather_object(found, train())
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
                return found
        whole = Run(n=1, rounds=9, save=(4,))(worker)
        rest = Run(n=1, rounds=9, first=4, saved=[(whole.x[4][0], change(whole.connections[0].states[4]))])(worker)
        self.assertEqual((whole.codes, rest.codes), ([0], [0]))
        return whole, rest

    def test_a_resumed_run_repeats_each_process(self):
        """Each has its own samples, in an order of its own, with noise of its own, and its own dropout."""
        class Noisy(torch.utils.data.Dataset):
            def __len__(self):
                return 20

            def __getitem__(self, i):
                return i + torch.rand(2)

        def train(workers):
            torch.manual_seed(1)
            model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
            net = torch.nn.parallel.DistributedDataParallel(model)
            opt = torch.optim.Adam(net.parameters(), 0.05)
            peer = gossip.join(net, opt)
            loader = peer.loader(DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=workers))
            seen = []
            while not peer.done:
                for x in loader:
                    opt.zero_grad()
                    loss = net(x).square().mean()
                    loss.backward()
                    opt.step()
                    seen.append((x.tolist(), loss.item()))
                    if peer.done:
                        break
            return seen

        for workers in (0, 1):
            with self.subTest(workers=workers):
                whole, rest = self.resumed(lambda: train(workers))
                for process in range(2):
                    self.assertEqual(rest.returned[0][process], whole.returned[0][process][4:])
                self.assertNotEqual(*whole.returned[0])
                self.assertEqual(rest.x[9].tolist(), whole.x[9].tolist())

    def test_processes_that_a_checkpoint_lacks_draw_different_numbers(self):
        def train():
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), 0.05)
            peer = gossip.join(model, opt)
            drawn = []
            while not peer.done:
                peer.boundary()
                drawn.append(torch.rand(1).item())
                opt.step()
            return drawn

        def of_one_process(blob):
            content, file = torch.load(io.BytesIO(blob), weights_only=False), io.BytesIO()
            torch.save(dict(content, others=[]), file)
            return file.getvalue()
        whole, rest = self.resumed(train, of_one_process)
        self.assertEqual(rest.returned[0][0], whole.returned[0][0][4:])
        self.assertFalse(set(rest.returned[0][0]) & set(rest.returned[0][1]))

    def test_without_a_peer_they_divide_the_data_and_the_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ.pop("PEER_SOCKET", None)
            children = []
            for local in range(2):
                children.append(os.fork())
                if not children[-1]:
                    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=local,
                                                         world_size=2)
                    model = torch.nn.Linear(2, 1)
                    with contextlib.redirect_stderr(io.StringIO()):
                        peer = gossip.join(model, torch.optim.SGD(model.parameters(), 0.05))
                    found = [peer.part(list(range(6))), peer.all_reduce(1 + local, "sum"), peer.rank, peer.size]
                    with open(f"{folder}/{local}", "w") as file:
                        json.dump(found, file)
                    peer.save(f"{folder}/{local}.pt")
                    os._exit(0)
            for child in children:
                os.waitpid(child, 0)
            for local in range(2):
                with open(f"{folder}/{local}") as file:
                    self.assertEqual(json.load(file), [[local, local + 2, local + 4], 3, 0, 1])
            self.assertEqual([os.path.exists(f"{folder}/{local}.pt") for local in range(2)], [True, False])

    def errors(self, each, **constants):
        """Return what the two processes of one peer raise, of which each takes two steps before it does this."""
        with tempfile.TemporaryDirectory() as folder:
            def worker(rank):
                child = os.fork()
                local = int(child == 0)
                for name, value in constants.items():
                    setattr(_group, name, value)
                torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=local,
                                                     world_size=2)
                model = torch.nn.Linear(2, 1)
                opt = torch.optim.SGD(model.parameters(), 0.05)
                said, problem = io.StringIO(), ""
                with contextlib.redirect_stderr(said):
                    try:
                        peer = gossip.join(model, opt)
                        opt.step(), opt.step()
                        each(local, peer, opt)
                    except gossip.Error as caught:
                        problem = str(caught)
                if child == 0:
                    with open(f"{folder}/result", "w") as file:
                        json.dump([problem, said.getvalue()], file)
                    os._exit(0)
                os.waitpid(child, 0)
                with contextlib.suppress(FileNotFoundError), open(f"{folder}/result") as file:
                    return [problem, said.getvalue()], json.load(file)
                return [problem, said.getvalue()], ["", ""]
            run = Run(n=1, rounds=None)(worker)
            self.assertEqual(run.codes, [0])
            return run.returned[0]

    def test_different_calls_end_both(self):
        ways = {
            "step": lambda peer, opt: opt.step(), "average": lambda peer, opt: peer.average(),
            "barrier": lambda peer, opt: peer.barrier(), "mean": lambda peer, opt: peer.all_reduce(1),
            "sum": lambda peer, opt: peer.all_reduce(1, "sum"), "two": lambda peer, opt: peer.all_reduce([1, 2]),
            "newest": lambda peer, opt: peer.average(wait=False), "stop": lambda peer, opt: peer.stop("enough"),
            "end": lambda peer, opt: peer.close(),
        }
        names = {"step": "step()", "average": "average()", "barrier": "barrier()",
                 "mean": "all_reduce(op='mean', numbers=1)", "sum": "all_reduce(op='sum', numbers=1)",
                 "two": "all_reduce(op='mean', numbers=2)", "newest": "average(wait=False, seconds=10)",
                 "stop": "stop()", "end": "the end of its script"}
        for first, second in (("step", "average"), ("average", "step"), ("barrier", "stop"), ("mean", "sum"),
                              ("mean", "two"), ("newest", "average"), ("step", "end")):
            with self.subTest(first=first, second=second):
                found = self.errors(lambda local, peer, opt: ways[second if local else first](peer, opt))
                self.assertRegex(found[0][0], r"the processes of worker 0, in round 2, are at different calls: process 0: "
                                 + re.escape(names[first]) + r"( \(.*\))?; process 1: " + re.escape(names[second])
                                 + ".*: all processes of a worker make the same calls in one order")
                if second != "end":
                    self.assertEqual(found[0][0], found[1][0])

    def test_one_that_ends_does_not_keep_the_others_waiting(self):
        def early(local, peer, opt):
            if local:
                os._exit(0)
            opt.step()
        found = self.errors(early)
        self.assertRegex(found[0][0], r"process 1 of worker 0, in round 2, has ended, but process 0 waits for it in "
                         r"step\(\).*; its last call was step\(\)")

    def test_one_that_never_comes(self):
        with tempfile.TemporaryDirectory() as folder:
            def late(local, peer, opt):
                peer._group.timeout = 0.1
                if local:
                    while not os.path.exists(f"{folder}/over"):  # it does other things
                        time.sleep(0.01)
                    return
                try:
                    peer.average()
                finally:
                    with open(f"{folder}/over", "w"):
                        pass
            found = self.errors(late, SAY=0)
        waits = (r"process 1 of worker 0, in round 2, has not come to average\(\)( \(.*\))?, where process 0 waits; "
                 "its last call was step")
        self.assertRegex(found[0][0], waits + ".*: all processes of a worker make the same calls .*"
                         "The timeout of init_process_group is 0.1 s")
        self.assertRegex(found[0][1], "gossip: " + waits)


if __name__ == "__main__":
    unittest.main()
