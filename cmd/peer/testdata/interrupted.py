"""A script whose loop counts its own steps, and whose schedule and counters move after the step.

Arguments: the number of rounds; the fifo, the rank, the round and the place of the moment that a test waits for. At
the end each worker says what it holds.
"""
import os
import sys

import torch
import torch.nn.functional as F

import gossip

rounds, fifo, rank, at, place = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]


def tell(here):
    if (peer.rank, progress.count, here) == (rank, at, place) and os.path.exists(fifo):
        with open(fifo, "w") as pipe:
            pipe.write("now\n")


class Progress:
    count, total = 0, 0.0

    def state_dict(self):
        return {"count": self.count, "total": self.total}

    def load_state_dict(self, state):
        self.count, self.total = state["count"], state["total"]


torch.set_num_threads(1)
torch.manual_seed(29)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
opt = torch.optim.AdamW(model.parameters(), 1e-2)
decay = torch.optim.lr_scheduler.StepLR(opt, 7, 0.5)
progress = Progress()
peer = gossip.join(model, opt)
peer.state(model, opt, decay, progress)
while progress.count < rounds and not peer.done:
    tell("top")
    x = torch.randn(16, 8)
    loss = F.mse_loss(model(x)[:, 0], x.sin().sum(1))
    opt.zero_grad()
    loss.backward()
    tell("forward")
    opt.step()
    tell("step")
    decay.step()
    progress.total += loss.item()
    progress.count += 1
    tell("end")
if peer.why != "interrupted":
    print(f"ends: worker {peer.rank} count={progress.count} total={progress.total:.9g} rate={decay.get_last_lr()[0]:.9g}")
