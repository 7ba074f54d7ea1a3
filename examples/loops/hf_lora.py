"""LoRA by peft: only the adapters travel, and the base comes from worker 0 where it differs."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

import gossiptrainer

torch.manual_seed(1)
base = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2))
model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["c_attn"], fan_in_fan_out=True))
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
peer = gossiptrainer.join(model, opt)

texts = [(torch.arange(16) * (1 + i % 3) + i) % 64 for i in range(320)]
for epoch in range(2):
    for ids in peer.loader(torch.utils.data.DataLoader(texts, batch_size=8, shuffle=True)):
        loss = model(input_ids=ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        peer.log(loss)

with peer.averaged():
    if peer.rank == 0:
        model.save_pretrained("adapter")  # some kilobytes
    adapters = [p for p in model.parameters() if p.requires_grad]
    total = sum(p.detach().double().sum() for p in adapters)
print(f"worker {peer.rank}: {peer.round} steps, {sum(p.numel() for p in adapters)} values travel, mean {total:.9f}")
