"""Makes random LoRA adapters of the golden models with PEFT, and the logits of the models with them, in fp32 on the CPU.

usage: make_lora.py OUT_FOLDER [NAME...]     (needs torch, transformers, peft, safetensors, gguf)

OUT/<name>/ is an adapter as PEFT saves it, and in it
  logits.f32   little-endian fp32; row i holds the logits after token i of the prompt and continuation in ../<model>/golden.json,
               for mixtures of experts only the first ones
OUT/mistral_small_all.gguf and mixtral_experts.gguf are these adapters in the form of llama.cpp's convert_lora_to_gguf.py: queries and
keys in the order of Llama's GGUF files, where the two halves of a head alternate, and the factors of all experts in one tensor.

mixtral_experts has the modules that Mixtral has in transformers 4, one for each matrix of an expert. PEFT joins them when it loads
the adapter. The others with experts are target_parameters of transformers 5.
"""

import json
import pathlib
import sys

import gguf
import torch
from peft import LoraConfig, PeftModel, get_peft_model
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
    "mixtral_experts": (
        "mixtral",
        torch.bfloat16,
        {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "gate", "w1", "w2", "w3"]},
    ),
    "qwen2_moe_experts": (
        "qwen2_moe",
        torch.bfloat16,
        {
            "r": 3,
            "lora_alpha": 6,
            "target_modules": ["v_proj", "shared_expert_gate", *(f"shared_expert.{name}_proj" for name in ("gate", "up", "down"))],
            "target_parameters": ["mlp.gate.weight", "mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
            "rank_pattern": {"experts.gate_up_proj": 4},
        },
    ),
    "gpt_oss_experts": (
        "gpt_oss",
        torch.bfloat16,
        {
            "r": 2,
            "lora_alpha": 3,
            "target_modules": [],
            "target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
        },
    ),
}
MODULES_OF_EXPERTS = ("mixtral_experts",)
LEAST_DIFFERENCE = 1e-2  # NMSE between the logits with and without the adapter
TOKENS_OF_EXPERTS = 30  # with logits


def nmse(x, reference):
    return ((x - reference).square().sum() / reference.square().sum()).item()


def random_factor(key, shape, dtype, generator):
    size = 0.5 if "lora_B" in key else 1.0
    return (size * torch.randn(shape, generator=generator) / shape[1] ** 0.5).to(dtype)


def write_modules(name, folder, config):
    """Writes an adapter of Mixtral with a module for each matrix of an expert, as PEFT did with transformers 4."""
    _, dtype, settings = ADAPTERS[name]
    generator = torch.Generator().manual_seed(sum(name.encode()))
    hidden, ffn, experts = config["hidden_size"], config["intermediate_size"], config["num_local_experts"]
    matrices = {"self_attn.q_proj": (hidden, hidden), "block_sparse_moe.gate": (experts, hidden)}
    for expert in range(experts):
        for matrix, shape in {"w1": (ffn, hidden), "w2": (hidden, ffn), "w3": (ffn, hidden)}.items():
            matrices[f"block_sparse_moe.experts.{expert}.{matrix}"] = shape
    factors = {}
    for layer in range(config["num_hidden_layers"]):
        for module, (rows, columns) in matrices.items():
            for factor, shape in {"lora_A": (settings["r"], columns), "lora_B": (rows, settings["r"])}.items():
                key = f"base_model.model.model.layers.{layer}.{module}.{factor}.weight"
                factors[key] = random_factor(key, shape, dtype, generator)
    folder.mkdir(exist_ok=True)
    LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **settings).save_pretrained(folder)
    save_file(factors, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def make(name, out):
    base, dtype, settings = ADAPTERS[name]
    golden = json.loads((HERE / base / "golden.json").read_text())
    ids = torch.tensor([golden["prompt"] + golden["greedy"]])
    model = AutoModelForCausalLM.from_pretrained(HERE / base, dtype=torch.float32, attn_implementation="eager").eval()
    plain = model(ids).logits[0]
    if name in MODULES_OF_EXPERTS:
        write_modules(name, out / name, json.loads((HERE / base / "config.json").read_text()))
        model = PeftModel.from_pretrained(model, out / name).eval()
    else:
        model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.0, **settings)).eval()
        generator = torch.Generator().manual_seed(sum(name.encode()))
        for key, parameter in model.named_parameters():
            if "lora_" in key:  # PEFT begins with B = 0
                parameter.copy_(random_factor(key, parameter.shape, dtype, generator).float())
    logits = model(ids).logits[0]
    print(f"{name}: NMSE without the adapter {nmse(plain, logits):.3g}")
    if nmse(plain, logits) < LEAST_DIFFERENCE:
        raise RuntimeError("the adapter hardly matters")
    if name not in MODULES_OF_EXPERTS:
        model.peft_config["default"].base_model_name_or_path = base
        model.save_pretrained(out / name)
        (out / name / "README.md").unlink(missing_ok=True)
        factors = out / name / "adapter_model.safetensors"
        save_file({key: value.to(dtype) for key, value in load_file(factors).items()}, factors, metadata={"format": "pt"})
    if name.endswith("experts"):
        logits = logits[:TOKENS_OF_EXPERTS]
    logits.numpy().astype("<f4").tofile(out / name / "logits.f32")


def alternating(rows, heads):
    """The rows of a query or key matrix in the order of Llama's GGUF files: element i of each half of a head at 2 i and 2 i + 1."""
    return rows.reshape(heads, 2, -1, rows.shape[-1]).transpose(1, 2).reshape(rows.shape).contiguous()


def make_gguf(name, out):
    base, _, settings = ADAPTERS[name]
    config = json.loads((HERE / base / "config.json").read_text())
    names = dict(zip(ALL, ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")))
    names |= {"gate": "ffn_gate_inp", "w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}
    writer = gguf.GGUFWriter(out / f"{name}.gguf", "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(settings["lora_alpha"]))
    experts = {}
    for key, value in load_file(out / name / "adapter_model.safetensors").items():
        part = key.split(".")  # base_model.model.model.layers.N.self_attn.q_proj.lora_A.weight
        layer, module, factor = part[4], part[-3], part[-2]
        value = value.float()
        if factor == "lora_B" and module in ("q_proj", "k_proj"):
            value = alternating(value, config["num_attention_heads" if module == "q_proj" else "num_key_value_heads"])
        tensor = f"blk.{layer}.{names[module]}.weight.{factor.lower()}"
        if "experts" in part:
            experts.setdefault(tensor, {})[int(part[-4])] = value
        else:
            writer.add_tensor(tensor, value.numpy())
    for tensor, values in experts.items():
        writer.add_tensor(tensor, torch.stack([values[expert] for expert in range(len(values))]).to(torch.float16).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(out, *names):
    torch.set_grad_enabled(False)
    out = pathlib.Path(out)
    out.mkdir(exist_ok=True)
    for name in names or ADAPTERS:
        make(name, out)
        if name in ("mistral_small_all", "mixtral_experts"):
            make_gguf(name, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
