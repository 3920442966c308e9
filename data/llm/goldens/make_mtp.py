"""Makes small random models with layers that predict further tokens (MTP), and what they predict, in fp32 with the decoder layers of transformers.

usage: make_mtp.py OUT_FOLDER [MODEL ...]     (needs torch, transformers, safetensors)

OUT/<model>/ is a Hugging Face folder without a tokenizer, and in it
  golden.json      {"prompt": ids, "greedy": ids, "chain": ids, "predictions": {"file", "dtype", "shape": [rows, vocabulary], "rms"}}
  predictions.f32  little-endian fp32. For the n tokens of prompt + greedy, row t < n - 1 holds the first layer's logits of token t + 2,
                   from the hidden state of token t and token t + 1. As many rows of each further layer k follow: row t holds its
                   logits of token t + k + 2, from the hidden state of row t in the layer before it and token t + k + 1. Tokens behind
                   the n are chain[0] ... chain[k - 1], which the last rows of the layers before find the likeliest. The rows
                   behind these continue in the last layer: each reads the token that the row before it finds the likeliest, and the
                   hidden state of that row.
"greedy" continues the prompt by the model itself. The layers follow arXiv:2412.19437, section 2.2; hidden states are those behind the last norm,
as in SGLang (deepseek_nextn.py, logits_processor.py). The script checks that each input of a layer matters.
"""

import os
import sys

import torch
from families import DEEPSEEK3, GLM4_MOE
from make_goldens import (
    LEAST_DIFFERENCE,
    LEAST_GAP,
    LEAST_MARGIN,
    build,
    make_all,
    nmse,
    published,
    random_weights,
    write_json,
    write_logits,
    write_weights,
)
from transformers import AutoConfig, AutoModelForCausalLM

PROMPT, GREEDY, CHAIN = 40, 8, 3
SMALL = {"num_hidden_layers": 2, "vocab_size": 160, "intermediate_size": 96, "moe_intermediate_size": 64}
MODELS = {
    # The layer has copies of the embedding and the head, as published models have.
    "glm4_moe_mtp": GLM4_MOE | SMALL | {"n_routed_experts": 6, "num_experts_per_tok": 2},
    # It has a head of its own.
    "deepseek_v3_mtp": DEEPSEEK3 | SMALL | {"n_routed_experts": 8},
    "glm4_moe_two_mtp": GLM4_MOE | SMALL | {"n_routed_experts": 6, "num_experts_per_tok": 2, "num_nextn_predict_layers": 2},
}
PARTS = ("eh_proj.weight", "enorm.weight", "hnorm.weight", "shared_head.norm.weight")


def shapes_of(config):
    skeleton = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
    shapes = {k: tuple(p.shape) for k, p in skeleton.named_parameters()}
    return shapes | {k: tuple(b.shape) for k, b in skeleton.named_buffers() if k.endswith("e_score_correction_bias")}


def rms_norm(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.float()


class Layer:
    """A prediction layer: a decoder layer of a model that has them as further layers, and the parts before and behind it."""

    def __init__(self, whole, decoder_layer, parts, head, eps):
        self.whole, self.decoder_layer, self.parts, self.head, self.eps = whole, decoder_layer, parts, head.float(), eps

    def joined(self, tokens, hidden):
        embedded = rms_norm(self.whole.model.embed_tokens(tokens), self.parts["enorm.weight"], self.eps)
        hidden = rms_norm(hidden, self.parts["hnorm.weight"], self.eps)
        return torch.cat([embedded, hidden], -1) @ self.parts["eh_proj.weight"].float().T

    def run(self, rows):
        """Returns the inputs of the head for the rows of eh_proj."""
        x = rows[None]
        positions = torch.arange(x.shape[1])[None]
        mask = torch.full((x.shape[1], x.shape[1]), float("-inf")).triu(1)[None, None]
        rotary = self.whole.model.rotary_emb(x, positions)
        x = self.decoder_layer(x, attention_mask=mask, position_ids=positions, position_embeddings=rotary)
        x = x[0] if isinstance(x, tuple) else x
        return rms_norm(x[0], self.parts["shared_head.norm.weight"], self.eps)


def predict(layers, tokens, hidden):
    """hidden: of all tokens. Returns the logits in pieces, of which the last rows decide, and the chain of these decisions."""
    following, normed = tokens, hidden[:-1]
    logits, chain = [], []
    for layer in layers:
        following = torch.cat([following[1:], *(last[None] for last in chain[-1:])])
        rows = layer.joined(following, normed)
        normed = layer.run(rows)
        logits.append(normed @ layer.head.T)
        chain.append(logits[-1][-1].argmax())
    while len(chain) <= CHAIN:
        rows = torch.cat([rows, layers[-1].joined(chain[-1][None], normed[-1:])])
        normed = layers[-1].run(rows)
        logits.append(normed[-1:] @ layers[-1].head.T)
        chain.append(logits[-1][-1].argmax())
    return logits, torch.stack(chain[:CHAIN])


def gap_of_experts(model, layers, tokens, hidden):
    """Returns the least distance between the scores of a row's last expert and the next one, and between those of its groups, in the
    model and in its prediction layers."""
    gaps = []

    def measure(router, inputs, _):
        x = inputs[0].reshape(-1, router.weight.shape[1])
        scores = (x @ router.weight.float().T).sigmoid() + router.e_score_correction_bias
        config = model.config
        if config.n_group > config.topk_group:
            of_groups = scores.view(len(x), config.n_group, -1).topk(2).values.sum(-1)
            best = of_groups.topk(config.topk_group + 1).values
            gaps.append((best[:, -2] - best[:, -1]).min().item())
            chosen = torch.zeros_like(of_groups).scatter(1, of_groups.topk(config.topk_group).indices, 1).bool()
            scores = scores.view(len(x), config.n_group, -1).masked_fill(~chosen[:, :, None], float("-inf")).view(len(x), -1)
        top = scores.topk(config.num_experts_per_tok + 1).values
        gaps.append((top[:, -2] - top[:, -1]).min().item())

    routers = [each.mlp.gate for each in model.model.layers if hasattr(each.mlp, "gate")]
    routers += [layer.decoder_layer.mlp.gate for layer in layers]
    hooks = [router.register_forward_hook(measure) for router in routers]
    model.model(tokens[None])
    predict(layers, tokens, hidden)
    for hook in hooks:
        hook.remove()
    return min(gaps)


def check(name, model, layers, tokens, hidden, logits):
    last_norm = model.model.norm.weight.float()
    others = {"hidden states": hidden.roll(1, 0), "the last norm": hidden / last_norm}
    for what, other in others.items():
        difference = nmse(predict(layers, tokens, other)[0][0], logits[0])
        print(f"{name}: NMSE with other {what}: {difference:.3g}")
        if difference < LEAST_DIFFERENCE:
            raise RuntimeError(f"{name}: {what} hardly matter")


def with_greedy(model, prompt):
    """The prompt and the model's greedy tokens behind it."""
    settings = {"do_sample": False, "max_new_tokens": GREEDY, "min_new_tokens": GREEDY, "eos_token_id": None, "pad_token_id": 0}
    return model.generate(prompt[None], attention_mask=torch.ones_like(prompt[None]), **settings)[0]


def least_margin(rows):
    """Between the two best tokens of each row."""
    two = rows.topk(2, dim=-1).values
    return (two[:, 0] - two[:, 1]).min().item()


def write_predictions(folder, tokens, logits, chain):
    about = write_logits(folder, "predictions", logits)
    golden = {"prompt": tokens[:PROMPT].tolist(), "greedy": tokens[PROMPT:].tolist(), "chain": chain.tolist(), "predictions": about}
    write_json(os.path.join(folder, "golden.json"), golden)


def make(name, out):
    config = MODELS[name]
    count, dtype, size = config["num_hidden_layers"], getattr(torch, config["torch_dtype"]), config["hidden_size"]
    further = config["num_nextn_predict_layers"]
    more = config | {"num_hidden_layers": count + further}
    prefixes = [f"model.layers.{count + i}." for i in range(further)]
    for seed in range(1000):
        generator = torch.Generator().manual_seed(seed)
        weights = random_weights(shapes_of(more), generator, dtype, norm_mean=1.0)
        shapes = {part: (size, 2 * size) if part == PARTS[0] else (size,) for part in PARTS}
        parts = [random_weights(shapes, generator, dtype, norm_mean=1.0) for _ in prefixes]
        head = weights["lm_head.weight"]
        if name.startswith("deepseek"):
            head = random_weights({"lm_head.weight": tuple(head.shape)}, generator, dtype, norm_mean=1.0)["lm_head.weight"]
        prompt = torch.randint(3, config["vocab_size"], (PROMPT,), generator=generator)
        model = build(config, {k: w for k, w in weights.items() if not k.startswith(tuple(prefixes))})
        tokens = with_greedy(model, prompt)
        hidden = model.model(tokens[None]).last_hidden_state[0]
        whole = build(more, weights)
        layers = [Layer(whole, whole.model.layers[count + i], each, head, config["rms_norm_eps"]) for i, each in enumerate(parts)]
        logits, chain = predict(layers, tokens, hidden)
        rms = torch.cat(logits).square().mean().sqrt().item()
        margin = least_margin(torch.stack([piece[-1] for piece in logits]))
        if margin > LEAST_MARGIN * rms and len(set(chain.tolist())) > 1 and gap_of_experts(model, layers, tokens, hidden) > LEAST_GAP:
            break
    else:
        raise RuntimeError(f"{name}: no seed with a margin of {LEAST_MARGIN}")
    print(f"{name}: seed {seed}, rms {rms:.2f}, least margin {margin:.2f}")
    check(name, model, layers, tokens, hidden, logits)

    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    stored = published(weights, config)
    for own, each in zip(prefixes, parts, strict=True):
        stored |= {own + part: weight for part, weight in each.items()}
        stored[own + "shared_head.head.weight"] = head.clone()
        if not name.startswith("deepseek"):
            stored[own + "embed_tokens.weight"] = weights["model.embed_tokens.weight"].clone()
    write_json(os.path.join(folder, "config.json"), config)
    write_weights(folder, stored, False)
    write_predictions(folder, tokens, torch.cat(logits), chain)


if __name__ == "__main__":
    make_all(make, MODELS, *sys.argv[1:])
