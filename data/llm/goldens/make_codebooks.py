"""Writes the grids of GGUF's codebook formats as C++ tables, from the gguf package.

usage: make_codebooks.py ../../../apps/llm/ops/codebooks     (needs gguf, numpy)
"""

import pathlib
import sys

from gguf import quants

TABLES = {
    "grids_1.h": [("iq1", quants.IQ1_S)],
    "grids_2.h": [("iq2_xxs", quants.IQ2_XXS), ("iq2_xs", quants.IQ2_XS), ("iq2_s", quants.IQ2_S)],
    "grids_3.h": [("iq3_xxs", quants.IQ3_XXS), ("iq3_s", quants.IQ3_S)],
}
PER_LINE = 12


def table(name, kind):
    kind.init_grid()
    values = [float(v) for v in kind.grid_map]
    count, width = kind.grid_shape
    bits = 16 // width  # of the index of a value
    rows = kind.grid.reshape(count, width)
    words = [sum(values.index(float(v)) << bits * i for i, v in enumerate(row)) for row in rows]
    lines = [", ".join(f"0x{w:04x}" for w in words[at : at + PER_LINE]) for at in range(0, count, PER_LINE)]
    return f"constexpr std::array<std::uint16_t, {count}> {name}_grid = {{\n    " + ",\n    ".join(lines) + "};\n"


def main(out):
    for file, tables in TABLES.items():
        text = "// Written by data/llm/goldens/make_codebooks.py.\n"
        text += "#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace voltpile::llm {\n\n// clang-format off\n"
        text += "\n".join(table(*each) for each in tables)
        text += "// clang-format on\n\n}  // namespace voltpile::llm\n"
        (pathlib.Path(out) / file).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
