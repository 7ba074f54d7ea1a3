"""Kinds of training loops beside the plain one: what each of them hands to join, and how its steps are seen."""

import unittest

import torch
import torch.nn.functional as F

import gossiptrainer as gossip
from fakepeer import Run

torch.set_num_threads(1)


class Sharpness(torch.optim.Optimizer):
    """SAM: it goes uphill, and then takes the step of another optimizer from where it was."""

    def __init__(self, parameters):
        super().__init__(parameters, {})
        self.base = torch.optim.SGD(self.param_groups, 0.1)

    @torch.no_grad()
    def first_step(self):
        for p in self.param_groups[0]["params"]:
            self.state[p]["before"] = p.data.clone()
            p.add_(p.grad, alpha=0.05)

    @torch.no_grad()
    def second_step(self):
        for p in self.param_groups[0]["params"]:
            p.data = self.state[p]["before"]
        self.base.step()


class Both:
    """Two optimizers, each for a part of the model. It is no optimizer of torch."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers
        self.first, self.second = optimizers

    def step(self):
        for each in self.optimizers:
            each.step()

    def zero_grad(self):
        for each in self.optimizers:
            each.zero_grad()

    def state_dict(self):
        return [each.state_dict() for each in self.optimizers]

    def load_state_dict(self, state):
        for each, its in zip(self.optimizers, state):
            each.load_state_dict(its)


def batch():
    x = torch.randn(16, 4)
    return x, x.sum(1, keepdim=True)


class Loops(unittest.TestCase):
    def agree(self, run, rounds):
        """All workers end after these rounds with one mean, which is that of their vectors."""
        self.assertEqual(run.codes, [0] * run.n)
        for mean, end in run.returned:
            self.assertEqual(end, rounds)
            torch.testing.assert_close(torch.tensor(mean), torch.from_numpy(run.now.mean(0)))
        self.assertGreater(abs(run.now[0] - run.x[0][0]).max(), 0.01)

    def test_tensors_without_a_module(self):
        def worker(rank):
            torch.manual_seed(rank)
            tree = {"w": torch.randn(4, 1, requires_grad=True), "b": [torch.zeros(1, requires_grad=True)], "n": 3}
            opt = torch.optim.Adam([tree["w"], *tree["b"]], 0.05)
            peer = gossip.join(tree, opt)
            for _ in range(5):
                x, y = batch()
                opt.zero_grad()
                F.mse_loss(x @ tree["w"] + tree["b"][0], y).backward()
                opt.step()
            mean = peer.average()
            assert mean["n"] == 3 and mean["w"] is not tree["w"]
            with peer.averaged() as held:
                assert held is tree and torch.equal(tree["w"], mean["w"])
            rounds = peer.round
            return torch.cat([mean["b"][0], mean["w"].flatten()]).tolist(), rounds
        self.agree(Run(rounds=None)(worker), 5)

    def test_tensors_of_a_tree_still_need_their_gradients(self):
        def worker(rank):
            params = [torch.zeros(4, 1, requires_grad=True), torch.nn.Parameter(torch.zeros(1))]
            peer = gossip.join(params)
            params = peer.params
            for _ in range(5):
                x, y = batch()
                F.mse_loss(x @ params[0] + params[1], y).backward()
                with torch.no_grad():
                    for p in params:
                        p -= 0.1 * p.grad
                params = peer.exchange(params)
            assert isinstance(params[1], torch.nn.Parameter) and params[0].requires_grad and params[0].is_leaf
            return torch.cat([t.detach().flatten() for t in peer.average()]).tolist(), peer.round
        self.agree(Run(rounds=None)(worker), 5)

    def test_a_tree_is_not_handed_over_by_step(self):
        def worker(rank):
            peer = gossip.join({"w": torch.zeros(2)})
            try:
                peer.step()
            except gossip.Error as problem:
                return str(problem)
        self.assertEqual(Run(n=1, rounds=1)(worker).returned, [
            "step does not see new arrays of a tree: params = peer.exchange(params)"])

    def learn(self, make, rounds=5, model=lambda: torch.nn.Linear(4, 1)):
        """Train with the step that make(model, optimizer's parameters) returns."""
        def worker(rank):
            torch.manual_seed(rank)
            net = model()
            opt, step = make(net)
            peer = gossip.join(net, opt)
            for _ in range(5):
                step(peer, *batch())
            mean, rounds = peer.average(), peer.round
            return torch.cat([p.detach().flatten() for p in mean.parameters()]).tolist(), rounds
        self.agree(Run(rounds=None)(worker), rounds)

    def test_an_optimizer_inside_another_one(self):
        def make(net):
            opt = Sharpness(net.parameters())

            def step(peer, x, y):
                for move in (opt.first_step, opt.second_step):
                    opt.zero_grad()
                    F.mse_loss(net(x), y).backward()
                    move()
            return opt, step
        self.learn(make)

    def test_two_optimizers_as_one(self):
        def make(net):
            opt = Both(torch.optim.SGD([net.weight], 0.1), torch.optim.Adam([net.bias], 0.1))

            def step(peer, x, y):
                opt.zero_grad()
                F.mse_loss(net(x), y).backward()
                opt.step()
            return opt, step
        self.learn(make)

    def test_a_closure_may_log_each_of_its_many_calls(self):
        def make(net):
            opt = torch.optim.LBFGS(net.parameters(), 0.01, max_iter=30, tolerance_grad=0, tolerance_change=0)

            def step(peer, x, y):
                calls = 0

                def closure():
                    nonlocal calls
                    calls += 1
                    opt.zero_grad()
                    loss = F.mse_loss(net(x), y)
                    loss.backward()
                    peer.log(loss)
                    return loss
                opt.step(closure)
                assert calls > 20, calls
            return opt, step
        self.learn(make)

    def test_a_scripted_module(self):
        def make(net):
            opt = torch.optim.SGD(net.parameters(), 0.1)

            def step(peer, x, y):
                opt.zero_grad()
                F.mse_loss(net(x), y).backward()
                opt.step()
            return opt, step
        self.learn(make, model=lambda: torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 1))))


if __name__ == "__main__":
    unittest.main()
