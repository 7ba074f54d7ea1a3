# Trains a tiny network with a table of 50,000 numbers and a frozen layer, whose buffers never change. With the argument
# "late" worker 1 changes the table before its tenth step, and it reaches all workers.
import sys

import torch, torch.nn.functional as F, gossiptrainer


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)
        self.learns, self.frozen = torch.nn.BatchNorm1d(16), torch.nn.BatchNorm1d(16).requires_grad_(False)
        self.register_buffer("table", torch.rand(50_000))

    def forward(self, x):
        return self.head(F.relu(self.frozen.eval()(self.learns(self.layer(x))))) + self.table[:4]


model = Net()
begun = model.table.clone()
opt = torch.optim.SGD(model.parameters(), 0.1)
with gossiptrainer.join(model, opt) as peer:
    begun.copy_(model.table)
    for step in range(20):
        if sys.argv[1:] == ["late"] and peer.rank == 1 and step == 9:
            model.table += 1
        x = torch.randn(16, 16)
        y = x[:, :4].argmax(1)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        peer.log(loss)
    assert not torch.equal(model.learns.running_mean, torch.zeros(16))
    assert torch.equal(model.frozen.running_var, torch.ones(16))
    assert torch.equal(model.table, begun) != (sys.argv[1:] == ["late"]), "the table"
