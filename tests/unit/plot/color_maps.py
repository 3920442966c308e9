"""Prints the colors that tests/unit/plot/colormap_test.cpp expects: matplotlib's, and those of classes from Oklab's definition."""

import math

from matplotlib import colormaps

POSITIONS = (0, 0.25, 0.5, 0.7, 1)


def srgb(x):
    x = min(1, max(0, x))
    return round(255 * (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055))


def oklab(lightness, a, b):
    """https://bottosson.github.io/posts/oklab"""
    l, m, s = ((lightness + p * a + q * b) ** 3 for p, q in ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728),
                                                            (-0.0894841775, -1.2914855480)))
    return (srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s), srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
            srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s))


for name in ("inferno", "viridis", "cividis", "twilight"):
    print(name, [tuple(int(c) for c in colormaps[name](float(at), bytes=True)[:3]) for at in POSITIONS])
golden = math.pi * (3 - math.sqrt(5))
for i in range(6):
    lightness, chroma = ((0.72, 0.145), (0.54, 0.150), (0.86, 0.105))[i % 3]
    angle = 2 * math.pi * 0.07 + golden * i
    print(i, oklab(lightness, chroma * math.cos(angle), chroma * math.sin(angle)))
