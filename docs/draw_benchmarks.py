#!/usr/bin/env python3
"""Draws docs/pictures/benchmarks.svg, the chart of the README, from the tables of docs/benchmarks.md.

Usage: docs/draw_benchmarks.py [OUTPUT.svg]. It needs Python only. A test compares the committed chart with what this
script makes of today's page (tests/end_to_end/test_docs.py).
"""

import html
import math
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent

# Each bar: label, unit, ours and theirs. A figure is (section, first cell of the row, column, which number of the cell);
# column is a header or an index. A section is the beginning of a heading. `less` marks times: the smaller is the faster.
INTEGERS = "Integer tensor cores on H200"
OURS, LLAMA_CPP, VLLM = "Voltpile, Q8_0", "llama.cpp, Q8_0", "vLLM, fp8"
MODELS = "Language models on one, two and four H200"
REDUCE = "Collectives between four H200"


def beside(other, before, labels):
    """The bars of a row of the table of integer tensor cores beside ours. before: what the labels begin with."""
    columns = {"one sequence": "1 sequence", "prompt of 4,096": "of 4,096"}
    bars = []
    for label in labels:
        column = columns.get(label, label.removeprefix("batch of "))
        bars.append((before + label, "tok/s", (INTEGERS, OURS, column, 0), (INTEGERS, other, column, 0)))
    return bars


GROUPS = [
    ("Three-body map in FP64, against straightforward code", [
        ("one H200, CUDA", "pair-steps/s", ("One H200", "pair-steps", 1, 0),
         ("One H200", "straightforward kernel", 1, 0)),
        ("one Xeon thread, AVX-512", "pair-steps/s", ("CPUs", "AVX-512, 1 thread", 1, 0), ("CPUs", "plain loop", 1, 0)),
    ]),
    ("Llama 3 on one H200, against llama.cpp", [
        *beside(LLAMA_CPP, "8B Q8_0, ", ["one sequence", "batch of 8", "batch of 32", "batch of 128", "prompt of 512"]),
        ("70B Q5_K_M, one sequence", "tok/s", (MODELS, "Llama 3 70B", 3, 0), (MODELS, "Llama 3 70B", -1, 1)),
    ]),
    ("Llama 3 8B in Q8_0 on one H200, against vLLM in fp8", beside(
        VLLM, "", ["one sequence", "batch of 32", "batch of 128", "batch of 256", "prompt of 512", "prompt of 4,096"])),
    ("Qwen 2.5 7B fp16, batch of 128, context 1,024, against transformers", [
        ("one H200, generation", "tok/s", ("Beside transformers", "1,024", 3, 0), ("Beside transformers", "1,024", 4, 0)),
        ("one H200, prompts", "tok/s", ("Beside transformers", "1,024", 1, 0), ("Beside transformers", "1,024", 2, 0)),
    ]),
    ("All-reduce between four H200, against NCCL", [
        ("16 KB", "us less", (REDUCE, "16 KB", "one-shot low-latency", 0), (REDUCE, "16 KB", "NCCL", 0)),
        ("256 KB", "us less", (REDUCE, "256 KB", "two-shot low-latency", 0), (REDUCE, "256 KB", "NCCL", 0)),
        ("1 MB", "us less", (REDUCE, "1 MB", "one-shot flagged", 0), (REDUCE, "1 MB", "NCCL", 0)),
    ]),
]
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e\d+)?")


def tables(page):
    """All tables of the page: (heading, header cells, rows of cells)."""
    found, heading, rows = [], "", []
    for line in page.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if rows:
            found.append((heading, rows[0], rows[2:]))
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def figure(page_tables, section, row, column, which):
    """The number of one cell, as it is written. Exits with a message that names what is missing."""
    for heading, header, rows in page_tables:
        if not heading.startswith(section) or (isinstance(column, str) and column not in header):
            continue
        index = header.index(column) if isinstance(column, str) else column
        for cells in rows:
            # A row whose first cell is a number must match as a whole: "8" is not "8 KB", "16 KB" is not "16".
            if cells[0] == row or (not row[0].isdigit() and cells[0].startswith(row)):
                numbers = NUMBER.findall(cells[index])
                if which < len(numbers):
                    return numbers[which]
    sys.exit(f"benchmarks.md: no figure at section '{section}', row '{row}', column '{column}'")


def ratio_text(ratio):
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 1.15 else f"{ratio:.2f}x"


STYLE = """
  .back { fill: #ffffff; stroke: #d0d7de } .title { font-size: 17px; font-weight: 600 } .group { font-weight: 600 }
  text { fill: #1f2328; font: 13px -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif }
  .small { font-size: 11.5px; fill: #59636e } .grid { stroke: #d0d7de } .one { stroke: #59636e; stroke-width: 1.5 }
  .faster { fill: #b5432c } .slower { fill: #7d8590 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .small { fill: #9198a1 }
    .grid { stroke: #3d444d } .one { stroke: #9198a1 } .faster { fill: #f0883e } .slower { fill: #6e7681 }
  }
"""
WIDTH, LEFT, RIGHT, ROW, LOW, HIGH = 860, 215, 600, 22, 0.5, 32
TICKS = (0.5, 1, 2, 4, 8, 16, 32)


def place(ratio):
    """The x coordinate of a ratio on the logarithmic axis."""
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LOW) / math.log(HIGH / LOW)


def grid(top, bottom):
    return [
        f'<line class="{"one" if tick == 1 else "grid"}" x1="{place(tick):.1f}" y1="{top}" x2="{place(tick):.1f}" y2="{bottom}"/>'
        for tick in TICKS
    ]


def draw(page):
    page_tables = tables(page)
    body, y = [], 60
    for title, bars in GROUPS:
        y += 14
        body.append(f'<text class="group" x="20" y="{y + 12}">{html.escape(title)}</text>')
        y += ROW
        body += grid(y, y + ROW * len(bars))
        for label, unit, ours, theirs in bars:
            ours, theirs = figure(page_tables, *ours), figure(page_tables, *theirs)
            ratio = float(ours.replace(",", "")) / float(theirs.replace(",", ""))
            if unit.endswith(" less"):
                unit, ratio = unit[: -len(" less")], 1 / ratio
            left, right = sorted((place(1), place(ratio)))
            kind = "faster" if ratio >= 1 else "slower"
            body += [
                f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>',
                f'<rect class="{kind}" x="{left:.1f}" y="{y + 3}" width="{max(right - left, 1):.1f}" height="{ROW - 7}"/>',
                f'<text x="{right + 6:.1f}" y="{y + 14}" font-weight="600">{ratio_text(ratio)}</text>',
                f'<text class="small" x="{WIDTH - 20}" y="{y + 14}" text-anchor="end">'
                f'{html.escape(f"{ours} against {theirs} {unit}")}</text>',
            ]
            y += ROW
    for tick in TICKS:
        body.append(f'<text class="small" x="{place(tick):.1f}" y="{y + 20}" text-anchor="middle">{tick:g}x</text>')
    body.append(f'<text class="small" x="20" y="{y + 46}">The figures of llama.cpp with the 70B and of transformers were measured on H200 GPUs '
                "of the same class, not in the same run.</text>")
    height = y + 60
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        "<title>Speed of Voltpile relative to the alternatives</title>",
        "<!-- Made by docs/draw_benchmarks.py from docs/benchmarks.md: do not edit. -->",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
        '<text class="title" x="20" y="30">Measured: how many times as fast as the alternative</text>',
        '<text class="small" x="20" y="50">Logarithmic; right of the line Voltpile is faster. Commands, machines and dates: '
        "docs/benchmarks.md</text>",
        *body, "</svg>", "",
    ])


if __name__ == "__main__":
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "pictures/benchmarks.svg"
    output.write_text(draw((DOCS / "benchmarks.md").read_text()))
