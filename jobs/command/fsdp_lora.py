#!/usr/bin/env python3
"""Trains a LoRA adapter of a Llama with PyTorch's fully_shard (FSDP), started by torchrun.

Reads a Hugging Face folder (config.json, safetensors, tokenizer.json) of the Llama family without scaled RoPE. Each
process keeps its share of the weights only. Writes the adapter as PEFT does: adapter_config.json and
adapter_model.safetensors. Writes a checkpoint every few steps, and goes on from one with --resume, also with another
number of processes. Runs with gloo on CPUs and NCCL on GPUs, PyTorch 2.6 and newer. The samples depend on the seed,
step and rank alone, so a resumed run continues as the uninterrupted one would.
"""

import argparse
import ctypes
import hashlib
import json
import math
import mmap
import os
import pathlib
import struct
import time

import torch
import torch.distributed as dist
from tokenizers import Tokenizer
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


# ---- safetensors: 8 bytes with the length of a JSON header, the header, the data -------------------------------------


def read_safetensors(path):
    """Returns the tensors by name. They stay in the file until they are used."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            kind, (begin, end) = TYPES[entry["dtype"]], entry["data_offsets"]
            count = (end - begin) // kind.itemsize
            tensors[name] = torch.frombuffer(data, dtype=kind, count=count, offset=8 + size + begin).view(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    """fp32. Complete as soon as it has its name."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_suffix(".partial")
    with open(partial, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            tensor = tensor.float().contiguous()
            file.write(ctypes.string_at(tensor.data_ptr(), 4 * tensor.numel()))
    os.replace(partial, path)


# ---- the model: parameters are named as in Hugging Face's LlamaForCausalLM ------------------------------------------


class Linear(nn.Module):
    """weight @ x + alpha / r * lora_B @ lora_A @ x. Only the last two are trained."""

    def __init__(self, inputs, outputs, rank, scale):
        super().__init__()
        self.scale = scale
        self.weight = nn.Parameter(torch.empty(outputs, inputs), requires_grad=False)
        self.lora_A = nn.Parameter(torch.empty(rank, inputs)) if rank else None
        self.lora_B = nn.Parameter(torch.empty(outputs, rank)) if rank else None

    def forward(self, x):
        y = F.linear(x, self.weight)
        return y if self.lora_A is None else y + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)


class RmsNorm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(width), requires_grad=False)

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.epsilon)


class Layer(nn.Module):
    def __init__(self, config, linear):
        super().__init__()
        width, heads, ffn = config["hidden_size"], config["num_attention_heads"], config["intermediate_size"]
        self.head = config.get("head_dim") or width // heads
        kv = self.head * config.get("num_key_value_heads", heads)
        self.input_layernorm, self.post_attention_layernorm = (RmsNorm(width, config["rms_norm_eps"]) for _ in range(2))
        self.self_attn = nn.ModuleDict({"q_proj": linear("q_proj", width, self.head * heads), "k_proj": linear("k_proj", width, kv),
                                        "v_proj": linear("v_proj", width, kv), "o_proj": linear("o_proj", self.head * heads, width)})
        self.mlp = nn.ModuleDict({"gate_proj": linear("gate_proj", width, ffn), "up_proj": linear("up_proj", width, ffn),
                                  "down_proj": linear("down_proj", ffn, width)})

    def forward(self, x, angle):
        x = x + self.attention(self.input_layernorm(x), angle)
        y = self.post_attention_layernorm(x)
        return x + self.mlp["down_proj"](F.silu(self.mlp["gate_proj"](y)) * self.mlp["up_proj"](y))

    def attention(self, x, angle):
        b, n, _ = x.shape
        q, k, v = (self.self_attn[f"{name}_proj"](x).view(b, n, -1, self.head).transpose(1, 2) for name in "qkv")
        q, k = turned(q, angle), turned(k, angle)
        k, v = (part.repeat_interleave(q.shape[1] // part.shape[1], 1) for part in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.self_attn["o_proj"](y.transpose(1, 2).reshape(b, n, -1))


def turned(x, angle):
    """Rotary embedding (Su et al., arXiv:2104.09864), with the halves of a head as real and imaginary parts."""
    low, high = x.chunk(2, -1)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), -1)


class Llama(nn.Module):
    def __init__(self, config, linear):
        super().__init__()
        self.base, self.head = config["rope_theta"], config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"]).requires_grad_(False)
        self.layers = nn.ModuleList(Layer(config, linear) for _ in range(config["num_hidden_layers"]))
        self.norm = RmsNorm(config["hidden_size"], config["rms_norm_eps"])
        tied = config.get("tie_word_embeddings", False)
        self.lm_head = None if tied else nn.Linear(config["hidden_size"], config["vocab_size"], bias=False).requires_grad_(False)

    def forward(self, tokens):
        """tokens [sequences, n + 1]; returns the losses of the last n of each sequence [sequences * n], in nats."""
        x = self.embed_tokens(tokens[:, :-1])
        frequency = self.base ** (-torch.arange(0, self.head, 2, device=x.device).float() / self.head)
        angle = torch.outer(torch.arange(x.shape[1], device=x.device).float(), frequency)
        for layer in self.layers:
            x = layer(x, angle)
        x = F.linear(self.norm(x), self.embed_tokens.weight if self.lm_head is None else self.lm_head.weight)
        return F.cross_entropy(x.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")


def fill(parameter, whole):
    """Copies this process's share: fully_shard divides the first dimension as torch.chunk does."""
    parts = whole.chunk(dist.get_world_size())
    if dist.get_rank() < len(parts):
        with torch.no_grad():
            parameter.to_local().copy_(parts[dist.get_rank()])


def load_model(options, device):
    """Every process reads its share only."""
    config = json.loads((options.model / "config.json").read_text())
    if config["model_type"] not in ("llama", "mistral") or config.get("rope_scaling") or config.get("attention_bias"):
        raise SystemExit(f"{options.model}: only models of the Llama family without scaled RoPE and without biases")

    def linear(name, inputs, outputs):
        return Linear(inputs, outputs, options.rank if name in options.targets else 0, options.alpha / options.rank)

    with torch.device("meta"):
        model = Llama(config, linear)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device=device)
    stored = {}
    for path in sorted(options.model.glob("*.safetensors")):
        stored |= read_safetensors(path)
    generator = torch.Generator().manual_seed(options.seed)
    for name, parameter in model.named_parameters():
        if name.endswith("lora_A"):  # as PEFT begins: B = 0, so that nothing has changed yet
            limit = 1 / math.sqrt(parameter.shape[1])
            fill(parameter, torch.empty(parameter.shape).uniform_(-limit, limit, generator=generator))
        elif name.endswith("lora_B"):
            fill(parameter, torch.zeros(parameter.shape))
        else:
            fill(parameter, stored[name if name.startswith("lm_head") else f"model.{name}"])
    return model, config


# ---- the adapter and checkpoints ------------------------------------------------------------------------------------


def whole(tensor):
    """Collective: every process calls."""
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach().cpu()


def trained_parameters(model):
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def peft_name(name):
    return f"base_model.model.model.{name}.weight"


def write_adapter(options, model):
    """Collective. Returns the SHA-256 of adapter_model.safetensors on the first process."""
    tensors = {peft_name(name): whole(parameter) for name, parameter in trained_parameters(model).items()}
    if dist.get_rank() > 0:
        return None
    options.adapter_out.mkdir(exist_ok=True)
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(options.model), "r": options.rank,
              "lora_alpha": options.alpha, "lora_dropout": 0.0, "target_modules": sorted(options.targets), "bias": "none",
              "fan_in_fan_out": False, "inference_mode": True}
    (options.adapter_out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    path = options.adapter_out / "adapter_model.safetensors"
    write_safetensors(path, tensors)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save(path, model, optimizer, step, begin_loss):
    """Collective. Under another name first: a file that has the name of a checkpoint is complete."""
    state = {"step": step, "begin_loss": begin_loss, "parameters": {}, "optimizer": {}}
    for name, parameter in trained_parameters(model).items():
        state["parameters"][name] = whole(parameter)
        state["optimizer"][name] = {key: whole(value) for key, value in optimizer.state[parameter].items()}
    if dist.get_rank() == 0:
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, path)


def restore(path, model, optimizer):
    state = torch.load(path, map_location="cpu", weights_only=True)
    for name, parameter in trained_parameters(model).items():
        fill(parameter, state["parameters"][name])
        for key, value in state["optimizer"][name].items():
            if value.dim() > 0:
                optimizer.state[parameter][key] = torch.zeros_like(parameter)
                fill(optimizer.state[parameter][key], value)
            else:
                optimizer.state[parameter][key] = value
    return state["step"], state["begin_loss"]


# ---- training -------------------------------------------------------------------------------------------------------


def sample(text, begin_token, options, step, rank):
    """A batch of pieces of the text, each behind the begin token."""
    generator = torch.Generator().manual_seed((options.seed * 1_000_003 + step) * 4099 + rank)
    length = min(options.context, len(text))
    starts = torch.randint(len(text) - length + 1, (options.batch,), generator=generator)
    return torch.stack([torch.cat((begin_token, text[s : s + length])) for s in starts])


@torch.no_grad()
def text_loss(model, text, begin_token, options, device):
    """The mean loss of all tokens in pieces of `context` - 1, each behind the begin token: as `voltpile model eval` does."""
    pieces = [torch.cat((begin_token, piece)) for piece in text.split(options.context - 1)]
    sums = torch.zeros(2, dtype=torch.float64, device=device)
    for first in range(0, len(pieces), dist.get_world_size()):
        mine = first + dist.get_rank()
        losses = model(pieces[min(mine, len(pieces) - 1)][None].to(device))  # all processes must take part
        if mine < len(pieces):
            sums += torch.tensor([losses.double().sum().item(), losses.numel()], dtype=torch.float64, device=device)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="Hugging Face folder")
    parser.add_argument("--text", type=pathlib.Path, required=True, help="file to learn")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save-every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument("--adapter-out", type=pathlib.Path, default="adapter", help="folder of the adapter")
    parser.add_argument("--adapter", type=pathlib.Path, help="adapter to begin with")
    parser.add_argument("--report", help="file for the final figures, as JSON")
    parser.add_argument("--resume", help="checkpoint to go on from")
    parser.add_argument("--rank", type=int, default=8, help="r of LoRA")
    parser.add_argument("--alpha", type=float, default=16)
    parser.add_argument("--targets", nargs="+", default=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    parser.add_argument("--context", type=int, default=128, help="tokens in a sequence")
    parser.add_argument("--batch", type=int, default=4, help="sequences of each process and step")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0, help="seconds to wait after each step")
    options = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, processes = dist.get_rank(), dist.get_world_size()
    model, config = load_model(options, device)
    encoded = Tokenizer.from_file(str(options.model / "tokenizer.json")).encode(options.text.read_text(), add_special_tokens=False)
    text, begin_token = torch.tensor(encoded.ids), torch.tensor([config["bos_token_id"]])
    optimizer = torch.optim.AdamW(trained_parameters(model).values(), lr=options.rate, weight_decay=0)
    if options.adapter:
        stored = read_safetensors(options.adapter / "adapter_model.safetensors")
        for name, parameter in trained_parameters(model).items():
            fill(parameter, stored[peft_name(name)])
    if options.resume:
        first, begin_loss = restore(options.resume, model, optimizer)
    else:
        first, begin_loss = 0, text_loss(model, text, begin_token, options, device)

    begin = time.monotonic()
    for step in range(first, options.steps):
        loss = model(sample(text, begin_token, options, step, rank).to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done = step + 1
        dist.all_reduce(mean := loss.detach().clone())
        if rank == 0:
            print(f"step {done}/{options.steps} loss {mean.item() / processes:.4f}", flush=True)
        if done % options.save_every == 0 or done == options.steps:
            save(pathlib.Path(f"step-{done:06d}.pt"), model, optimizer, done, begin_loss)
        time.sleep(options.pause)
    seconds = time.monotonic() - begin
    end_loss = text_loss(model, text, begin_token, options, device)
    checksum = write_adapter(options, model)
    if rank == 0:
        print(f"loss of the whole text: {begin_loss:.5f} before, {end_loss:.5f} after", flush=True)
        if options.report:
            tokens = (options.steps - first) * options.batch * options.context * processes
            report = {"loss_before": begin_loss, "loss": end_loss, "first_step": first, "processes": processes,
                      "tokens_per_s": tokens / max(seconds, 1e-9), "adapter": str(options.adapter_out.absolute()),
                      "adapter_sha256": checksum}
            pathlib.Path(options.report).write_text(json.dumps(report))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
