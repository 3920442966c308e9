"""Writes model.gguf into golden folders with the gguf package, as llama.cpp's converter would, for the tests of the GGUF reader.

usage: make_gguf.py FOLDER ...                    (needs numpy, torch, transformers, safetensors, gguf)

Names of tensors and keys come from the package. The converter permutes Q and K for interleaved RoPE in the architectures of PERMUTED,
and adds 1 to the norms of Gemma.

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

ARCHITECTURES = {"mistral": "llama", "gemma3_text": "gemma3"}
ASSUMED = {
    "smollm3": {"no_rope_layers": [1, 1, 1, 0]},
    "gemma2": {"query_pre_attn_scalar": 32},  # the size of a head
    "gemma3": {"sliding_window_pattern": 6},
}
PERMUTED = ("llama", "granite", "smollm3")


def permuted(x, heads):
    """From rotated halves to rotated neighbors, within each head."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(x.shape)


def add_keys(writer, config, architecture):
    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    head_dim = config.get("head_dim") or hidden // heads
    writer.add_name(config["model_type"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(int(head_dim * config.get("partial_rotary_factor", 1)))
    if architecture not in ("phi3", "olmo2"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
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


def make(folder):
    with open(os.path.join(folder, "config.json"), encoding="ascii") as file:
        config = json.load(file)
    architecture = ARCHITECTURES.get(config["model_type"], config["model_type"])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH[architecture.upper()], config["num_hidden_layers"])
    writer = gguf.GGUFWriter(os.path.join(folder, "model.gguf"), architecture)
    add_keys(writer, config, architecture)
    weights = load_file(os.path.join(folder, "model.safetensors"))
    for name, tensor in weights.items():
        exact_in_half = tensor.dtype == torch.float16
        x = tensor.float().numpy()
        if architecture in PERMUTED and name.endswith(("q_proj.weight", "k_proj.weight")):
            x = permuted(x, config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"])
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            x = x + 1
        half = exact_in_half and x.ndim == 2
        # The package does not know Gemma 2 with a head of its own.
        canonical = "output.weight" if name == "lm_head.weight" else names.get_name(name, (".weight", ".bias"))
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
