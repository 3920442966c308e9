"""Makes random blocks of NF4 and FP4 and the floats that bitsandbytes dequantizes them to.

usage: make_levels.py OUT_FOLDER                  (needs torch, bitsandbytes)

OUT/<format>.blocks are blocks as the program has them: an fp32 scale, then two parts of 32 codes, the first half of a part in low
nibbles and the second in high ones. OUT/<format>.f32 are their weights as little-endian fp32, which tests compare bit for bit. The
scales take ordinary values, zero and subnormal and the largest numbers of fp32 and fp16; all codes are random.
"""

import os
import sys

import numpy as np
import torch
from bitsandbytes.functional import QuantState, dequantize_4bit, get_4bit_type

BLOCKS, WEIGHTS = 48, 64
SPECIAL = np.array([0.0, 2.0**-149, 1023 * 2.0**-149, 2.0**-126, 2.0**-24, 65504.0, 1.0, np.finfo(np.float32).max], np.float32)


def nibbles(codes):
    """Packs parts of 32 codes into 16 bytes each."""
    parts = codes.reshape(BLOCKS, 2, 2, 16)
    return (parts[:, :, 0] | parts[:, :, 1] << 4).reshape(BLOCKS, 32)


def main(out):
    random = np.random.default_rng(5)
    for kind in ("nf4", "fp4"):
        codes = random.integers(0, 16, (BLOCKS, WEIGHTS), dtype=np.uint8)
        codes[0], codes[1] = 0, 15
        ordinary = np.abs(random.standard_normal(BLOCKS - len(SPECIAL))) * 10.0 ** random.uniform(-6, 1, BLOCKS - len(SPECIAL))
        scales = random.permutation(np.concatenate([SPECIAL, ordinary])).astype("<f4")
        state = QuantState(torch.from_numpy(scales), torch.Size(codes.shape), get_4bit_type(kind, device="cpu"), WEIGHTS, kind, torch.float32)
        pairs = codes.reshape(-1, 2)
        stored = torch.from_numpy(pairs[:, :1] << 4 | pairs[:, 1:])
        values = dequantize_4bit(stored, state).numpy()
        if kind == "fp4":  # +0 for -0, as in the table
            values[codes == 8] = np.abs(values[codes == 8])
        blocks = np.concatenate([scales.reshape(-1, 1).view(np.uint8), nibbles(codes)], axis=1)
        blocks.tofile(os.path.join(out, kind + ".blocks"))
        values.astype("<f4").tofile(os.path.join(out, kind + ".f32"))


if __name__ == "__main__":
    main(*sys.argv[1:])
