"""The kernels that decide how fast jobs run, and how much work their loops do."""
from dataclasses import dataclass, field

MEMORY = 800  # GB/s: what V100 reaches of its 900 (790 to 830 published)


@dataclass
class HotKernel:
    name: str  # as report_kernels.sh prints it
    label: str
    work: tuple  # names of instructions: the hot loop is the one with the most of them
    per: str  # the instruction that does `amount` of work, or "turn"
    amount: float  # of a warp
    unit: str  # of the rate: 1e9 of it a second
    limit: float = 0  # rate that memory or NVLink allows, in `unit`; 0: none
    turns: dict = field(default_factory=dict)  # of inner loops (machine_code.hot_loop)
    distinct: float = 1.0  # at best (pipes.cycles_of)
    multiprocessors: int = 80


FORMATS = {  # number in WeightFormat, name, bits per weight in memory
    1: ("F16", 16), 3: ("Q8_0", 8.5), 4: ("Q4_0", 4.5), 5: ("Q4_K", 4.5), 6: ("Q5_K", 5.5), 7: ("Q6_K", 6.5625), 10: ("Q5_1", 6),
    11: ("IQ4_NL", 4.5), 12: ("Q2_K", 2.625), 13: ("Q3_K", 3.5625), 14: ("IQ4_XS", 4.3125), 15: ("MXFP4", 4.25), 16: ("IQ1_S", 1.8125),
    20: ("IQ2_S", 2.5625), 22: ("IQ3_S", 3.5625), 23: ("NF4", 4.5), 24: ("FP4", 4.5), 25: ("UINT4", 5),
    26: ("F8_E4M3", 8.5)}
OF_HALVES = ("F16", "F8_E4M3")  # whose matrix-vector products take x in fp16
FP64 = ("DADD", "DMUL", "DFMA")


def sweeps():
    """A turn is a step of 32 pairs of systems. The kernels: equal constants for all points, without the closest approach."""
    for method, name, threads in (("euler", "Euler", 512), ("leapfrog", "Leapfrog", 512), ("yoshida4", "Yoshida4", 512),
                                  ("srkn6", "SymplecticNystrom6", 512), ("rk4", "RungeKutta4", 256)):
        yield HotKernel(f"sweep_kernel<FixedStepLane<{name}, double, true, false>, {threads}>", f"three-body {method}, FP64", FP64,
                        "turn", 32, "G pair-steps/s")
    yield HotKernel("sweep_kernel<FixedStepLane<Euler, float, true, false>, 640>", "three-body euler, FP32", ("FADD", "FMUL", "FFMA"),
                    "turn", 32, "G pair-steps/s")
    for method, name in (("rkn8", "RungeKuttaNystrom8"), ("gbs10", "GraggBulirschStoer10")):
        yield HotKernel(f"sweep_kernel<AdaptiveLane<{name}, double, true, false>, 256>", f"three-body {method}, FP64", FP64, "turn", 32,
                        "G pair-steps/s")


def matrix_vector():
    """Weights per instruction: IDP multiplies four quants by the high or the low bytes of four elements of x, FFMA one weight. NF4 and FP4
    have fractions besides, which are multiplied by the high bytes."""
    for number, (name, bits) in FORMATS.items():
        fused = "false" if name in OF_HALVES else "true"
        for rows in (1, 4):
            per, weights = ("FFMA", 1) if name in OF_HALVES else ("IDP", 4 / 3 if name in ("NF4", "FP4") else 2)
            kernel = f"matvec<{number}, {rows}, false, {fused if rows == 1 else 'false'}>"
            yield HotKernel(kernel, f"matrix-vector {name}, {rows} row{'s' * (rows > 1)}", (per, "LDG"), per,
                            32 * weights / rows * bits / 8, "GB/s of weights", MEMORY)


def tiles():
    """A warp multiplies 32 rows and 128 columns of weights by `rows` rows of x with 16 HMMA per row. Its four quad pairs read the same
    eight rows of x."""
    for number, (name, bits) in FORMATS.items():
        for rows in (16, 32, 64):
            yield HotKernel(f"tile_product<{number}, {rows}, false>", f"tile {name}, {rows} rows", ("HMMA",), "HMMA",
                            32 * 128 / (16 * rows) * bits / 8, "GB/s of weights", MEMORY, distinct=0.25)


def experts():
    """The same of a warp's tile with experts of at most 8 rows each."""
    for number in (3, 5, 7, 15):
        name, bits = FORMATS[number]
        yield HotKernel(f"expert_rows<{number}, false, 32>", f"experts {name}, 8 rows", ("HMMA",), "HMMA", 32 * 128 / (16 * 8) * bits / 8,
                        "GB/s of weights", MEMORY, distinct=0.25)


def attention():
    """Each half of a 16 x 16 matrix that a warp loads for its tensor cores goes to two threads (wmma on sm_70)."""
    for element, name, head in ((0, "fp16", 256), (1, "int8", 128 + 4), (2, "int4", 64 + 16)):  # bytes of a head of 128
        # Softmax: 8 rows a warp, 4 a turn. Weights times values: 128 tokens, 16 a turn.
        yield HotKernel(f"prompt_attention<128, {element}, false>", f"prefill attention, {name} cache", ("HMMA", "MUFU"), "HMMA", 512e-3,
                        "TFLOP/s", turns={"HMMA": 8, "MUFU": 2}, distinct=0.5)
        # In a turn, a block of 8 warps reads keys and values of 128 tokens of one KV head.
        yield HotKernel(f"decode_splits<128, {element}, false>", f"decode attention, {name} cache", ("HMMA", "LDG", "MUFU"), "turn",
                        2 * 128 * head / 8, "GB/s of cache", MEMORY, turns={"HMMA": 2}, distinct=0.5)
    yield HotKernel("decode_splits<128, 0, true>", "decode attention with RoPE, fp16 cache", ("HMMA", "LDG", "MUFU"), "turn", 2 * 128 * 256 / 8,
                    "GB/s of cache", MEMORY, turns={"HMMA": 2}, distinct=0.5)
    # A turn is a tile of 32 latent vectors of 576 numbers.
    yield HotKernel("attend_latent<1, 1>", "latent attention, 16 rows", ("HMMA", "MUFU"), "turn", 32 * 2 * 576 / 8, "GB/s of cache", MEMORY,
                    distinct=0.5)
    yield HotKernel("attend_latent<2, 1>", "latent attention, 32 rows", ("HMMA", "MUFU"), "HMMA", 512e-3, "TFLOP/s", distinct=0.5)


def collectives():
    """NVLink: two links of 25 GB/s between any two GPUs, so 50 GB/s each way. The wire of low latency sends a flag with every word, the
    one-shot algorithm the whole message to everybody; the two-shot algorithm sends a quarter twice."""
    yield HotKernel("peer_collective<OneShotKernel, LowLatencyWire, 4>", "all-reduce, one shot, low latency", ("LDG", "STG"), "STG", 32 * 8,
                    "GB/s of message", 25, multiprocessors=64)
    yield HotKernel("peer_collective<TwoShotKernel, FlaggedWire, 4>", "all-reduce, two shots", ("LDG", "STG"), "turn", 32 * 16 * 4,
                    "GB/s of message", 100, multiprocessors=64)
    # A turn is a group of eight columns of a row for each thread: fp16 numbers to three peers, which take 150 GB/s together.
    for kernel, label in (("joint_one_shot<4, 1, true>", "of a sent row"), ("joint_one_shot<4, 1, false>", "one shot"),
                          ("joint_by_owner<4, 1>", "by owners"), ("joint_by_owner_flagged<4, 1>", "by owners, with flags")):
        yield HotKernel(kernel, f"sum and norm, {label}", ("LDG", "STG"), "turn", 32 * 16 * 3, "GB/s sent", 150, multiprocessors=64)


HOT_KERNELS = [*sweeps(), *matrix_vector(), *tiles(), *experts(), *attention(), *collectives()]
