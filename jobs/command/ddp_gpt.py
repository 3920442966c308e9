#!/usr/bin/env python3
"""Trains a small GPT on the bytes of a text with PyTorch's DistributedDataParallel, started by torchrun.

Writes a checkpoint every few steps, and goes on from one with --resume. Runs with gloo on CPUs and NCCL on GPUs,
PyTorch 1.13 and newer. The samples depend on the seed, step and rank alone, so a resumed run continues as the
uninterrupted one would.
"""

import argparse
import json
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, later):
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) * (c // self.heads) ** -0.5
        mixed = torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(b, n, c))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, width, layers, heads, context, vocabulary=256):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        later = torch.ones(x.shape[1], x.shape[1], device=x.device).triu(1).bool()
        for block in self.blocks:
            x = block(x, later)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def sample(text, options, step, rank):
    """A batch of pieces of the text and the bytes that follow them."""
    generator = torch.Generator().manual_seed((options.seed * 1_000_003 + step) * 4099 + rank)
    starts = torch.randint(len(text) - options.context - 1, (options.batch,), generator=generator)
    pieces = torch.stack([text[s : s + options.context + 1] for s in starts])
    return pieces[:, :-1], pieces[:, 1:]


def save(path, model, optimizer, step):
    """Under another name first: a file that has the name of a checkpoint is complete."""
    partial = path.with_suffix(".partial")
    torch.save({"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, partial)
    os.replace(partial, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", default=__file__, help="file to learn; default: this script")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--report", help="file for the final figures, as JSON")
    parser.add_argument("--resume", help="checkpoint to go on from")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8, help="sequences of each process and step")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0, help="seconds to wait after each step")
    options = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(options.seed)
    text = torch.tensor(list(pathlib.Path(options.text).read_bytes()))
    model = Gpt(options.width, options.layers, options.heads, options.context).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    first = 0
    if options.resume:
        state = torch.load(options.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    trained = nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if on_gpu else None,
                                                  gradient_as_bucket_view=True)  # saves copying all gradients

    steps_s, timed = 0.0, 0  # of the steps after the first, which starts kernels and connections
    for step in range(first, options.steps):
        begin = time.monotonic()
        tokens, targets = (part.to(device) for part in sample(text, options, step, rank))
        loss = trained(tokens, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done = step + 1
        dist.all_reduce(mean := loss.detach().clone())
        mean = mean.item() / dist.get_world_size()  # waits for the step
        if step > first:
            steps_s, timed = steps_s + time.monotonic() - begin, timed + 1
        if rank == 0:
            print(f"step {done}/{options.steps} loss {mean:.4f}", flush=True)
            if done % options.save_every == 0 or done == options.steps:
                save(pathlib.Path(f"step-{done:06d}.pt"), model, optimizer, done)
        time.sleep(options.pause)
    if rank == 0 and options.report:
        tokens = timed * options.batch * options.context * dist.get_world_size()
        final = mean if first < options.steps else None
        report = {"loss": final, "first_step": first, "steps": options.steps, "processes": dist.get_world_size(),
                  "tokens_per_s": tokens / max(steps_s, 1e-9)}
        pathlib.Path(options.report).write_text(json.dumps(report))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
