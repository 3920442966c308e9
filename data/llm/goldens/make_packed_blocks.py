"""Makes random blocks of the formats of packed folders, and the floats that other packages dequantize them to.

usage: make_packed_blocks.py OUT_FOLDER    (needs torch, bitsandbytes; AWQ_UTILS names awq/utils/packing_utils.py of AutoAWQ 0.2.9)

OUT/<format>.blocks are blocks as the program has them, OUT/<format>.f32 their weights as little-endian fp32, which tests compare bit
for bit. All codes are random.
  nf4, fp4  an fp32 scale, then two parts of 32 codes, the first half of a part in low nibbles and the second in high ones; by
            bitsandbytes. Scales take ordinary values, zero and subnormal and the largest numbers of fp32 and fp16.
  uint4     an fp16 scale, a zero point as fp16 and a part of 32 integers; by AutoAWQ. Scales as above, within fp16.
  f8_e4m3   an fp32 scale and 64 floats of 8 bits, none of them NaN; by torch. Scales are ordinary and zero.
"""

import os
import sys

import numpy as np
import torch
from bitsandbytes.functional import QuantState, dequantize_4bit, get_4bit_type
from make_packed import AWQ_ORDER, awq_utils, pack

BLOCKS, WEIGHTS = 48, 64
SPECIAL = np.array([0.0, 2.0**-149, 1023 * 2.0**-149, 2.0**-126, 2.0**-24, 65504.0, 1.0, np.finfo(np.float32).max], np.float32)
SPECIAL_HALVES = np.array([0.0, 2.0**-24, 1023 * 2.0**-24, 2.0**-14, 65504.0, 1.0], np.float16)


def nibbles(codes):
    """Packs parts of 32 codes into 16 bytes each."""
    parts = codes.reshape(BLOCKS, -1, 2, 16)
    return (parts[:, :, 0] | parts[:, :, 1] << 4).reshape(BLOCKS, -1)


def ordinary(random, count):
    return np.abs(random.standard_normal(count)) * 10.0 ** random.uniform(-6, 1, count)


def write(out, name, fields, values):
    """fields: arrays whose rows are those of the blocks."""
    rows = [np.ascontiguousarray(field).reshape(BLOCKS, -1).view(np.uint8) for field in fields]
    np.concatenate(rows, axis=1).tofile(os.path.join(out, name + ".blocks"))
    values.astype("<f4").tofile(os.path.join(out, name + ".f32"))


def levels(out, random):
    for kind in ("nf4", "fp4"):
        codes = random.integers(0, 16, (BLOCKS, WEIGHTS), dtype=np.uint8)
        codes[0], codes[1] = 0, 15
        scales = random.permutation(np.concatenate([SPECIAL, ordinary(random, BLOCKS - len(SPECIAL))])).astype("<f4")
        state = QuantState(torch.from_numpy(scales), torch.Size(codes.shape), get_4bit_type(kind, device="cpu"), WEIGHTS, kind, torch.float32)
        pairs = codes.reshape(-1, 2)
        stored = torch.from_numpy(pairs[:, :1] << 4 | pairs[:, 1:])
        values = dequantize_4bit(stored, state).numpy()
        if kind == "fp4":  # +0 for -0, as in the table
            values[codes == 8] = np.abs(values[codes == 8])
        write(out, kind, (scales, nibbles(codes)), values)


def integers(out, random):
    q = random.integers(0, 16, (BLOCKS, 32), dtype=np.uint8)
    zeros = random.integers(0, 16, (BLOCKS, 1))
    normal = random.choice([-1, 1], BLOCKS - len(SPECIAL_HALVES)) * ordinary(random, BLOCKS - len(SPECIAL_HALVES))
    scales = random.permutation(np.concatenate([SPECIAL_HALVES, normal.astype(np.float16)])).reshape(-1, 1)
    packed = [pack(q.T, 4, AWQ_ORDER), pack(zeros.T, 4, AWQ_ORDER), scales.T.astype(np.float32)]
    tensors = [torch.from_numpy(np.ascontiguousarray(part)) for part in packed]
    values = awq_utils().dequantize_gemm(*tensors, 4, 32).T.numpy()
    write(out, "uint4", (scales.astype("<f2"), zeros.astype("<f2"), nibbles(q)), values)


def floats(out, random):
    codes = random.integers(0, 256, (BLOCKS, WEIGHTS), dtype=np.uint8)
    codes[0] = np.arange(WEIGHTS)  # the subnormal numbers among them
    codes[codes & 127 == 127] = 0x7E
    scales = np.concatenate([ordinary(random, BLOCKS - 1), [0.0]]).astype("<f4").reshape(-1, 1)
    values = torch.from_numpy(codes).view(torch.float8_e4m3fn).float() * torch.from_numpy(scales)
    write(out, "f8_e4m3", (scales, codes), values.numpy())


def main(out):
    random = np.random.default_rng(5)
    levels(out, random)
    integers(out, random)
    floats(out, random)


if __name__ == "__main__":
    main(*sys.argv[1:])
