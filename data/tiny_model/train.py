"""Trains the tiny Llama-shaped model on the King James text and writes it as a Hugging Face folder (fp16).

usage: train.py --text KJV.txt --tokenizer TOKENIZER.json --out FOLDER [--experts N --steps N --batch N --dropout P --seed N]

With --experts it is a mixture of N experts of 256 (Mixtral's layers), of which each token uses two.

Needs torch >= 2.5, safetensors, tokenizers; no network. Takes minutes on one data-center GPU; use a CPU only to try a few steps.
"""

import argparse
import json
import math
import os
import random
import shutil
import time

import corpus
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn

BEGIN_ID, END_ID = 0, 1
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": BEGIN_ID,
    "eos_token_id": END_ID,
    "head_dim": 32,
    "hidden_act": "silu",
    "hidden_size": 256,
    "initializer_range": 0.02,
    "intermediate_size": 768,
    "max_position_embeddings": 512,
    "mlp_bias": False,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "num_key_value_heads": 4,
    "pretraining_tp": 1,
    "rms_norm_eps": 1e-5,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float16",
    "use_cache": True,
    "vocab_size": 2048,
}
MIXTURE = {
    "architectures": ["MixtralForCausalLM"],
    "model_type": "mixtral",
    "intermediate_size": 256,
    "num_experts_per_tok": 2,
    "output_router_logits": False,
    "router_aux_loss_coef": 0.02,
    "sliding_window": None,
}
HIDDEN, HEADS, KV_HEADS, HEAD = (
    CONFIG[k] for k in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim")
)
CONTEXT = CONFIG["max_position_embeddings"]


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x):
        return F.rms_norm(x.float(), (HIDDEN,), self.weight, CONFIG["rms_norm_eps"])


def rope_table(device):
    """Returns cos and sin, each [CONTEXT, HEAD / 2], for the half-rotated layout of Hugging Face's Llama."""
    frequency = CONFIG["rope_theta"] ** (-torch.arange(0, HEAD, 2, device=device).float() / HEAD)
    angle = torch.outer(torch.arange(CONTEXT, device=device).float(), frequency)
    return angle.cos(), angle.sin()


def rotate(x, table):
    cos, sin = (t[: x.shape[2]].to(x.dtype) for t in table)
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * HEAD, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD, HIDDEN, bias=False)

    def forward(self, x, table):
        batch, length, _ = x.shape
        q, k, v = (
            project(x).view(batch, length, -1, HEAD).transpose(1, 2) for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = rotate(q, table), rotate(k, table)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1))


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        ffn = MIXTURE["intermediate_size"]
        self.w1 = nn.Linear(HIDDEN, ffn, bias=False)
        self.w3 = nn.Linear(HIDDEN, ffn, bias=False)
        self.w2 = nn.Linear(ffn, HIDDEN, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Mixture(nn.Module):
    """Every expert computes all tokens: simple, and fast enough for few experts."""

    def __init__(self, experts):
        super().__init__()
        self.gate = nn.Linear(HIDDEN, experts, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(experts))
        self.imbalance = 0.0

    def forward(self, x):
        logits = self.gate(x).float()
        best = logits.topk(MIXTURE["num_experts_per_tok"], dim=-1)
        weights = torch.zeros_like(logits).scatter(-1, best.indices, best.values.softmax(dim=-1))
        # As Mixtral's auxiliary loss: the shares of the tokens times the mean probabilities.
        share = (weights > 0).float().mean(dim=(0, 1))
        self.imbalance = len(self.experts) * (share * logits.softmax(dim=-1).mean(dim=(0, 1))).sum()
        return sum(weights[..., e, None].to(x.dtype) * expert(x) for e, expert in enumerate(self.experts))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        ffn = CONFIG["intermediate_size"]
        self.gate_proj = nn.Linear(HIDDEN, ffn, bias=False)
        self.up_proj = nn.Linear(HIDDEN, ffn, bias=False)
        self.down_proj = nn.Linear(ffn, HIDDEN, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, dropout, experts):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RmsNorm(), RmsNorm()
        self.self_attn = Attention()
        if experts:
            self.block_sparse_moe = Mixture(experts)
        else:
            self.mlp = Mlp()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, table):
        x = x + self.dropout(self.self_attn(self.input_layernorm(x), table))
        feed_forward = self.block_sparse_moe if hasattr(self, "block_sparse_moe") else self.mlp
        return x + self.dropout(feed_forward(self.post_attention_layernorm(x)))


class Llama(nn.Module):
    """Parameters are named as in Hugging Face's LlamaModel; the output head is the embedding."""

    def __init__(self, dropout, experts):
        super().__init__()
        self.embed_tokens = nn.Embedding(CONFIG["vocab_size"], HIDDEN)
        self.layers = nn.ModuleList(Layer(dropout, experts) for _ in range(CONFIG["num_hidden_layers"]))
        self.norm = RmsNorm()
        self.dropout = nn.Dropout(dropout)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                residual = name.endswith(("o_proj.weight", "down_proj.weight", "w2.weight"))
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * len(self.layers)) if residual else 1))

    def imbalance(self):
        """Returns the mean imbalance of the layers' experts, 0 without experts."""
        mixtures = [layer.block_sparse_moe for layer in self.layers if hasattr(layer, "block_sparse_moe")]
        return sum(mixture.imbalance for mixture in mixtures) / max(1, len(mixtures))

    def forward(self, ids, table):
        x = self.dropout(self.embed_tokens(ids))
        for layer in self.layers:
            x = layer(x, table)
        return F.linear(self.norm(x), self.embed_tokens.weight)


class Windows:
    """Returns pieces of CONTEXT + 1 tokens: the begin token, then text from the start of a verse."""

    def __init__(self, chapters, tokenizer, device):
        ids, starts = [], []
        for chapter in chapters:
            ids.append(BEGIN_ID)
            for line in tokenizer.encode_batch([verse + "\n" for verse in chapter], add_special_tokens=False):
                starts.append(len(ids))
                ids += line.ids
            ids.append(END_ID)
        self.ids = torch.tensor(ids, device=device)
        self.starts = torch.tensor([s for s in starts if s + CONTEXT <= len(ids)], device=device)

    def sample(self, batch):
        chosen = self.starts[torch.randint(len(self.starts), (batch,), device=self.ids.device)]
        piece = self.ids[chosen[:, None] + torch.arange(-1, CONTEXT, device=self.ids.device)]
        piece[:, 0] = BEGIN_ID
        return piece


@torch.no_grad()
def held_out_loss(model, windows, table, cast):
    """Returns the mean negative log likelihood per token over consecutive windows of the text."""
    model.eval()
    total = count = 0
    for piece in windows.ids.split(CONTEXT):
        with cast():
            logits = model(piece[None, :-1], table)
        total += F.cross_entropy(logits[0].float(), piece[1:], reduction="sum").item()
        count += len(piece) - 1
    model.train()
    return total / count


@torch.no_grad()
def continuation(model, tokenizer, prompt, table, tokens=60):
    model.eval()
    ids = [BEGIN_ID] + tokenizer.encode(prompt, add_special_tokens=False).ids
    for _ in range(tokens):
        ids.append(model(torch.tensor([ids], device=table[0].device), table)[0, -1].argmax().item())
        if ids[-1] == END_ID:
            break
    model.train()
    return tokenizer.decode(ids)


def write_folder(out, weights, tokenizer_file, experts):
    os.makedirs(out, exist_ok=True)
    tensors = {"model." + name: w.half().contiguous() for name, w in weights.items()}
    save_file(tensors, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    shutil.copy(tokenizer_file, os.path.join(out, "tokenizer.json"))
    begin, end = (Tokenizer.from_file(tokenizer_file).id_to_token(i) for i in (BEGIN_ID, END_ID))
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": begin,
        "eos_token": end,
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
    }
    generation_config = {"bos_token_id": BEGIN_ID, "eos_token_id": END_ID, "do_sample": True, "temperature": 0.8, "top_p": 0.95}
    for name, content in (
        ("config", CONFIG | MIXTURE | {"num_local_experts": experts} if experts else CONFIG),
        ("generation_config", generation_config),
        ("tokenizer_config", tokenizer_config),
    ):
        with open(os.path.join(out, name + ".json"), "w", encoding="ascii") as file:
            json.dump(content, file, indent=2)
            file.write("\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--text", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--experts", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--minutes", type=float, default=3.5, help="the schedule is shortened to end by then")
    parser.add_argument("--seed", type=int, default=1611)
    return parser.parse_args()


def main():
    args = arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"

    def cast():
        return torch.autocast(device, torch.bfloat16)

    tokenizer = Tokenizer.from_file(args.tokenizer)
    training, held_out = (Windows(part, tokenizer, device) for part in corpus.split(corpus.read_chapters(args.text)))
    table = rope_table(device)
    model = Llama(args.dropout, args.experts).to(device)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=device == "cuda")

    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "train_log.txt"), "w", encoding="ascii") as log:

        def say(line):
            print(line, flush=True)
            print(line, file=log, flush=True)

        say(f"{vars(args)} torch {torch.__version__} on {torch.cuda.get_device_name() if device == 'cuda' else 'cpu'}")
        say(f"{sum(p.numel() for p in model.parameters())} parameters, {len(training.ids)} tokens, {len(held_out.ids)} held out")
        start, step, done, best, weights = time.monotonic(), 0, 0.0, math.inf, None
        interval, warm_up = max(1, args.steps // 40), 0.02
        while done < 1.0:
            done = max((step + 1) / args.steps, (time.monotonic() - start) / (60 * args.minutes))
            rate = args.rate * min((step + 1) / (warm_up * args.steps), 0.52 + 0.48 * math.cos(math.pi * min(1.0, done)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            piece = training.sample(args.batch)
            with cast():
                logits = model(piece[:, :-1], table)
            loss = F.cross_entropy(logits.float().flatten(0, 1), piece[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            (loss + MIXTURE["router_aux_loss_coef"] * model.imbalance()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step % interval == 0 or done >= 1.0:
                unseen = held_out_loss(model, held_out, table, cast)
                if unseen < best:
                    best, weights = unseen, {k: v.detach().clone() for k, v in model.state_dict().items()}
                say(
                    f"step {step} of {args.steps}, {time.monotonic() - start:.0f} s: training {loss.item():.4f},"
                    f" held out {unseen:.4f} (perplexity {math.exp(unseen):.2f}), rate {rate:.2e}"
                )
        model.load_state_dict({k: v.half().float() for k, v in weights.items()})
        final = held_out_loss(model, held_out, table, lambda: torch.autocast(device, enabled=False))
        say(f"best, weights in fp16, computed in fp32: held out {final:.4f} (perplexity {math.exp(final):.2f})")
        for prompt in ("In the beginning", "And it came to pass", "The LORD is my shepherd"):
            say(continuation(model, tokenizer, prompt, table))
        write_folder(args.out, weights, args.tokenizer, args.experts)


if __name__ == "__main__":
    main()
