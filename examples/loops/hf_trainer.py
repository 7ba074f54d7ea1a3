"""The Trainer of Hugging Face's transformers: gossiptrainer adds two lines, the second import and attach."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import gossiptrainer.transformers


class Text(torch.utils.data.Dataset):
    """Arithmetic sequences of tokens."""

    def __len__(self):
        return 320

    def __getitem__(self, i):
        ids = (torch.arange(16) * (1 + i % 3) + i) % 64
        return {"input_ids": ids, "labels": ids}


torch.manual_seed(1)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=2, n_head=2))
args = TrainingArguments(output_dir="out", num_train_epochs=2, per_device_train_batch_size=8, learning_rate=1e-2,
                         logging_steps=10, report_to=[], use_cpu=True, disable_tqdm=True)
trainer = Trainer(model=model, args=args, train_dataset=Text())
peer = gossiptrainer.transformers.attach(trainer)
result = trainer.train()

mean = peer.average()
if peer.rank == 0:
    mean.save_pretrained("model")
total = sum(p.double().sum() for p in mean.parameters())
print(f"worker {peer.rank}: {trainer.state.global_step} steps, loss {result.training_loss:.2f}, mean {total:.9f}")
