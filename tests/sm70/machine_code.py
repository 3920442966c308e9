"""Reads the machine code that cuobjdump -sass prints and finds the loops of a kernel.

A turn of a loop is a path from its header back to it that calls no function and enters no inner loop with work, if there is such a
path: calls are the slow cases of divisions, roots and diverged warps, and inner loops are counted by themselves. Inner loops
without work, where warps wait for their threads, count as one turn.
"""
import re
import subprocess
from dataclasses import dataclass, field

INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][A-Z0-9_]*)(\S*)\s*(.*?)\s*;")
ENDS_BLOCK = {"BRA", "BRX", "JMP", "JMX", "EXIT", "RET", "KILL"}


@dataclass
class Instruction:
    address: int
    predicate: str  # "" if it always runs
    name: str  # "LDG"
    suffix: str  # ".E.128.SYS"
    operands: str

    def target(self):
        """The address that a branch names, or None."""
        found = re.search(r"0x([0-9a-f]+)\s*$", self.operands)
        return int(found[1], 16) if found else None

    def always(self):
        """Whether all threads follow a branch. `BRA P1, 0x80` tests a second predicate, `BRA.DIV` whether the warp has diverged."""
        return (self.predicate in ("", "@PT") and not re.match(r"!?U?P\d", self.operands)
                and ".DIV" not in self.suffix and ".CONV" not in self.suffix)


@dataclass
class Block:
    instructions: list
    successors: list = field(default_factory=list)  # numbers of blocks

    def calls(self):
        return any(i.name in ("CALL", "RET", "BRX") for i in self.instructions)


@dataclass
class Loop:
    header: int
    blocks: set


def short_names(names):
    """Demangled names without namespaces and arguments; those of namespace `rolled` keep it."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    result = []
    for name in text.splitlines():
        rolled = "rolled::" in name
        name = re.sub(r"^void ", "", name)
        name = re.sub(r"\(anonymous namespace\)::|\w+::", "", name)
        name = re.sub(r"\([A-Za-z]+\)", "", name)  # types of template arguments
        result.append(("rolled::" if rolled else "") + re.sub(r"\(.*", "", name))
    return result


def read_kernels(lines):
    """Instructions of each kernel by mangled name, from the lines of `cuobjdump -sass`."""
    kernels, current = {}, None
    for line in lines:
        if "Function :" in line:
            current = kernels.setdefault(line.split("Function :")[1].strip(), [])
        elif current is not None and (found := INSTRUCTION.match(line)):
            current.append(Instruction(int(found[1], 16), found[2] or "", found[3], found[4], found[5]))
    return kernels


def split_blocks(instructions):
    """Basic blocks in the order of their addresses, with their successors. Calls return, so they end no block."""
    starts = {instructions[0].address}
    for here, after in zip(instructions, instructions[1:] + [None]):
        if here.name in ENDS_BLOCK:
            if after:
                starts.add(after.address)
            if here.name == "BRA":
                starts.add(here.target())
    blocks, number = [], {}
    for instruction in instructions:
        if instruction.address in starts:
            number[instruction.address] = len(blocks)
            blocks.append(Block([]))
        blocks[-1].instructions.append(instruction)
    for index, block in enumerate(blocks):
        last = block.instructions[-1]
        if last.name == "BRA":
            block.successors.append(number[last.target()])
        if (last.name not in ENDS_BLOCK or not last.always()) and index + 1 < len(blocks):
            block.successors.append(index + 1)
    return blocks


def order_blocks(blocks):
    """Reachable blocks in reverse postorder."""
    seen, order, stack = {0}, [], [(0, iter(blocks[0].successors))]
    while stack:
        block, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(blocks[successor].successors)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def dominators(blocks, order):
    """The immediate dominator of each reachable block (Cooper, Harvey, Kennedy: A simple, fast dominance algorithm, 2001)."""
    position = {block: i for i, block in enumerate(order)}
    predecessors = {block: [] for block in order}
    for block in order:
        for successor in blocks[block].successors:
            predecessors[successor].append(block)
    above = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            found = None
            for other in predecessors[block]:
                if other not in above:
                    continue
                if found is None:
                    found = other
                    continue
                while other != found:
                    while position[other] > position[found]:
                        other = above[other]
                    while position[found] > position[other]:
                        found = above[found]
            if above.get(block) != found:
                above[block] = found
                changed = True
    return above, predecessors


def find_loops(blocks):
    """Natural loops; back edges to the same header make one loop."""
    above, predecessors = dominators(blocks, order_blocks(blocks))
    loops = {}
    for tail in above:
        for header in blocks[tail].successors:
            block = tail
            while block != header and block != 0:
                block = above[block]
            if block != header:
                continue
            body = loops.setdefault(header, {header})
            stack = [tail]
            while stack:
                block = stack.pop()
                if block not in body:
                    body.add(block)
                    stack.extend(predecessors[block])
    return [Loop(header, body) for header, body in sorted(loops.items())]


def count_work(instructions, work):
    return sum(i.name in work for i in instructions)


class Turn:
    """One turn of a loop. Inner loops with work are not entered, except those in `nested`, which take so many turns."""

    def __init__(self, blocks, loop, allowed, work, nested):
        self.blocks, self.loop, self.allowed, self.work, self.nested = blocks, loop, allowed, work, nested
        self.best = {}  # from a block to the end of the turn: (work, -instructions, instructions)

    def best_from(self, block, active):
        """The way with the most work, then the fewest instructions, or None."""
        if block in self.best:
            return self.best[block]
        if block in self.nested and block != self.loop.header:
            own, leaves = self.nested[block]
        else:
            own, leaves = self.blocks[block].instructions, self.blocks[block].successors
        found = None
        for successor in leaves:
            if successor == self.loop.header:
                rest = (0, 0, [])
            elif successor not in self.allowed or successor in active:
                continue
            else:
                rest = self.best_from(successor, active | {successor})
            if rest is not None and (found is None or rest[:2] > found[:2]):
                found = rest
        if found is not None:
            found = (found[0] + count_work(own, self.work), found[1] - len(own), own + found[2])
        self.best[block] = found
        return found

    def instructions(self):
        found = self.loop.header in self.allowed and self.best_from(self.loop.header, frozenset({self.loop.header}))
        return found[2] if found else []


def loop_turn(blocks, loop, loops, work, turns):
    """Instructions of one turn of the loop, and whether they include loops or calls of unknown counts, once each."""
    inner, nested = set(), {}
    for other in loops:
        if not other.blocks < loop.blocks:
            continue
        own = [i for b in other.blocks for i in blocks[b].instructions]
        innermost = not any(o.blocks < other.blocks and any(count_work(blocks[b].instructions, work) for b in o.blocks) for o in loops)
        count = next((n for name, n in turns.items() if any(i.name == name for i in own)), 0) if innermost else 0
        if count:
            path, _ = loop_turn(blocks, other, loops, work, {})
            leaves = [s for b in other.blocks for s in blocks[b].successors if s not in other.blocks]
            nested[other.header] = (path * count, leaves)
        elif count_work(own, work):
            inner |= other.blocks
    calling = {b for b in loop.blocks if blocks[b].calls()}
    for left_out in (inner | calling, inner, calling, set()):
        if path := Turn(blocks, loop, loop.blocks - left_out, work, nested).instructions():
            return path, not (inner | calling) <= left_out
    return [], False


def hot_loop(instructions, work, turns={}):
    """One turn of the loop with the most work (names of instructions), then with the fewest instructions. A loop whose turn has to
    pass inner loops or calls of unknown counts is taken only if there is no other.

    turns: {name: n}: innermost loops with such an instruction take n turns within a turn of the loop around them.
    Returns the instructions, and whether loops or calls are counted once because nothing is known of them.
    """
    blocks = split_blocks(instructions)
    loops = find_loops(blocks)
    found = None
    for loop in loops:
        path, unsure = loop_turn(blocks, loop, loops, work, turns)
        amount = (not unsure, count_work(path, work), -len(path))
        if amount[1] > 0 and (found is None or amount > found[0]):
            found = (amount, path, unsure)
    return (found[1], found[2]) if found else ([], False)
