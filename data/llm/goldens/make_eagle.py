"""Makes small random models with EAGLE 3 heads, and what the heads predict, computed by PyTorch in fp32.

usage: make_eagle.py OUT_FOLDER [MODEL ...]     (needs torch, transformers, safetensors)

OUT/<model>/ is a Hugging Face folder without a tokenizer, and in it
  head/            the EAGLE 3 head, as published ones are stored
  golden.json      {"prompt": ids, "greedy": ids, "chain": ids, "predictions": {"file", "dtype", "shape": [rows, draft vocabulary], "rms"}}
  predictions.f32  little-endian fp32. For the n tokens of prompt + greedy, row t < n - 1 holds the head's logits of token t + 2, from
                   states of token t and from token t + 1. The rows behind them continue after chain[0], chain[1] ...: each reads the
                   token that the row before it finds the likeliest, and the output of the layer in that row, before the norm.
"greedy" continues the prompt by the model itself. The head follows arXiv:2503.01840 and the description in apps/llm/model/eagle_head.h. The
script checks that each input of the head matters.
"""

import os
import sys

import torch
from families import LLAMA, QWEN3
from make_goldens import LEAST_DIFFERENCE, LEAST_MARGIN, build, make_all, nmse, random_weights, write_json
from make_mtp import CHAIN, PROMPT, least_margin, rms_norm, shapes_of, with_greedy, write_predictions
from safetensors.torch import save_file

SMALL = {"vocab_size": 160, "intermediate_size": 96}
LAYER = {"hidden_act": "silu", "hidden_size": 64, "intermediate_size": 96, "max_position_embeddings": 64, "model_type": "llama"}
LAYER |= {"num_attention_heads": 4, "num_hidden_layers": 1, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 160}
HEAD = LAYER | {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 96, "bos_token_id": 150, "eos_token_id": 151}
OTHER_LAYER = LAYER | {"architectures": ["LlamaForCausalLM"], "head_dim": 32, "num_key_value_heads": 1, "rope_theta": 500.0}
SPECULATORS = {
    "architectures": ["Eagle3Speculator"],
    "eagle_aux_hidden_state_layer_ids": [0, 1, 3],
    "norm_before_residual": True,
    "speculators_model_type": "eagle3",
    "transformer_layer_config": OTHER_LAYER,
}
# name -> (config of the model, of the head, layers whose inputs the head reads, prefix of the layer's tensors)
MODELS = {
    # Without a list of layers: 2, n / 2, n - 3.
    "eagle3": (LLAMA | SMALL | {"num_hidden_layers": 7}, HEAD, [2, 3, 4], "midlayer."),
    # In the form of the speculators library, with all tokens.
    "eagle3_speculators": (QWEN3 | SMALL | {"num_hidden_layers": 4}, SPECULATORS, [0, 1, 3], "layers.0."),
}


class Head:
    def __init__(self, config, weights, embedding, tokens):
        self.config = config | config.get("transformer_layer_config", {})
        self.weights = {name: weight.float() for name, weight in weights.items()}
        self.embedding, self.tokens = embedding.float(), tokens

    def norm(self, x, name):
        return rms_norm(x, self.weights[name], self.config["rms_norm_eps"])

    def rotated(self, x):
        """x: (heads, rows, head size). The row is the position."""
        size = x.shape[-1]
        angles = torch.arange(x.shape[1])[:, None] * self.config.get("rope_theta", 10000.0) ** (-torch.arange(0, size, 2) / size)
        one, other = x[..., : size // 2], x[..., size // 2 :]
        return torch.cat([one * angles.cos() - other * angles.sin(), other * angles.cos() + one * angles.sin()], -1)

    def attention(self, x):
        size = self.config.get("head_dim", self.config["hidden_size"] // self.config["num_attention_heads"])
        q, k, v = ((x @ self.weights[f"self_attn.{name}_proj.weight"].T).view(len(x), -1, size).transpose(0, 1) for name in "qkv")
        shared = self.config["num_attention_heads"] // self.config["num_key_value_heads"]
        k, v = (each.repeat_interleave(shared, 0) for each in (self.rotated(k), v))
        scores = self.rotated(q) @ k.transpose(1, 2) / size**0.5
        mask = torch.full(scores.shape[1:], float("-inf")).triu(1)
        return ((scores + mask).softmax(-1) @ v).transpose(0, 1).reshape(len(x), -1) @ self.weights["self_attn.o_proj.weight"].T

    def run(self, tokens, states):
        """Returns the outputs of the layer. states: (rows, hidden)."""
        normed = self.norm(states, "hidden_norm.weight")
        embedded = self.norm(self.embedding[tokens], "input_layernorm.weight")
        x = normed if self.config.get("norm_before_residual") else states
        x = x + self.attention(torch.cat([embedded, normed], -1))
        y = self.norm(x, "post_attention_layernorm.weight")
        gate, up, down = (self.weights[f"mlp.{name}_proj.weight"].T for name in ("gate", "up", "down"))
        return x + (torch.nn.functional.silu(y @ gate) * (y @ up)) @ down

    def logits(self, rows):
        return self.norm(rows, "norm.weight") @ self.weights["lm_head.weight"].T

    def predict(self, tokens, states):
        """states: of all tokens, side by side. Returns all logits and the chain."""
        tokens, states = tokens[1:], states[:-1] @ self.weights["fc.weight"].T
        rows = self.run(tokens, states)
        logits, chain = [self.logits(rows)], []
        for _ in range(CHAIN):
            chain.append(self.tokens[logits[-1][-1].argmax()])
            tokens, states = torch.cat([tokens, chain[-1][None]]), torch.cat([states, rows[-1:]])
            rows = self.run(tokens, states)
            logits.append(self.logits(rows[-1:]))
        return torch.cat(logits), torch.stack(chain)


def head_shapes(config):
    config = config | config.get("transformer_layer_config", {})
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    size = config.get("head_dim", hidden // config["num_attention_heads"])
    q, kv = config["num_attention_heads"] * size, config["num_key_value_heads"] * size
    norms = ("hidden_norm", "input_layernorm", "post_attention_layernorm", "norm")
    return {f"{name}.weight": (hidden,) for name in norms} | {
        "fc.weight": (hidden, 3 * hidden),
        "self_attn.q_proj.weight": (q, 2 * hidden),
        "self_attn.k_proj.weight": (kv, 2 * hidden),
        "self_attn.v_proj.weight": (kv, 2 * hidden),
        "self_attn.o_proj.weight": (hidden, q),
        "mlp.gate_proj.weight": (ffn, hidden),
        "mlp.up_proj.weight": (ffn, hidden),
        "mlp.down_proj.weight": (hidden, ffn),
        "lm_head.weight": (config.get("draft_vocab_size", config["vocab_size"]), hidden),
    }


def check(name, head, tokens, states, logits):
    third = states.shape[1] // 3
    others = {f"states {i}": torch.cat([s.roll(1, 0) if k == i else s for k, s in enumerate(states.split(third, 1))], 1) for i in range(3)}
    for what, other in others.items():
        difference = nmse(head.predict(tokens, other)[0][: len(tokens) - 1], logits[: len(tokens) - 1])
        print(f"{name}: NMSE with other {what}: {difference:.3g}")
        if difference < LEAST_DIFFERENCE:
            raise RuntimeError(f"{name}: {what} hardly matter")


def make(name, out):
    config, head_config, layers, prefix = MODELS[name]
    dtype, vocabulary = getattr(torch, config["torch_dtype"]), config["vocab_size"]
    for seed in range(1000):
        generator = torch.Generator().manual_seed(seed)
        weights = random_weights(shapes_of(config), generator, dtype, norm_mean=1.0)
        parts = random_weights(head_shapes(head_config), generator, dtype, norm_mean=1.0)
        count = len(parts["lm_head.weight"])
        chosen = torch.randperm(vocabulary, generator=generator)[:count].sort().values
        prompt = torch.randint(3, vocabulary, (PROMPT,), generator=generator)
        model = build(config, weights)
        tokens = with_greedy(model, prompt)
        all_states = model.model(tokens[None], output_hidden_states=True).hidden_states
        states = torch.cat([all_states[layer][0] for layer in layers], -1)
        head = Head(head_config, parts, weights["model.embed_tokens.weight"], chosen)
        logits, chain = head.predict(tokens, states)
        rms = logits.square().mean().sqrt().item()
        margin = least_margin(logits[-CHAIN - 1 :])
        if margin > LEAST_MARGIN * rms and len(set(chain.tolist())) > 1:
            break
    else:
        raise RuntimeError(f"{name}: no seed with a margin of {LEAST_MARGIN}")
    print(f"{name}: seed {seed}, rms {rms:.2f}, least margin {margin:.2f}")
    check(name, head, tokens, states, logits)

    folder = os.path.join(out, name)
    os.makedirs(os.path.join(folder, "head"), exist_ok=True)
    whole = ("fc.weight", "norm.weight", "lm_head.weight")
    stored = {part if part in whole else prefix + part: weight for part, weight in parts.items()}
    if count < vocabulary:
        stored["d2t"] = chosen - torch.arange(count)
        stored["t2d"] = torch.zeros(vocabulary, dtype=torch.bool).index_fill(0, chosen, True)
    else:
        stored["embed_tokens.weight"] = weights["model.embed_tokens.weight"].clone()
    write_json(os.path.join(folder, "config.json"), config)
    write_json(os.path.join(folder, "head", "config.json"), head_config | {"torch_dtype": config["torch_dtype"]})
    save_file(weights, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    save_file(stored, os.path.join(folder, "head", "model.safetensors"), {"format": "pt"})
    write_predictions(folder, tokens, logits, chain)


if __name__ == "__main__":
    make_all(make, MODELS, *sys.argv[1:])
