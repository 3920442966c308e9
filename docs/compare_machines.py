#!/usr/bin/env python3
"""Writes the table of docs/machines.md: what each described machine has and what the plan expects of it.

usage: docs/compare_machines.py build/release/voltpile
Each figure comes from `voltpile topo --json`, `voltpile plan` or the description itself.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

SOURCE = pathlib.Path(__file__).resolve().parents[1]
PAGE = SOURCE / "docs/machines.md"
BEGIN, END = "<!-- compare_machines.py: begin -->\n", "<!-- compare_machines.py: end -->\n"
MACHINES = ("t180", "t181", "gigabyte_g482", "asus_esc4000", "sys4028_x9drg", "sys4028_x10drg", "romed8_7x3090", "rtx4090_x7",
            "desktop_3060_1060", "dgx_1v", "dgx_2", "h200_x8")
JOBS = {
    "8B": ("llama3_8b_q8_0", "llama-3-8b", "q8_0"),
    "70B": ("llama3_70b_q5_k_m", "llama-3-70b", "q5_k_m"),
}


def run(program, *words):
    """Returns the program's stdout; empty if the machine cannot run the job (exit code 3)."""
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd=SOURCE)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout if done.returncode == 0 else ""


def tokens(program, cluster, name, all_sequences):
    """Returns the tokens per second that the plan expects of one sequence or of all, over all replicas; None: no room."""
    job, shape, quantization = JOBS[name]
    plan = run(program, "plan", f"jobs/llm/{job}.toml", "--cluster", cluster, "--set", "engine.tensor=0", "--set",
               "engine.pipeline=0", "--set", f"model.synthetic={shape}", "--set",
               f"model.format={quantization}")
    found = re.search(r"generates about (\S+) tokens/s with one sequence and (\S+) with", plan)
    return float(found[2 if all_sequences else 1]) if found else None


def row(program, name):
    cluster = f"data/clusters/{name}.toml"
    host = json.loads(run(program, "topo", "--cluster", cluster, "--json"))[0]
    file = tomllib.loads((SOURCE / cluster).read_text())
    watts, price = file["host"][0]["watts"], file.get("price_usd")
    pair_steps = float(re.search(r"/ (\S+) pair-steps/s = ",
                                 run(program, "plan", "jobs/threebody/seed_map.toml", "--cluster", cluster, "--explain"))[1])
    one, many, large = (tokens(program, cluster, "8B", False), tokens(program, cluster, "8B", True),
                        tokens(program, cluster, "70B", False))
    total = lambda key: sum(gpu[key] for gpu in host["gpus"])
    text = lambda value, form="{:,.0f}": "no room" if value is None else form.format(value)
    return (name, f"{total('memoryBytes') / 1e9:,.0f}", f"{total('memoryGigabytesPerSecond') / 1e3:.1f}",
            f"{total('fp64FlopsPerSecond') / 1e12:.1f}", f"{host['verdict']['directPairs']} of {host['verdict']['allPairs']}",
            f"{watts:,}", f"{price:,}" if price else "-", text(one), text(many), text(large), f"{pair_steps:.3g}",
            text(many and watts / many, "{:.3f}"), f"{watts / pair_steps * 1e9:.1f}",
            f"{price / pair_steps * 1e9:,.0f}" if price else "-")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    heads = ("machine", "GPU memory, GB", "bandwidth, TB/s", "FP64, TFLOP/s", "direct pairs", "W", "USD", "8B, one sequence, tok/s",
             "8B, all sequences, tok/s", "70B, one sequence, tok/s", "pair-steps/s", "J a token (8B, all)", "nJ a pair-step",
             "USD for 1e9 pair-steps/s")
    table = "| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|\n"
    for name in MACHINES:
        table += "| " + " | ".join(row(program, name)) + " |\n"
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
