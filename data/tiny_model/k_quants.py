"""Quantizes to Q5_K and Q6_K, GGUF's super-blocks of 256 weights; searches for the scale of least squared error.

Q5_K, 176 bytes: fp16 d, fp16 dmin, 12 bytes of eight 6-bit scales and eight 6-bit minima, 32 bytes of fifth bits, 128 bytes of
low nibbles; weight = d * scale * q - dmin * minimum, q in 0..31, sub-blocks of 32.
Q6_K, 210 bytes: 128 bytes of low nibbles, 64 bytes of upper bit pairs, sixteen int8 scales, fp16 d; weight = d * scale * (q - 32),
q in 0..63, sub-blocks of 16.
"""

import numpy as np

SUPER_BLOCK = 256


def as_bytes(halves):
    """Returns the fp16 number of each super-block as two bytes."""
    return halves.astype("<f2").reshape(-1, 1).view(np.uint8)


def inverse(x):
    """Returns 1 / x, and 0 where x is 0."""
    return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0)


def fit_with_minimum(x, top):
    """Returns scale >= 0 and minimum >= 0 of x ~ scale * q - minimum with q in 0..top, along the last axis."""
    low = np.minimum(x.min(-1, keepdims=True), 0)
    span = x.max(-1, keepdims=True) - low
    best = [np.full_like(low, np.inf), span / top, -low]
    for steps in np.linspace(top - 1.5, top + 1.5, 25):
        q = np.clip(np.rint((x - low) * steps * inverse(span)), 0, top)
        mean_q, mean_x = q.mean(-1, keepdims=True), x.mean(-1, keepdims=True)
        variance = (q * q).mean(-1, keepdims=True) - mean_q**2
        scale = ((q * x).mean(-1, keepdims=True) - mean_q * mean_x) * inverse(variance)
        minimum = np.maximum(scale * mean_q - mean_x, 0)
        error = ((scale * q - minimum - x) ** 2).sum(-1, keepdims=True)
        better = (error < best[0]) & (scale > 0)
        best = [np.where(better, new, old) for new, old in zip((error, scale, minimum), best)]
    return best[1], best[2]


def fit_symmetric(x, top):
    """Returns the scale, of either sign, of x ~ scale * q with q in -top..top - 1, along the last axis."""
    extreme = np.take_along_axis(x, np.abs(x).argmax(-1)[..., None], -1)
    best = [np.full_like(extreme, np.inf), np.zeros_like(extreme)]
    for steps in np.linspace(top - 1.5, top + 1.5, 25):
        q = np.clip(np.rint(-x * steps * inverse(extreme)), -top, top - 1)
        scale = (q * x).sum(-1, keepdims=True) * inverse((q * q).sum(-1, keepdims=True))
        error = ((scale * q - x) ** 2).sum(-1, keepdims=True)
        better = error < best[0]
        best = [np.where(better, new, old) for new, old in zip((error, scale), best)]
    return best[1]


def pack_scales(scale, minimum):
    """Packs eight 6-bit scales and minima, [n, 8] each, into 12 bytes: the upper two bits of the last four lie above the first eight bytes."""
    first = scale[:, :4] | (scale[:, 4:] >> 4) << 6
    second = minimum[:, :4] | (minimum[:, 4:] >> 4) << 6
    return np.hstack([first, second, (scale[:, 4:] & 15) | (minimum[:, 4:] & 15) << 4])


def quantize_q5_k(weights):
    x = weights.astype(np.float64).reshape(-1, 8, 32)
    scale, minimum = (f[..., 0] for f in fit_with_minimum(x, 31))
    d, d_min = (np.float16(f.max(-1, keepdims=True) / 63).astype(np.float64) for f in (scale, minimum))
    scale, minimum = (np.clip(np.rint(f * inverse(unit)), 0, 63) for f, unit in ((scale, d), (minimum, d_min)))
    q = np.rint((x + (d_min * minimum)[..., None]) * inverse(d * scale)[..., None])
    q = np.clip(q, 0, 31).astype(np.uint8)
    fifth = np.bitwise_or.reduce((q >> 4) << np.arange(8, dtype=np.uint8)[:, None], axis=1)
    nibbles = (q[:, 0::2] & 15) | (q[:, 1::2] & 15) << 4
    packed = pack_scales(scale.astype(np.uint8), minimum.astype(np.uint8))
    return np.hstack([as_bytes(d), as_bytes(d_min), packed, fifth, nibbles.reshape(-1, 128)])


def quantize_q6_k(weights):
    x = weights.astype(np.float64).reshape(-1, 16, 16)
    scale = fit_symmetric(x, 32)[..., 0]
    extreme = np.take_along_axis(scale, np.abs(scale).argmax(-1)[:, None], -1)
    d = np.float16(extreme / -128).astype(np.float64)
    scale = np.clip(np.rint(scale * inverse(d)), -128, 127)
    q = np.rint(x * inverse(d * scale)[..., None])
    q = (np.clip(q, -32, 31) + 32).astype(np.uint8).reshape(-1, 2, 4, 32)  # half, quarter of the half, weight
    low = (q[:, :, :2] & 15) | (q[:, :, 2:] & 15) << 4
    high = np.bitwise_or.reduce((q >> 4) << np.array([0, 2, 4, 6], np.uint8)[:, None], axis=2)
    return np.hstack([low.reshape(-1, 128), high.reshape(-1, 64), scale.astype(np.int8).view(np.uint8), as_bytes(d)])


def quantize(weights, kind):
    """weights: [rows, columns], columns a multiple of 256; returns uint8 [rows, bytes of a row]."""
    if weights.shape[-1] % SUPER_BLOCK:
        raise ValueError(f"rows of {weights.shape[-1]} weights are not whole super-blocks of {SUPER_BLOCK}")
    blocks = {"Q5_K": quantize_q5_k, "Q6_K": quantize_q6_k}[kind](weights)
    return blocks.reshape(weights.shape[0], -1)
