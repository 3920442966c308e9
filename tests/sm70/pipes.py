"""What an instruction occupies on a V100 (sm_70), and for how long.

A multiprocessor has four schedulers. Each issues one instruction of a warp (32 threads) a cycle and has lanes of its own: 16 for
FP32, 16 for integers, 8 for FP64, 4 for special functions and conversions, two tensor cores (NVIDIA's whitepaper of Volta,
WP-08608-001; CUDA C++ programming guide, throughput of arithmetic instructions of compute capability 7.0). Memory instructions
share what the multiprocessor moves: 128 bytes a cycle, so 32 bytes a cycle and scheduler. Nsight Compute's documentation says
which pipe an instruction takes.
"""
MULTIPROCESSORS = 80
SCHEDULERS = 4
LANES = 32
PIPES = ("issue", "FP64", "FMA", "ALU", "XU", "tensor", "LSU", "branch")

# Cycles that a warp instruction occupies its scheduler's share of the pipe.
CYCLES = {"FP64": 4, "FMA": 2, "ALU": 2, "XU": 8, "tensor": 2, "branch": 2, "other": 0}

NAMES = {
    "FP64": "DADD DFMA DMUL DSETP DMNMX",
    # Paired halves have as many lanes as FP32 and count there, integer multiplications too.
    "FMA": "FADD FFMA FMUL FSWZADD IMAD IMUL IDP HADD2 HMUL2 HFMA2 HSET2 HSETP2",
    "ALU": "IADD3 IADD ISETP LOP3 LOP LEA SHF SHL SHR PRMT SEL FSEL FSETP FSET FMNMX IMNMX MOV MOV32I PLOP3 P2R R2P IABS BMSK SGXT VOTE "
           "FCHK ISCADD VABSDIFF VABSDIFF4 CS2R",
    "XU": "MUFU F2F F2I I2F I2I FRND POPC FLO BREV",
    "tensor": "HMMA",
    "LSU": "LD LDG LDS LDL ST STG STS STL ATOM ATOMG ATOMS RED SHFL MATCH",
    "branch": "BRA BRX JMP JMX CALL RET EXIT BSSY BSYNC BREAK BMOV WARPSYNC YIELD KILL",
    # Issue slots only: constants, special registers, barriers, fences.
    "other": "NOP LDC S2R B2R BAR DEPBAR MEMBAR ERRBAR CCTL NANOSLEEP PREEXIT PMTRIG",
}
PIPE_OF = {name: pipe for pipe, names in NAMES.items() for name in names.split()}


def pipe_of(instruction):
    """The name of the pipe, or None if the instruction is not known."""
    if instruction.name == "HMMA" and not instruction.suffix.startswith(".884"):
        return None
    return PIPE_OF.get(instruction.name)


def width(instruction):
    """Bytes per thread of an access to memory; 0 for other instructions."""
    if PIPE_OF.get(instruction.name) != "LSU" or instruction.name in ("SHFL", "MATCH"):
        return 0
    parts = instruction.suffix.split(".")
    if "128" in parts:
        return 16
    if "64" in parts:
        return 8
    if "U8" in parts or "S8" in parts:
        return 1
    return 2 if "U16" in parts or "S16" in parts else 4


def cycles_of(instruction, distinct=1.0):
    """Cycles of a scheduler's share of the pipe. distinct: the share of the threads that read different words of shared memory; the code
    does not show it, nor conflicts of banks."""
    pipe = pipe_of(instruction)
    if pipe == "LSU":
        return max(4, width(instruction) * (distinct if instruction.name == "LDS" else 1))
    if instruction.name == "IMAD" and instruction.suffix.startswith(".WIDE"):
        return 4  # writes two registers
    return CYCLES[pipe]


def never_runs(instruction):
    """`@!PT` only takes an issue slot."""
    return instruction.predicate == "@!PT"


def count(instructions, distinct=1.0):
    """Cycles by pipe, instructions by pipe (memory by name and bits), and the unknown instructions by name. distinct: of cycles_of()."""
    cycles = dict.fromkeys(PIPES, 0)
    kinds, unknown = {}, {}
    for instruction in instructions:
        cycles["issue"] += 1
        pipe = pipe_of(instruction)
        if pipe is None:
            name = instruction.name + instruction.suffix
            unknown[name] = unknown.get(name, 0) + 1
            continue
        if never_runs(instruction):
            continue
        kind = pipe
        if bytes_ := width(instruction):
            kind = f"{instruction.name}.{8 * bytes_}"
        kinds[kind] = kinds.get(kind, 0) + 1
        if pipe != "other":
            cycles[pipe] += cycles_of(instruction, distinct)
    return cycles, kinds, unknown
