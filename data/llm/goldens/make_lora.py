"""Makes random LoRA adapters of the golden models with PEFT, and the logits of the models with them, in fp32 on the CPU.

usage: make_lora.py OUT_FOLDER     (needs torch, transformers, peft, safetensors, gguf)

OUT/<name>/ is an adapter as PEFT saves it, and in it
  logits.f32   little-endian fp32; row i holds the logits after token i of the prompt and continuation in ../<model>/golden.json
OUT/mistral_small_all.gguf is that adapter in the form of llama.cpp's convert_lora_to_gguf.py: queries and keys in the order of
Llama's GGUF files, where the two halves of a head alternate.
"""

import json
import pathlib
import sys

import gguf
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).parent
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# name: model, type of the stored factors, settings
ADAPTERS = {
    "mistral_small_all": ("mistral_small", torch.float32, {"r": 5, "lora_alpha": 10, "target_modules": ALL}),
    "mistral_small_attention": (
        "mistral_small",
        torch.bfloat16,
        {"r": 16, "lora_alpha": 4, "use_rslora": True, "target_modules": ["q_proj", "v_proj"]},
    ),
    "phi3_fused": (
        "phi3",
        torch.float16,
        {"r": 4, "lora_alpha": 8, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]},
    ),
    "qwen2_5_patterns": (
        "qwen2_5",
        torch.float32,
        {
            "r": 3,
            "lora_alpha": 6,
            "target_modules": ["k_proj", "o_proj", "down_proj"],
            "rank_pattern": {"layers.1.self_attn.k_proj": 9},
            "alpha_pattern": {"down_proj": 12},
        },
    ),
}
LEAST_DIFFERENCE = 1e-2  # NMSE between the logits with and without the adapter


def nmse(x, reference):
    return ((x - reference).square().sum() / reference.square().sum()).item()


def make(name, out):
    base, dtype, settings = ADAPTERS[name]
    golden = json.loads((HERE / base / "golden.json").read_text())
    ids = torch.tensor([golden["prompt"] + golden["greedy"]])
    model = AutoModelForCausalLM.from_pretrained(HERE / base, dtype=torch.float32, attn_implementation="eager").eval()
    plain = model(ids).logits[0]
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **settings)).eval()
    generator = torch.Generator().manual_seed(sum(name.encode()))
    for key, parameter in model.named_parameters():
        if "lora_" in key:  # PEFT begins with B = 0
            size = 0.5 if "lora_B" in key else 1.0
            values = size * torch.randn(parameter.shape, generator=generator) / parameter.shape[1] ** 0.5
            parameter.copy_(values.to(dtype).float())
    logits = model(ids).logits[0]
    print(f"{name}: NMSE without the adapter {nmse(plain, logits):.3g}")
    if nmse(plain, logits) < LEAST_DIFFERENCE:
        raise RuntimeError("the adapter hardly matters")
    model.peft_config["default"].base_model_name_or_path = base
    model.save_pretrained(out / name)
    (out / name / "README.md").unlink(missing_ok=True)
    factors = out / name / "adapter_model.safetensors"
    save_file({key: value.to(dtype) for key, value in load_file(factors).items()}, factors, metadata={"format": "pt"})
    logits.numpy().astype("<f4").tofile(out / name / "logits.f32")


def alternating(rows, heads):
    """The rows of a query or key matrix in the order of Llama's GGUF files: element i of each half of a head at 2 i and 2 i + 1."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).transpose(1, 2).reshape(rows.shape).contiguous()


def make_gguf(name, out):
    base, _, settings = ADAPTERS[name]
    config = json.loads((HERE / base / "config.json").read_text())
    names = dict(zip(ALL, ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")))
    writer = gguf.GGUFWriter(out / f"{name}.gguf", "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(settings["lora_alpha"]))
    for key, value in load_file(out / name / "adapter_model.safetensors").items():
        part = key.split(".")  # base_model.model.model.layers.N.self_attn.q_proj.lora_A.weight
        layer, module, factor = part[4], part[6], part[7]
        if factor == "lora_B" and module in ("q_proj", "k_proj"):
            value = alternating(value, config["num_attention_heads" if module == "q_proj" else "num_key_value_heads"])
        writer.add_tensor(f"blk.{layer}.{names[module]}.weight.{factor.lower()}", value.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(out):
    torch.set_grad_enabled(False)
    out = pathlib.Path(out)
    out.mkdir(exist_ok=True)
    for name in ADAPTERS:
        make(name, out)
    make_gguf("mistral_small_all", out)


if __name__ == "__main__":
    main(*sys.argv[1:])
