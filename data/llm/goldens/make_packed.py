"""Makes small random models with packed weights and their logits, computed by transformers on the dequantized weights.

usage: make_packed.py OUT_FOLDER [MODEL ...]
needs torch, transformers, safetensors, bitsandbytes and compressed-tensors; AWQ_UTILS names awq/utils/packing_utils.py of AutoAWQ 0.2.9

OUT/<model>/ is a Hugging Face folder as make_goldens.py makes it. Its golden.json also has
  "weights": {tensor: FNV-1a hash, 64 bits, of the weights in fp32, row after row}, "format": in which the program has them,
  "in_f16": the tensors that it has in F16 instead.
Integers, zero points and scales are random, so the weights follow from their definition; the other packages unpack the same numbers
here. Weights that the program has in fp16 are rounded to it. Scales have signs and sizes that fp16 holds.
"""

import importlib.util
import json
import os
import sys
from functools import partial

import make_goldens
import numpy as np
import torch
from families import LLAMA
from safetensors.torch import save_file

CONFIG = LLAMA | {"intermediate_size": 96, "num_hidden_layers": 1, "vocab_size": 64, "max_position_embeddings": 64}
# Matrices with rows of whole blocks of 64, some with parts of blocks of 128, and others.
WIDER = CONFIG | {"hidden_size": 192, "intermediate_size": 160}
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def pack(x, bits, order=None):
    """Packs the last axis into int32, the first of each word in the lowest bits."""
    n = 32 // bits
    x = np.asarray(x, np.uint32).reshape(*x.shape[:-1], -1, n)
    order = order or range(n)
    return sum(x[..., e] << np.uint32(bits * i) for i, e in enumerate(order)).astype(np.uint32).view(np.int32)


def integers(rows, columns, bits, group, symmetric, rng):
    """Returns q and, for each row and group, the zero point and the scale."""
    groups = 1 if group < 0 else columns // group
    q = rng.integers(0, 1 << bits, (rows, columns))
    zeros = np.full((rows, groups), 1 << (bits - 1)) if symmetric else rng.integers(1, 1 << bits, (rows, groups))
    size = (1 << bits) / 3.5 * columns**0.5
    scales = (rng.uniform(0.5, 1.5, (rows, groups)) / size).astype(np.float16)
    return q, zeros, scales


def by_definition(q, zeros, scales, group_of):
    return (q - zeros[:, group_of]).astype(np.float32) * scales[:, group_of].astype(np.float32)


def gptq(name, shape, rng, s, one_order=False):
    bits, group, v2 = s["bits"], s["group_size"], s["checkpoint_format"] == "gptq_v2"
    q, zeros, scales = integers(*shape, bits, group, s["sym"], rng)
    group_of = np.zeros(shape[1], int) if group < 0 else np.arange(shape[1]) // group
    if s["desc_act"]:
        # As GPTQ makes it, matrices that multiply the same numbers have one order.
        inputs = "qkv" if name.split(".")[-2][0] in "qkv" else name.split(".")[-2].replace("gate", "up")
        group_of = (np.random.default_rng(list(inputs.encode())) if one_order else rng).permutation(group_of)
    parts = {
        "qweight": pack(q, bits).T,
        "qzeros": pack((zeros - (0 if v2 else 1)).T, bits),
        "scales": scales.T,
        "g_idx": group_of.astype(np.int32),
        "bias": np.zeros(shape[0], np.float16),
    }
    return parts, by_definition(q, zeros, scales, group_of)


def awq_utils():
    """Returns AutoAWQ's module that packs and unpacks, without the rest of it."""
    spec = importlib.util.spec_from_file_location("packing_utils", os.environ["AWQ_UTILS"])
    utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils)
    return utils


def awq(name, shape, rng, s):
    group = s["group_size"]
    q, zeros, scales = integers(*shape, 4, group, False, rng)
    parts = {"qweight": pack(q.T, 4, AWQ_ORDER), "qzeros": pack(zeros.T, 4, AWQ_ORDER), "scales": scales.T}
    weights = by_definition(q, zeros, scales, np.arange(shape[1]) // group)
    tensors = [torch.from_numpy(np.ascontiguousarray(parts[key])) for key in ("qweight", "qzeros", "scales")]
    theirs = awq_utils().dequantize_gemm(tensors[0], tensors[1], tensors[2].float(), 4, group).T.numpy()
    if not np.array_equal(theirs, weights):
        raise RuntimeError("AutoAWQ has other weights")
    return parts, weights


def bits_of(values):
    return torch.from_numpy(np.ascontiguousarray(values))


def packed_integers(name, shape, rng, s):
    from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32

    weights = s["config_groups"]["group_0"]["weights"]
    bits, group = weights["num_bits"], weights["group_size"] or -1
    q, zeros, scales = integers(*shape, bits, group, weights["symmetric"], rng)
    half = 1 << (bits - 1)
    parts = {"weight_packed": pack(q, bits), "weight_scale": bits_of(scales).to(torch.bfloat16), "weight_shape": np.array(shape)}
    if not weights["symmetric"]:
        parts["weight_zero_point"] = pack(zeros.T, bits).T
    theirs = unpack_from_int32(bits_of(parts["weight_packed"]), bits, torch.Size(shape)).numpy()
    if not np.array_equal(theirs + half, q):
        raise RuntimeError("compressed-tensors has other integers")
    scales = parts["weight_scale"].float().numpy()
    return parts, by_definition(q, zeros, scales, np.arange(shape[1]) // (shape[1] if group < 0 else group))


def int8(name, shape, rng, s):
    q, zeros, scales = integers(*shape, 8, -1, True, rng)
    return {"weight": (q - 128).astype(np.int8), "weight_scale": scales}, by_definition(q, zeros, scales, np.zeros(shape[1], int))


def float8(name, shape, rng, s):
    w = bits_of(rng.standard_normal(shape)).float() * 64
    q = w.clamp(-448, 448).to(torch.float8_e4m3fn)
    q.view(torch.uint8)[0, :4] = torch.tensor([0x7E, 0x01, 0x80, 0x87], dtype=torch.uint8)  # the largest, subnormals, -0
    block = s.get("weight_block_size")
    extents = [-(-n // b) for n, b in zip(shape, block)] if block else [shape[0], 1]
    scales = rng.uniform(0.5, 1.5, extents).astype(np.float32) / np.float32(64 * shape[1] ** 0.5)
    rows, columns = (np.arange(n) // b for n, b in zip(shape, block)) if block else (np.arange(shape[0]), np.zeros(shape[1], int))
    parts = {"weight": q, "weight_scale_inv" if block else "weight_scale": scales}
    return parts, q.float().numpy() * scales[rows][:, columns]


def bitsandbytes(name, shape, rng, s, blocksize=64):
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    random = bits_of(rng.standard_normal(shape)).to(torch.float16) / shape[1] ** 0.5
    double, kind = s["bnb_4bit_use_double_quant"], s["bnb_4bit_quant_type"]
    codes, state = quantize_4bit(random, blocksize=blocksize, compress_statistics=double, quant_type=kind)
    parts = {"weight": codes} | {f"weight.{key}": value for key, value in state.as_dict(packed=True).items()}
    # Blocks are counted over all rows. The AVX-512 kernel of bitsandbytes 0.50 begins with a new one in each row, so it gets a single row.
    state.dtype, state.shape = torch.float32, torch.Size([1, random.numel()])
    values = dequantize_4bit(codes, state).numpy().reshape(shape) + np.float32(0)  # FP4: +0 for -0, as in the table
    error = np.square(values - random.float().numpy()).mean() ** 0.5
    if error > 0.15 / shape[1] ** 0.5:  # normal numbers: about 0.09 for NF4, 0.13 for FP4; scales of other blocks: 0.22 and more
        raise RuntimeError(f"{name}: bitsandbytes has other weights than it was given")
    return parts, values


def compressed(form, **weights):
    group = {"targets": ["Linear"], "weights": {"group_size": None, "symmetric": True, "strategy": "channel", "type": "int"} | weights}
    return {"quant_method": "compressed-tensors", "format": form, "ignore": ["lm_head"], "config_groups": {"group_0": group}}


BITSANDBYTES = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_compute_dtype": "float16"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True, "desc_act": False, "checkpoint_format": "gptq"}
NF4 = BITSANDBYTES | {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": False}
# name -> how it is packed, the keys of quantization_config, and the format in which the program has the weights
MODELS = {
    "packed_gptq": (gptq, GPTQ, "Q4_0"),
    "packed_gptq_zeros": (gptq, GPTQ | {"sym": False, "checkpoint_format": "gptq_v2"}, "UINT4"),
    "packed_gptq_order": (gptq, GPTQ | {"desc_act": True, "sym": False}, "F16"),
    "packed_gptq_one_order": (partial(gptq, one_order=True), GPTQ | {"desc_act": True, "sym": False}, "F16"),
    "packed_gptq_8": (gptq, GPTQ | {"bits": 8, "group_size": -1}, "Q8_0"),
    "packed_awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}, "UINT4"),
    "packed_int4": (packed_integers, compressed("pack-quantized", num_bits=4, group_size=32, strategy="group"), "Q4_0"),
    "packed_int4_zeros": (packed_integers, compressed("pack-quantized", num_bits=4, group_size=32, strategy="group", symmetric=False), "UINT4"),
    "packed_int8": (int8, compressed("int-quantized", num_bits=8), "Q8_0"),
    "packed_fp8": (float8, {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}, "F8_E4M3"),
    "packed_fp8_32": (float8, {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [32, 32]}, "F16"),
    "packed_nf4": (bitsandbytes, NF4, "NF4"),
    "packed_nf4_double": (bitsandbytes, NF4 | {"bnb_4bit_use_double_quant": True}, "NF4"),
    "packed_nf4_32": (partial(bitsandbytes, blocksize=32), NF4, "F16"),
    "packed_fp4": (partial(bitsandbytes, blocksize=128), NF4 | {"bnb_4bit_quant_type": "fp4"}, "FP4"),
    "packed_fp8_rows": (float8, compressed("float-quantized", num_bits=8, type="float"), "F8_E4M3"),
}


def fnv(weights):
    value = 0xCBF29CE484222325
    for byte in np.ascontiguousarray(weights, "<f4").tobytes():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def make(name, out):
    method, settings, form = MODELS[name]
    config = WIDER if form in ("NF4", "FP4", "F8_E4M3") else CONFIG
    skeleton = make_goldens.AutoModelForCausalLM.from_config(make_goldens.AutoConfig.for_model(**config))
    shapes = {k: tuple(p.shape) for k, p in skeleton.named_parameters()}
    for seed in range(1000):
        generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
        weights = make_goldens.random_weights(shapes, generator, torch.float16, norm_mean=1.0)
        stored, hashes, in_f16 = {}, {}, []
        for key, shape in shapes.items():
            if not key.endswith("proj.weight"):
                stored[key] = weights[key]
                continue
            parts, values = method(key, shape, rng, settings)
            if config is WIDER and shape[1] % 64 != 0:
                in_f16.append(key)
            values = values.astype(np.float16).astype(np.float32) if form == "F16" or key in in_f16 else values
            weights[key], hashes[key] = torch.from_numpy(np.ascontiguousarray(values)), fnv(values)
            for part, value in parts.items():
                value = value if isinstance(value, torch.Tensor) else bits_of(value)
                stored[key.removesuffix("weight") + part] = value.contiguous()
        prompt = torch.randint(3, config["vocab_size"], (make_goldens.PROMPT,), generator=generator)
        greedy, logits, margin = make_goldens.greedy_run(make_goldens.build(config, weights), prompt)
        rms = logits.square().mean().sqrt().item()
        if margin > make_goldens.LEAST_MARGIN * rms and config["eos_token_id"] not in greedy:
            break
    else:
        raise RuntimeError(f"{name}: no seed with a margin of {make_goldens.LEAST_MARGIN}")
    print(f"{name}: seed {seed}, rms {rms:.2f}, least margin {margin:.2f}")
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    make_goldens.write_json(os.path.join(folder, "config.json"), config | {"quantization_config": settings})
    save_file(stored, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    about = make_goldens.write_logits(folder, "logits", logits)
    golden = {"prompt": prompt.tolist(), "greedy": greedy.tolist(), "logits": about, "least_margin": margin}
    make_goldens.write_json(os.path.join(folder, "golden.json"), golden | {"format": form, "in_f16": in_f16, "weights": hashes})


if __name__ == "__main__":
    make_goldens.PROMPT, make_goldens.GREEDY = 20, 8
    make_goldens.make_all(make, MODELS, *sys.argv[1:])
