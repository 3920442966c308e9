"""Makes a small random model of each family and its logits, computed by transformers on the CPU in fp32.

usage: make_goldens.py OUT_FOLDER [MODEL ...]     (needs torch, transformers, safetensors)

OUT/<model>/ is a Hugging Face folder without a tokenizer, and in it
  golden.json  {"prompt": ids, "greedy": ids, "logits": {"file", "dtype", "shape": [rows, vocabulary], "rms"}, "least_margin"}
  logits.f32   little-endian fp32; row i holds the logits after token i of prompt + greedy, so that
               the largest of row len(prompt) - 1 + k is greedy[k].
The prompt is longer than the window of Mistral, the original context of the scaled RoPE, and several KV pages. At each greedy step
the best logit leads by at least LEAST_MARGIN of their rms, so that rounding does not change the text. The script checks that the feature of each
family matters: without it the logits differ far more than any tolerance.
"""

import json
import math
import os
import sys

import torch
from families import MODELS, SHARDED
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

PROMPT, GREEDY = 70, 16
LEAST_MARGIN = 0.05  # of the logits' rms: five times the typical error of a logit at an NMSE of 1e-4
LEAST_GAP = 2e-3  # between the logits of a token's last expert and of the next one, so that rounding does not choose another
LEAST_DIFFERENCE = 1e-2  # NMSE; the tolerance in fp16 is 1e-4


def random_weights(shapes, generator, dtype, norm_mean):
    """Scaled so that every layer matters: unit rows into each product, scores and logits of several units.

    A tied embedding is small against what the layers add, and the last norm large, or else the model would repeat its last token.
    norm_mean: 0 in families whose norms multiply by 1 + weight. They also multiply the embedding by the root of the hidden size.
    """
    tied = "lm_head.weight" not in shapes
    weights = {}
    for name, shape in shapes.items():
        x = torch.randn(shape, generator=generator)
        if name.endswith("e_score_correction_bias"):
            weights[name] = 0.2 * x  # of scores between 0 and 1; published in fp32
            continue
        if name.endswith("norm.weight"):
            x = 1.0 + 0.2 * x
            if name.endswith(("q_norm.weight", "k_norm.weight")):
                x = 1.3 * x
            elif name == "model.norm.weight" and tied:
                x = 4.0 * x
            x = x - 1.0 + norm_mean
        elif name.endswith("bias"):
            x = 0.5 * x
        elif name.endswith("sinks"):
            x = 1.0 + 1.5 * x
        elif name.endswith("embed_tokens.weight"):
            x = (0.02 if norm_mean == 0.0 else 0.1 if tied else 0.4) * x
        else:
            gain = 1.3 if name.endswith(("q_proj.weight", "k_proj.weight")) else 2.5 if name.startswith("lm_head") else 1.0
            gain = 2.0 if name.endswith(("mlp.gate.weight", "mlp.router.weight")) else gain
            inputs = shape[-1]
            if name.endswith(("gate_up_proj", "down_proj")):  # transposed; the clamps of gpt-oss change some products
                gain, inputs = 2.5 if name.endswith("gate_up_proj") else 1.0, shape[-2]
            x = gain * x / inputs**0.5
        weights[name] = x.to(dtype).contiguous()
    return weights


def build(config, weights):
    """Returns the model in fp32 with the stored weights; tied weights follow the embedding."""
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(**{k: v for k, v in config.items() if k != "quantization_config"}), dtype=torch.float32, attn_implementation="eager"
    )
    missing, unexpected = model.load_state_dict({k: v.float() for k, v in weights.items()}, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise RuntimeError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    if config["model_type"] == "deepseek_v2":
        scale_scores(model, config)
    return model.eval()


def scale_scores(model, config):
    """Scales attention's scores as DeepSeek V2's own code (modeling_deepseek.py) and llama.cpp do, which transformers omits."""
    scaling = config["rope_scaling"]
    for layer in model.model.layers:
        layer.self_attn.scaling *= (0.1 * scaling["mscale_all_dim"] * math.log(scaling["factor"]) + 1.0) ** 2


def greedy_run(model, prompt):
    """Decodes with the KV cache, then computes all rows at once; both must choose the same tokens."""
    settings = {"do_sample": False, "max_new_tokens": GREEDY, "min_new_tokens": GREEDY, "eos_token_id": None, "pad_token_id": 0}
    ids = model.generate(prompt[None], attention_mask=torch.ones_like(prompt[None]), **settings)[0]
    logits = model(ids[None]).logits[0]
    chosen = logits[PROMPT - 1 : PROMPT - 1 + GREEDY]
    two = chosen.topk(2, dim=-1).values
    if not torch.equal(chosen.argmax(-1), ids[PROMPT:]):
        raise RuntimeError("decoding and the whole text disagree")
    return ids[PROMPT:], logits, (two[:, 0] - two[:, 1]).min().item()


def least_gap(model, ids):
    """Returns the least distance between the router's scores of the last expert that a token uses and the next one, and of groups.

    Scores are logits, or for routers with a bias of the choice their sigmoids plus the bias.
    """
    gaps = [float("inf")]

    def measure(router, inputs, _):
        x = inputs[0].reshape(-1, router.weight.shape[1])
        scores = x @ router.weight.T + getattr(router, "bias", 0.0)
        if hasattr(router, "e_score_correction_bias"):
            scores = scores.sigmoid() + router.e_score_correction_bias
        config = model.config
        groups, used = getattr(config, "n_group", None) or 1, getattr(config, "topk_group", None) or 1
        if groups > used:
            each = scores.view(len(x), groups, -1)
            sigmoid = hasattr(router, "e_score_correction_bias")
            of_groups = each.topk(2).values.sum(-1) if sigmoid else each.max(-1).values
            best = of_groups.topk(used + 1).values
            gaps.append((best[:, -2] - best[:, -1]).min().item())
            chosen = torch.zeros_like(of_groups).scatter(1, of_groups.topk(used).indices, 1).bool()
            scores = each.masked_fill(~chosen[:, :, None], float("-inf")).view(len(x), -1)
        top = scores.topk(config.num_experts_per_tok + 1, dim=-1).values
        gaps.append((top[:, -2] - top[:, -1]).min().item())

    hooks = [m.register_forward_hook(measure) for name, m in model.named_modules() if name.endswith(("mlp.gate", "mlp.router"))]
    model(ids[None])
    for hook in hooks:
        hook.remove()
    return min(gaps)


def mxfp4_stack(shape, generator):
    """Returns random blocks and scales of the transposed matrices (experts, columns, rows), and their weights."""
    experts, columns, rows = shape
    blocks = torch.randint(0, 256, (experts, rows, columns // 32, 16), generator=generator, dtype=torch.uint8)
    # Codes have a root mean square of 2.9.
    middle = 127 - round(math.log2(2.9 * columns**0.5 / (2.5 if rows > columns else 1.0)))
    scales = torch.randint(middle - 1, middle + 2, (experts, rows, columns // 32), generator=generator, dtype=torch.uint8)
    return blocks, scales, convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)


def packed_experts(weights, generator):
    """Replaces the stacks of experts by what random MXFP4 blocks are; returns the weights and the tensors of the folder."""
    stored, weights = dict(weights), dict(weights)
    for name, weight in list(weights.items()):
        if name.endswith(("gate_up_proj", "down_proj")):
            del stored[name]
            stored[name + "_blocks"], stored[name + "_scales"], weights[name] = mxfp4_stack(weight.shape, generator)
    return weights, stored


def published(weights, config):
    """Returns the weights under the names of published models: one matrix for each expert where transformers has one tensor for all."""
    if config["model_type"] == "gpt_oss":
        return weights
    mixtral = config["model_type"] == "mixtral"
    gate, up, down = ("w1", "w3", "w2") if mixtral else ("gate_proj", "up_proj", "down_proj")
    result = {}
    for name, weight in weights.items():
        place, _, part = name.rpartition(".experts.")
        place = place.replace(".mlp", ".block_sparse_moe") if mixtral else place
        if part == "gate_up_proj":
            for e, both in enumerate(weight):
                for kind, half in zip((gate, up), both.chunk(2)):
                    result[f"{place}.experts.{e}.{kind}.weight"] = half.contiguous()
        elif part == "down_proj":
            for e, matrix in enumerate(weight):
                result[f"{place}.experts.{e}.{down}.weight"] = matrix.contiguous()
        else:
            result[name.replace(".mlp.", ".block_sparse_moe.") if mixtral else name] = weight
    return result


def with_prediction_layers(weights, config):
    """Adds layers behind the last, as in models that predict further tokens, with copies of its tensors. Readers must ignore them."""
    last = f"model.layers.{config['num_hidden_layers'] - 1}."
    result = dict(weights)
    for layer in range(config["num_hidden_layers"], config["num_hidden_layers"] + config.get("num_nextn_predict_layers", 0)):
        own = f"model.layers.{layer}."
        result |= {name.replace(last, own): x.clone() for name, x in weights.items() if name.startswith(last)}
        result[own + "eh_proj.weight"] = torch.zeros(config["hidden_size"], 2 * config["hidden_size"], dtype=torch.float16)
        for name in ("enorm.weight", "hnorm.weight", "shared_head.norm.weight"):
            result[own + name] = torch.zeros(config["hidden_size"], dtype=torch.float16)
    return result


def nmse(x, reference):
    return ((x - reference).square().sum() / reference.square().sum()).item()


def without(config, weights, feature):
    """Returns the model without its distinguishing feature."""
    if isinstance(feature, dict):
        return build(config | feature, weights)
    if feature == "sinks":
        return build(config, {k: torch.full_like(v, -1e4) if k.endswith(feature) else v for k, v in weights.items()})
    neutral = torch.zeros_like if feature.endswith("bias") or "shared_expert" in feature else torch.ones_like
    return build(config, {k: neutral(v) if k.endswith(feature) and "layernorm" not in k else v for k, v in weights.items()})


def write_weights(folder, weights, sharded):
    if not sharded:
        save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
        return
    names = sorted(weights)
    where = {}
    for part in (1, 2):
        file = f"model-{part:05d}-of-00002.safetensors"
        chosen = names[: len(names) // 2] if part == 1 else names[len(names) // 2 :]
        save_file({name: weights[name] for name in chosen}, os.path.join(folder, file), metadata={"format": "pt"})
        where |= dict.fromkeys(chosen, file)
    size = sum(w.numel() * w.element_size() for w in weights.values())
    write_json(os.path.join(folder, "model.safetensors.index.json"), {"metadata": {"total_size": size}, "weight_map": where})


def write_json(path, content):
    with open(path, "w", encoding="ascii") as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def write_logits(folder, kind, logits):
    """Writes them to KIND.f32, and returns what golden.json says of them."""
    logits.numpy().astype("<f4").tofile(os.path.join(folder, f"{kind}.f32"))
    return {"file": f"{kind}.f32", "dtype": "float32", "shape": list(logits.shape), "rms": logits.square().mean().sqrt().item()}


def make(name, out):
    config, feature = MODELS[name]
    dtype = getattr(torch, config.get("torch_dtype") or config["dtype"])
    skeleton = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(**{k: v for k, v in config.items() if k != "quantization_config"})
    )
    shapes = {k: tuple(p.shape) for k, p in skeleton.named_parameters()}
    shapes |= {k: tuple(b.shape) for k, b in skeleton.named_buffers() if k.endswith("e_score_correction_bias")}
    for seed in range(1000):
        generator = torch.Generator().manual_seed(seed)
        weights = random_weights(shapes, generator, dtype, norm_mean=0.0 if "gemma" in config["model_type"] else 1.0)
        stored = weights
        if "quantization_config" in config:
            weights, stored = packed_experts(weights, generator)
        prompt = torch.randint(3, config["vocab_size"], (PROMPT,), generator=generator)
        model = build(config, weights)
        greedy, logits, margin = greedy_run(model, prompt)
        rms = logits.square().mean().sqrt().item()
        varied = len(set(greedy.tolist())) > GREEDY // 2 and config["eos_token_id"] not in greedy
        if margin > LEAST_MARGIN * rms and varied and least_gap(model, torch.cat([prompt, greedy])) > LEAST_GAP:
            break
    else:
        raise RuntimeError(f"{name}: no seed with a margin of {LEAST_MARGIN}")
    difference = nmse(without(config, weights, feature)(torch.cat([prompt, greedy])[None]).logits[0], logits)
    print(f"{name}: seed {seed}, rms {rms:.2f}, least margin {margin:.2f}, NMSE without {feature}: {difference:.3g}")
    if difference < LEAST_DIFFERENCE:
        raise RuntimeError(f"{name}: {feature} hardly matters")

    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    write_json(os.path.join(folder, "config.json"), config)
    write_weights(folder, with_prediction_layers(published(stored, config), config), name in SHARDED)
    about = write_logits(folder, "logits", logits)
    golden = {"prompt": prompt.tolist(), "greedy": greedy.tolist(), "logits": about, "least_margin": margin}
    write_json(os.path.join(folder, "golden.json"), golden)


def make_all(make_one, models, out, *names):
    torch.set_grad_enabled(False)
    for name in names or models:
        make_one(name, out)


if __name__ == "__main__":
    make_all(make, MODELS, *sys.argv[1:])
