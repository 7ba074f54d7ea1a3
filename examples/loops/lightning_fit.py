"""Lightning: gossiptrainer adds one callback."""

import lightning as L
import torch
from torch.utils.data import DataLoader, TensorDataset

from gossiptrainer.lightning import GossipCallback


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.BatchNorm1d(32), torch.nn.ReLU(),
                                       torch.nn.Linear(32, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-2)


L.seed_everything(1)
x = torch.randn(512, 8)
data = TensorDataset(x, x.sin().sum(1, keepdim=True))
module = Module()
gossip = GossipCallback(validate="mean")
trainer = L.Trainer(max_epochs=2, callbacks=[gossip])
trainer.fit(module, DataLoader(data, batch_size=16, shuffle=True), DataLoader(data, batch_size=128))

gossip.peer.save("model.pt")
total = sum(p.double().sum() for p in gossip.peer.average().parameters())
print(f"worker {gossip.peer.rank}: {trainer.global_step} steps, mean {total:.9f}")
