"""Makes random blocks of each quantized GGUF type and the floats that the gguf package dequantizes them to.

usage: make_dequant.py OUT_FOLDER                 (needs gguf, numpy)

OUT/<type>.blocks are raw blocks, OUT/<type>.f32 their weights as little-endian fp32, which tests compare bit for bit (no fused
multiply-add). The fp16 scales take ordinary values of both signs, zeros of both signs, fp16's least and largest subnormals, its
least normal and its largest numbers; all other bytes are random.
"""

import json
import os
import pathlib
import re
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

BLOCKS = 48
SPECIAL = np.array([0.0, -0.0, 2.0**-24, -(2.0**-24), 1023 * 2.0**-24, 2.0**-14, 65504.0, -65504.0, 1.0], np.float16)
FORMATS = pathlib.Path(__file__).resolve().parents[3] / "apps/llm/model/weight_format_list.h"


def quantized_types():
    """The formats that have blocks, in the order of the list of formats."""
    entries = re.findall(r'WeightFormatInfo\{\w+, "(\w+)", \d+, (\d+),', FORMATS.read_text(encoding="ascii"))
    return [Type[name] for name, weights in entries if weights != "1"]


def places_of_scales(kind):
    """The bytes at which the fp16 scales of a block lie: a NaN there makes weights of a block of zeros NaN."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    blocks = np.zeros((size - 1, size), np.uint8)
    for i in range(size - 1):
        blocks[i, i : i + 2] = np.array([np.nan], "<f2").view(np.uint8)
    with np.errstate(all="ignore"):
        return np.flatnonzero(np.isnan(gguf.dequantize(blocks, kind)).any(axis=1)).tolist()


def scales(random):
    ordinary = (random.standard_normal(BLOCKS - 2 * len(SPECIAL)) * 10.0 ** random.uniform(-6, 1, BLOCKS - 2 * len(SPECIAL)))
    return np.concatenate([SPECIAL, random.permutation(SPECIAL), ordinary.astype(np.float16)])


def main(out):
    os.makedirs(out, exist_ok=True)
    random = np.random.default_rng(5)
    index = {}
    for kind in quantized_types():
        weights, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        # Quants and scales at the ends of their range, in three ordinary blocks.
        blocks[-1], blocks[-2], blocks[-3] = 0xFF, 0x00, 0x80
        for offset in places_of_scales(kind):
            blocks[:, offset : offset + 2] = scales(random).astype("<f2").reshape(-1, 1).view(np.uint8)
        if kind == Type.MXFP4:  # exponents: zero, subnormal, normal, up to where the largest weight is finite
            blocks[:, 0] = np.concatenate([[0, 1, 2, 3, 251], random.integers(0, 252, BLOCKS - 5)])
        if kind == Type.IQ1_M:  # the high nibbles of four words have the scale
            words, halves = blocks[:, 48:].view("<u2"), scales(random).astype("<f2").view("<u2")
            for i in range(4):
                words[:, i] = words[:, i] & 0x0FFF | (halves >> 4 * i & 15) << 12
            blocks[:, 48:] = words.view(np.uint8)
        values = gguf.dequantize(blocks, kind)
        if not np.isfinite(values).all() or values.size != BLOCKS * weights:
            raise RuntimeError(f"{kind.name}: blocks that no file holds")
        name = kind.name.lower()
        blocks.tofile(os.path.join(out, name + ".blocks"))
        values.astype("<f4").tofile(os.path.join(out, name + ".f32"))
        index[kind.name] = {"type": int(kind), "blocks": BLOCKS, "block_bytes": size, "block_weights": weights}
    with open(os.path.join(out, "index.json"), "w", encoding="ascii") as file:
        json.dump(index, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
