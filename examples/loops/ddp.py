"""Several GPUs in one peer: torchrun starts a process for each, and all of them join. On CPUs, gloo stands for nccl."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import gossiptrainer

cuda = torch.cuda.is_available()
dist.init_process_group("nccl" if cuda else "gloo")
device = torch.device("cuda", dist.get_rank()) if cuda else torch.device("cpu")
torch.manual_seed(1)
x = torch.randn(640, 16)
loader = DataLoader(TensorDataset(x, (x[:, :4].sum(1) > 0).long()), batch_size=16, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)).to(device)
net = DistributedDataParallel(model)
opt = torch.optim.AdamW(net.parameters(), 3e-3)
peer = gossiptrainer.join(net, opt)
loader = peer.loader(loader)  # a part for each process of each peer
for epoch in range(2):
    for a, b in loader:
        loss = torch.nn.functional.cross_entropy(net(a.to(device)), b.to(device))
        opt.zero_grad()
        loss.backward()
        opt.step()
        peer.log(loss)

peer.save("model.pt")
total = sum(p.double().sum() for p in peer.average().parameters())
if dist.get_rank() == 0:
    print(f"worker {peer.rank}: {peer.round} steps, mean {total:.9f}")
dist.destroy_process_group()
