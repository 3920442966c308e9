"""Makes tiny-f16.gguf, tiny-q8_0.gguf and tiny-q5_k_m.gguf from the tiny model's Hugging Face folder.

usage: make_gguf.py HF_FOLDER OUT_FOLDER          (needs gguf, safetensors, numpy)
"""

import json
import os
import sys

import gguf
import k_quants
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file

LAYER_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_tensors(weights, config):
    """Returns name -> weights in fp32, with rows of Q and K in GGUF's order: pairs that rotate together are adjacent."""
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    yield "token_embd.weight", weights["model.embed_tokens.weight"].astype(np.float32)
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in LAYER_NAMES.items():
            w = weights[f"model.layers.{layer}.{theirs}.weight"].astype(np.float32)
            if ours in heads:
                w = w.reshape(heads[ours], 2, -1, w.shape[1]).swapaxes(1, 2).reshape(w.shape)
            yield f"blk.{layer}.{ours}.weight", w
    yield "output_norm.weight", weights["model.norm.weight"].astype(np.float32)


def q5_k_m(name, layers):
    """Returns the format that the mixture Q5_K_M gives a matrix; the tied embedding counts as the output head."""
    parts = name.split(".")
    if parts[0] != "blk":
        return Type.Q6_K
    layer, eighth = int(parts[1]), layers // 8
    sensitive = layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
    return Type.Q6_K if sensitive and parts[2] in ("attn_v", "ffn_down") else Type.Q5_K


def add_tensor(writer, name, w, kind):
    if w.ndim == 1:
        writer.add_tensor(name, w)
    elif kind in (Type.Q5_K, Type.Q6_K):
        writer.add_tensor(name, k_quants.quantize(w, kind.name), raw_dtype=kind)
    else:
        writer.add_tensor(name, gguf.quantize(w, kind), raw_dtype=kind)


def add_metadata(writer, config, file_type):
    writer.add_name("Voltpile tiny King James")
    writer.add_description("A small model of the King James text, for demonstrations and tests")
    writer.add_license("apache-2.0")
    writer.add_file_type(file_type)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])


def add_tokenizer(writer, folder, config):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    special = {token["content"] for token in tokenizer["added_tokens"] if token["special"]}
    vocabulary = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(vocabulary)
    writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in vocabulary])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(True)


def main(folder, out):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    weights = load_file(os.path.join(folder, "model.safetensors"))
    layers = config["num_hidden_layers"]
    files = (
        ("f16", gguf.LlamaFileType.MOSTLY_F16, lambda name: Type.F16),
        ("q8_0", gguf.LlamaFileType.MOSTLY_Q8_0, lambda name: Type.Q8_0),
        ("q5_k_m", gguf.LlamaFileType.MOSTLY_Q5_K_M, lambda name: q5_k_m(name, layers)),
    )
    for label, file_type, kind in files:
        writer = gguf.GGUFWriter(os.path.join(out, f"tiny-{label}.gguf"), "llama")
        add_metadata(writer, config, file_type)
        add_tokenizer(writer, folder, config)
        for name, w in gguf_tensors(weights, config):
            add_tensor(writer, name, w, kind(name))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
