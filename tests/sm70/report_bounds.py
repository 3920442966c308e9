#!/usr/bin/env python3
"""Prints what bounds the hot kernels of a program on a V100, from its machine code: the cycles that one turn of each kernel's
hot loop occupies each pipe of a scheduler (pipes.py), the busiest pipe, and the rate at which it would be always busy. Nothing is
measured, and no kernel can be faster; latency, barriers and conflicts of banks make kernels slower. Fails if a kernel or a loop
is missing or an instruction is unknown.

usage: report_bounds.py CUOBJDUMP PROGRAM...
  CUOBJDUMP  that of the CUDA version that compiled the program, with nvdisasm beside it
  PROGRAM    a program or object files with code for sm_70
"""
import os
import subprocess
import sys

import machine_code
import pipes
from hot_kernels import HOT_KERNELS

CLOCKS = (1.38, 1.53)  # GHz: sustained under load, highest
ENOUGH = 0.8  # of what memory allows


def bound(kernel, instructions):
    """(cycles by pipe, those of LSU if all threads read different words, the busiest pipe, rates at CLOCKS, unknown instructions, whether loops
    of unknown counts are in it), or None."""
    turn, unsure = machine_code.hot_loop(instructions, kernel.work, kernel.turns)
    if not turn:
        return None
    cycles, _, unknown = pipes.count(turn, kernel.distinct)
    whole_lsu = pipes.count(turn)[0]["LSU"]
    busiest = max(cycles, key=cycles.get)
    amount = kernel.amount * (1 if kernel.per == "turn" else sum(i.name == kernel.per for i in turn))
    rates = [amount * kernel.multiprocessors * pipes.SCHEDULERS * clock / cycles[busiest] for clock in CLOCKS]
    return cycles, whole_lsu, busiest, rates, unknown, unsure


def disassemble(cuobjdump, program):
    environment = dict(os.environ, PATH=os.path.dirname(os.path.abspath(cuobjdump)) + ":" + os.environ["PATH"])
    process = subprocess.Popen([cuobjdump, "-sass", program], stdout=subprocess.PIPE, text=True, env=environment)
    kernels = machine_code.read_kernels(process.stdout)
    if process.wait() != 0:
        sys.exit(f"report_bounds.py: {cuobjdump} -sass {program} failed")
    return dict(zip(machine_code.short_names(kernels), kernels.values()))


def report(by_name, out):
    """Prints the table; returns what is wrong."""
    wrong = []
    heading = "".join(f"{pipe:>8}" for pipe in pipes.PIPES)
    print(f"{'cycles per turn and scheduler':36}{heading}  {'bound by':9}{'at 1.38':>9}{'at 1.53 GHz':>12}", file=out)
    below = []
    for kernel in HOT_KERNELS:
        if kernel.name not in by_name:
            wrong.append(f"no kernel {kernel.name}")
            continue
        found = bound(kernel, by_name[kernel.name])
        if found is None:
            wrong.append(f"no loop with {' or '.join(kernel.work)} in {kernel.name}")
            continue
        cycles, whole_lsu, busiest, rates, unknown, unsure = found
        wrong += [f"unknown instruction {name} ({n} times) in {kernel.name}" for name, n in unknown.items()]
        line = f"{kernel.label:36}" + "".join(f"{cycles[pipe]:8.0f}" for pipe in pipes.PIPES)
        line += f"  {busiest:9}{rates[0]:9.4g}{rates[1]:12.4g} {kernel.unit}"
        if whole_lsu > cycles["LSU"]:
            line += f", LSU at worst {whole_lsu:.0f}"
        if kernel.limit:
            line += f", {rates[0] / kernel.limit:.2f} of {kernel.limit:g}"
            if rates[0] < ENOUGH * kernel.limit:
                below.append(f"{kernel.label} ({busiest})")
        print(line + (" (some loops counted once)" if unsure else ""), file=out)
    print(f"{len(HOT_KERNELS)} hot kernels; below {ENOUGH:.0%} of what memory or NVLink allows: {'; '.join(below) or 'none'}", file=out)
    return wrong


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.setrecursionlimit(100_000)  # paths through kernels of many blocks
    by_name = {}
    for program in sys.argv[2:]:
        by_name |= disassemble(sys.argv[1], program)
    wrong = report(by_name, sys.stdout)
    for line in wrong:
        print(f"report_bounds.py: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
