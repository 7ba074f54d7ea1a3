"""Where a script's state belongs in its loop: what moves after the step is as it was, wherever the run goes on."""

import contextlib
import io
import signal
import os
import unittest

import numpy
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR

import gossiptrainer as gossip
from fakepeer import Run
from test_script import BYE, END, ERROR, GO, STEP, Script

torch.set_num_threads(1)
ROUNDS = 8


class Progress:
    """What a script counts."""

    def __init__(self):
        self.count, self.total = 0, 0.0

    def state_dict(self):
        return {"count": self.count, "total": self.total}

    def load_state_dict(self, state):
        self.count, self.total = state["count"], state["total"]


class Trainer:
    """A model with all that a loop moves."""

    def __init__(self, rank, optimizer=torch.optim.AdamW, by_hand=False):
        torch.manual_seed(rank)
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
        self.opt = optimizer(self.model.parameters(), 0.05)
        self.decay, self.progress = StepLR(self.opt, 3, 0.5), Progress()
        self.peer = gossip.join(self.model, *([] if by_hand else [self.opt]))
        self.peer.state(self.model, self.opt, self.decay, self.progress)

    def loss(self):
        x = torch.randn(5, 3)
        return F.mse_loss(self.model(x)[:, 0], x.sum(1))

    def descend(self):
        loss = self.loss()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def move(self, loss):
        self.decay.step()
        self.progress.total += loss.item()
        self.progress.count += 1

    def ends(self):
        return self.progress.count, self.progress.total, self.decay.get_last_lr()


def plain(s):
    while s.progress.count < ROUNDS and not s.peer.done:
        s.move(s.descend())


def counts_first(s):
    """What a loop moves before its forward belongs to the round that begins, which only boundary says."""
    while not s.peer.done:
        s.peer.boundary()
        s.progress.count += 1
        loss = s.descend()
        s.decay.step()
        s.progress.total += loss.item()


def evaluates(s):
    """A model in eval mode, or without gradients, is not trained."""
    while not s.peer.done:
        loss = s.descend()
        s.model.eval()
        s.model(torch.ones(1, 3))
        s.model.train()
        with torch.no_grad():
            s.model[0](torch.ones(1, 3))
        s.move(loss)


def draws(s):
    """After the step it draws random numbers, so that only boundary says where the round ends."""
    torch.rand(s.peer.round % 3)
    while not s.peer.done:
        s.peer.boundary()
        loss = s.descend()
        s.model(torch.randn(1, 3))
        s.move(loss)


def leaves(s):
    while True:
        loss = s.descend()
        s.move(loss)
        if s.peer.done:
            break


def shards(s):
    for batch in s.peer.shard([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]):
        loss = s.descend() * batch
        torch.rand(2)
        s.move(loss)


def steps_by_hand(s):
    while not s.peer.done:
        loss = s.descend()
        s.peer.step()
        s.move(loss)


def child_modules(s):
    """The joined module is only a holder, whose parts are called."""
    while not s.peer.done:
        x = torch.randn(5, 3)
        loss = s.model[2](s.model[1](s.model[0](x))).sum()
        s.opt.zero_grad()
        loss.backward()
        s.opt.step()
        s.move(loss)


def closures(s):
    while not s.peer.done:
        x = torch.randn(5, 3)

        def closure():
            s.opt.zero_grad()
            loss = F.mse_loss(s.model(x)[:, 0], x.sum(1))
            loss.backward()
            return loss
        s.move(s.opt.step(closure))


def without_forward(s):
    """Its loss calls no module, so that the state waits for the next step."""
    while not s.peer.done:
        loss = sum((p * torch.randn_like(p)).sum() for p in s.model.parameters())
        s.opt.zero_grad()
        loss.backward()
        s.opt.step()
        s.move(loss)


class Places(unittest.TestCase):
    def check(self, loop, at, **options):
        def worker(rank):
            s = Trainer(rank, **options)
            loop(s)
            return s.ends()

        whole = Run(n=2, rounds=ROUNDS, save=(at,))(worker)
        self.assertEqual(whole.codes, [0, 0])
        saved = [(whole.x[at][rank], whole.connections[rank].states[at]) for rank in range(2)]
        rest = Run(n=2, rounds=ROUNDS, first=at, saved=saved)(worker)
        self.assertEqual(rest.codes, [0, 0])
        numpy.testing.assert_array_equal(rest.x[ROUNDS], whole.x[ROUNDS])
        self.assertEqual(rest.returned, whole.returned)

    def test_what_moves_after_the_step(self):
        for loop in (plain, counts_first, evaluates, leaves, shards, child_modules, draws):
            for at in (3, 4, ROUNDS):
                if loop is leaves and at == ROUNDS:
                    continue  # it looks for the end after a step
                with self.subTest(loop.__name__, at=at):
                    self.check(loop, at)

    def test_lbfgs(self):
        self.check(closures, 5, optimizer=torch.optim.LBFGS)

    def test_steps_by_hand(self):
        for at in (3, ROUNDS):
            self.check(steps_by_hand, at, by_hand=True)

    def test_without_a_forward(self):
        self.check(without_forward, 4)

    def test_arrays(self):
        def worker(rank):
            x, v, moved = numpy.ones(3), numpy.zeros(3), numpy.zeros(1)
            numpy.random.seed(rank)
            peer = gossip.join_array(x)
            peer.state(v, moved)
            while not peer.done:
                peer.boundary()
                v[:] = 0.9 * v + numpy.random.rand(3)
                x -= 0.1 * v + 0.01 * moved
                peer.step()
                moved += numpy.random.rand()
            return moved.tolist()

        whole = Run(n=2, rounds=ROUNDS, save=(4,))(worker)
        saved = [(whole.x[4][r], whole.connections[r].states[4]) for r in range(2)]
        rest = Run(n=2, rounds=ROUNDS, first=4, saved=saved)(worker)
        numpy.testing.assert_array_equal(rest.x[ROUNDS], whole.x[ROUNDS])
        self.assertEqual(rest.returned, whole.returned)

    def test_arrays_without_a_boundary(self):
        """Their state is that at the end of the step, and not one that the next local step has moved."""
        def worker(rank):
            x, v = numpy.ones(3), numpy.zeros(3)
            peer = gossip.join_array(x)
            peer.state(v)
            while True:
                v[:] = 0.9 * v + x
                x -= 0.1 * v
                peer.step()
                if peer.round == ROUNDS:
                    return

        whole = Run(n=2, rounds=ROUNDS, save=(4,))(worker)
        saved = [(whole.x[4][r], whole.connections[r].states[4]) for r in range(2)]
        rest = Run(n=2, rounds=ROUNDS, first=4, saved=saved)(worker)
        numpy.testing.assert_array_equal(rest.x[ROUNDS], whole.x[ROUNDS])

    def test_no_hook_stays(self):
        """A copy of the model, or a file, has nothing of the peer."""
        def worker(rank):
            s = Trainer(rank)
            while not s.peer.done:
                loss = s.descend()
                file = io.BytesIO()
                torch.save(s.model, file)
                self.assertNotIn(b"gossip", file.getvalue())
                s.move(loss)
            return len(torch.nn.modules.module._global_forward_pre_hooks)
        self.assertEqual(Run(n=1, rounds=4, save=(1, 2, 4))(worker).returned, [0])


class Failures(unittest.TestCase):
    def test_a_state_that_cannot_be_taken_costs_a_checkpoint(self):
        class Moody(Progress):
            def state_dict(self):
                if self.count in (2, 3, 5):
                    raise RuntimeError("not now")
                return super().state_dict()

        def worker(rank):
            model = torch.nn.Linear(2, 1)
            opt = torch.optim.SGD(model.parameters(), 0.1)
            peer, moody = gossip.join(model, opt), Moody()
            peer.state(model, opt, moody)
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                while not peer.done:
                    opt.zero_grad()
                    model(torch.ones(1, 2)).sum().backward()
                    opt.step()
                    moody.count += 1
            return said.getvalue()

        run = Run(n=1, rounds=6, save=(1, 2, 3, 4, 5))(worker)
        self.assertEqual(run.codes, [0])
        empty = [k for k, blob in run.connections[0].states.items() if not blob]
        self.assertEqual((sorted(run.connections[0].states), empty), ([1, 2, 3, 4, 5], [2, 3, 5]))
        text = "gossip: no checkpoint of round {}, as there is no state of this script: RuntimeError: not now"
        lines = run.returned[0].splitlines()
        self.assertEqual(len(lines), 2)
        for line, k in zip(lines, (2, 5)):
            self.assertTrue(line.startswith(text.format(k)), line)

    def test_a_state_that_cannot_be_written(self):
        class Odd(Progress):
            def state_dict(self):
                return {"f": lambda: 0}

        def worker(rank):
            peer = gossip.join(torch.nn.Linear(2, 1))
            peer.state(Odd())
            with contextlib.redirect_stderr(io.StringIO()) as said:
                while not peer.done:
                    peer.step()
            return said.getvalue()
        run = Run(n=1, rounds=3, save=(1, 2))(worker)
        self.assertEqual((run.codes, run.connections[0].states), ([0], {1: b"", 2: b""}))
        self.assertIn("no checkpoint of round 1, as there is no state of this script: ", run.returned[0])

    def test_a_round_that_does_not_begin_at_the_boundary(self):
        def worker(rank):
            x = numpy.ones(2)
            peer = gossip.join_array(x)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                while not peer.done:
                    peer.boundary()
                    peer.step()
                    if not peer.done:
                        peer.step()
            return said.getvalue()
        run = Run(n=1, rounds=6, save=(2, 3))(worker)
        self.assertTrue(run.connections[0].states[2])
        self.assertEqual(run.connections[0].states[3], b"")
        self.assertIn("no checkpoint of round 3, as there is no state of this script: this round did not begin at a call of "
                      "peer.boundary()", run.returned[0])


INTERRUPTED = """import torch
model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
peer = gossip.join(model, opt)
while not peer.done:
    model(torch.ones(1, 2)).sum().backward()
    opt.step()
    %s
print('evaluated')
"""


class Interrupts(unittest.TestCase):
    def test_halfway_to_the_next_round(self):
        """The interrupt comes when the peer waits for a state, and what the loop moves after its step is halfway."""
        script = Script(INTERRUPTED % "print('stepped', flush=True); signal.pause()")
        c = script.begin()
        c.until(STEP)
        c.give(GO, 1, c.vector.copy(), 1)
        script.process.stdout.readline()
        os.kill(script.process.pid, signal.SIGINT)
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertEqual(c.states, {1: b""})
        self.assertEqual(script.end()[0], -signal.SIGINT)

    def test_between_the_end_and_the_last_state(self):
        """The interrupt waits until the loop is left, and the script may finish."""
        script = Script(INTERRUPTED % "os.kill(os.getpid(), signal.SIGINT) if peer.why else None")
        c = script.begin()
        c.until(STEP)
        c.give(END, 1, c.vector.copy(), 1, {"why": "finished", "message": ""})
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertTrue(c.states[1])
        self.assertEqual(script.end()[:2], (0, "evaluated\n"))


if __name__ == "__main__":
    unittest.main()
