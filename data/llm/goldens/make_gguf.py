"""Writes model.gguf into golden folders with the gguf package, as llama.cpp's converter would, for the tests of the GGUF reader.

usage: make_gguf.py FOLDER ...                    (needs numpy, torch, transformers, safetensors, gguf)

Names of tensors and keys come from the package. The converter permutes Q and K for interleaved RoPE in the architectures of PERMUTED,
adds 1 to the norms of Gemma, and stacks the experts of a layer.

GGUF files lack some of what config.json says, and readers assume the values of the published models. Where the golden model has
others (ASSUMED), logits_gguf.f32 holds the logits of transformers with the assumed values.
"""

import json
import math
import os
import sys

import gguf
import numpy as np
import torch
from make_goldens import build
from safetensors.torch import load_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

ARCHITECTURES = {"mistral": "llama", "gemma3_text": "gemma3", "glm4_moe": "glm4moe", "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2",
                 "gpt_oss": "gpt-oss"}
MODEL_ARCHS = {"glm4moe": "GLM4_MOE", "gpt-oss": "GPT_OSS"}  # where the package's name is not that of the architecture
ASSUMED = {
    "smollm3": {"no_rope_layers": [1, 1, 1, 0]},
    "gemma2": {"query_pre_attn_scalar": 32},  # the size of a head
    "gemma3": {"sliding_window_pattern": 6},
}
PERMUTED = ("llama", "granite", "smollm3")


def permuted(x, heads):
    """From rotated halves to rotated neighbors, within each head."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(x.shape)


def layers_in_file(config, architecture):
    """With the layers that predict further tokens, which the converter leaves out of DeepSeek's files."""
    further = 0 if architecture == "deepseek2" else config.get("num_nextn_predict_layers", 0)
    return config["num_hidden_layers"] + further


def add_keys(writer, config, architecture):
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim") or hidden // heads
    writer.add_name(config["model_type"])
    writer.add_block_count(layers_in_file(config, architecture))
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    if architecture != "deepseek2":
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_rope_dimension_count(int(head_dim * config.get("partial_rotary_factor", 1)))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    if architecture not in ("phi3", "olmo2", "deepseek2"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if "n_routed_experts" in config:
        add_expert_keys(writer, config)
    if architecture == "granite":
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    if architecture in ("phi3", "gemma2", "gemma3"):
        writer.add_sliding_window(config["sliding_window"])
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    scaling = config.get("rope_scaling")
    if architecture == "gpt-oss":
        writer.add_sliding_window(config["sliding_window"])
        writer.add_expert_count(config["num_local_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    if architecture == "gemma3":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_float32(f"{architecture}.rope.freq_base_swa", config["rope_local_base_freq"])
    if scaling and scaling.get("type") == "longrope":
        original = config["original_max_position_embeddings"]
        factor = config["max_position_embeddings"] / original
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(factor) / math.log(original)))
        for kind in ("long", "short"):
            writer.add_tensor(f"rope_factors_{kind}.weight", np.array(scaling[f"{kind}_factor"], dtype=np.float32))


def add_expert_keys(writer, config):
    writer.add_expert_count(config["n_routed_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_shared_count(config["n_shared_experts"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_leading_dense_block_count(config["first_k_dense_replace"])
    writer.add_expert_weights_norm(config["norm_topk_prob"])
    writer.add_expert_weights_scale(config["routed_scaling_factor"])
    if config["model_type"] != "deepseek_v2":  # as in old files
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if config["n_group"] > 1:
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])


def add_latent_keys(writer, config, split):
    """split: the form of newer files, whose attention has one KV head; otherwise that of older ones."""
    rope = config["qk_rope_head_dim"]
    key, value = config["qk_nope_head_dim"] + rope, config["v_head_dim"]
    writer.add_kv_lora_rank(config["kv_lora_rank"])
    if config["q_lora_rank"]:
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_rope_dimension_count(rope)
    writer.add_head_count_kv(1 if split else config["num_attention_heads"])
    writer.add_key_length(config["kv_lora_rank"] + rope if split else key)
    writer.add_value_length(config["kv_lora_rank"] if split else value)
    if split:
        writer.add_key_length_mla(key)
        writer.add_value_length_mla(value)
    scaling = config["rope_scaling"]
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(scaling["factor"])
    writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    writer.add_rope_scaling_yarn_log_mul(0.1 * scaling["mscale_all_dim"])


def with_split_heads(weights, config):
    """Divides the matrix of keys and values, and transposes that of keys."""
    result = {}
    for name, tensor in weights.items():
        if not name.endswith("kv_b_proj.weight"):
            result[name] = tensor
            continue
        heads = tensor.view(config["num_attention_heads"], -1, config["kv_lora_rank"])
        keys, values = heads.split([config["qk_nope_head_dim"], config["v_head_dim"]], dim=1)
        result[name.replace("kv_b", "k_b")] = keys.transpose(1, 2).contiguous()
        result[name.replace("kv_b", "v_b")] = values.contiguous()
    return result


def with_stacked_experts(weights):
    stacks, result = {}, {}
    for name, tensor in weights.items():
        place, experts, rest = name.partition(".experts.")
        number, _, kind = rest.partition(".")
        if experts:
            stacks.setdefault(f"{place}.experts.{kind}", {})[int(number)] = tensor
        else:
            result[name] = tensor
    return result | {name: torch.stack([of[e] for e in sorted(of)]) for name, of in stacks.items()}


def add_mxfp4(writer, name, blocks, scales):
    """Adds blocks whose bytes have neighbors as GGUF has them: weights 0 to 15 in low nibbles, 16 to 31 in high ones."""
    codes = np.stack([blocks & 15, blocks >> 4], -1).reshape(*blocks.shape[:-1], 32)
    packed = np.concatenate([scales[..., None], codes[..., :16] | codes[..., 16:] << 4], -1)
    packed = np.ascontiguousarray(packed.reshape(*scales.shape[:2], -1))
    values = convert_moe_packed_tensors(torch.from_numpy(blocks), torch.from_numpy(scales), dtype=torch.float32)
    if not np.array_equal(gguf.dequantize(packed, gguf.GGMLQuantizationType.MXFP4), values.transpose(1, 2).numpy()):
        raise RuntimeError(f"{name}: transformers has other weights")
    writer.add_tensor(name, packed, raw_dtype=gguf.GGMLQuantizationType.MXFP4)


def add_gpt_oss_experts(writer, weights):
    """Adds the stacks of experts, with gate and up divided, and removes them from the weights."""
    for name in [name for name in weights if ".mlp.experts." in name]:
        x = weights[name].float().numpy() if "bias" in name else weights[name].numpy()
        layer, kind = name.split(".")[2], name.split(".")[-1]
        parts = {"gate": x[:, ::2], "up": x[:, 1::2]} if "gate_up" in kind else {"down": x}
        for part, of_part in parts.items():
            place = f"blk.{layer}.ffn_{part}_exps"
            if kind.endswith("_bias"):
                writer.add_tensor(f"{place}.bias", np.ascontiguousarray(of_part))
            elif kind.endswith("_blocks"):
                scales = weights[name.replace("_blocks", "_scales")].numpy()
                scales = {"gate": scales[:, ::2], "up": scales[:, 1::2], "down": scales}[part]
                add_mxfp4(writer, f"{place}.weight", np.ascontiguousarray(of_part), np.ascontiguousarray(scales))
    return {name: tensor for name, tensor in weights.items() if ".mlp.experts." not in name}


def make(folder):
    with open(os.path.join(folder, "config.json"), encoding="ascii") as file:
        config = json.load(file)
    architecture = ARCHITECTURES.get(config["model_type"], config["model_type"])
    layers = layers_in_file(config, architecture)
    arch = gguf.MODEL_ARCH[MODEL_ARCHS.get(architecture, architecture.upper())]
    names = gguf.get_tensor_name_map(arch, layers)
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), architecture)
    add_keys(writer, config, architecture)
    split = config["model_type"] == "deepseek_v2"
    if architecture == "deepseek2":
        add_latent_keys(writer, config, split)
    weights = load_file(os.path.join(folder, "model.safetensors"))
    if architecture == "gpt-oss":
        weights = add_gpt_oss_experts(writer, weights)
    stored = with_stacked_experts(with_split_heads(weights, config) if split else weights)
    if layers > config["num_hidden_layers"]:
        writer.add_nextn_predict_layers(layers - config["num_hidden_layers"])
    for name, tensor in stored.items():
        if name.startswith("model.layers.") and int(name.split(".")[2]) >= layers:
            continue
        exact_in_half = tensor.dtype == torch.float16
        x = tensor.float().numpy()
        if architecture in PERMUTED and name.endswith(("q_proj.weight", "k_proj.weight")):
            x = permuted(x, config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"])
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            x = x + 1
        half = exact_in_half and x.ndim >= 2 and not name.endswith("mlp.gate.weight")
        name = name.replace("e_score_correction_bias", "e_score_correction.bias")
        # The package does not know Gemma 2 with a head of its own.
        canonical = "output.weight" if name == "lm_head.weight" else names.get_name(name, (".weight", ".bias"))
        if architecture == "gpt-oss":  # the package knows these only without the ending
            canonical = f"blk.{name.split('.')[2]}.attn_sinks.weight" if name.endswith(".sinks") else canonical
        writer.add_tensor(canonical, x.astype(np.float16 if half else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    if architecture in ASSUMED:
        with open(os.path.join(folder, "golden.json"), encoding="ascii") as file:
            golden = json.load(file)
        model = build(config | ASSUMED[architecture], weights)
        logits = model(torch.tensor([golden["prompt"] + golden["greedy"]])).logits[0]
        logits.numpy().astype("<f4").tofile(os.path.join(folder, "logits_gguf.f32"))


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    for path in sys.argv[1:]:
        make(path)
