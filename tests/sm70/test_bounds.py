"""Counts of report_bounds.py on small pieces of machine code, and V100's published rates from loops of one instruction."""
import io
import re
import unittest

import machine_code
import pipes
import report_bounds
from hot_kernels import HOT_KERNELS, HotKernel


def code(text):
    """Instructions from lines like `0040 @P0 BRA 0x10`."""
    lines = ["\t\tFunction : _Z6kernelv"]
    for line in text.strip().splitlines():
        address, rest = line.strip().split(" ", 1)
        lines.append(f"        /*{address}*/                   {rest} ;      /* 0x00000a00ff017624 */")
        lines.append(" " * 60 + "/* 0x000fe400078e00ff */")
    return machine_code.read_kernels(lines)["_Z6kernelv"]


def loop_of(instruction, times):
    """The instruction `times` times in a loop that counts down."""
    lines = [f"{16 * i:04x} {instruction}" for i in range(times)]
    lines += [f"{16 * times:04x} IADD3 R0, R0, -0x1, RZ", f"{16 * times + 16:04x} ISETP.NE.AND P0, PT, R0, RZ, PT",
              f"{16 * times + 32:04x} @P0 BRA 0x0", f"{16 * times + 48:04x} EXIT"]
    return code("\n".join(lines))


def names(instructions):
    return [i.name for i in instructions]


class Reading(unittest.TestCase):
    def test_splits_predicate_name_suffix_and_operands(self):
        load, branch = code("""
            0000 @!P3 LDG.E.128.CONSTANT.SYS R8, [R4+0x10]
            0010 @P0 BRA P1, 0x0""")
        self.assertEqual((load.predicate, load.name, load.suffix, load.operands), ("@!P3", "LDG", ".E.128.CONSTANT.SYS", "R8, [R4+0x10]"))
        self.assertEqual(pipes.width(load), 16)
        self.assertEqual((branch.target(), branch.always()), (0, False))

    def test_names_kernels_as_the_list_of_registers_does(self):
        mangled = ["_ZN8voltpile3llm12tile_productILNS0_12WeightFormatE1ELi64ELb0EEEvNS0_8TileArgsE",
                   "_ZN8voltpile9threebody6rolled26complete_adaptive_outcomesINS1_18RungeKuttaNystrom8EEEvPKNS0_7ProblemENS_8GpuRangeE"]
        self.assertEqual(machine_code.short_names(mangled),
                         ["tile_product<1, 64, false>", "rolled::complete_adaptive_outcomes<RungeKuttaNystrom8>"])


class Loops(unittest.TestCase):
    def test_takes_the_loop_with_most_work(self):
        kernel = code("""
            0000 MOV R0, 0x8
            0010 DADD R2, R2, R4
            0020 @P0 BRA 0x10
            0030 DFMA R2, R2, R4, R6
            0040 DMUL R2, R2, R4
            0050 @P1 BRA 0x30
            0060 EXIT""")
        turn, unsure = machine_code.hot_loop(kernel, ("DADD", "DMUL", "DFMA"))
        self.assertEqual((names(turn), unsure), (["DFMA", "DMUL", "BRA"], False))

    def test_leaves_out_the_slow_case_that_is_called(self):
        kernel = code("""
            0000 MUFU.RSQ64H R3, R5
            0010 @P0 BRA 0x30
            0020 CALL.REL.NOINC 0x60
            0030 DFMA R2, R2, R4, R6
            0040 @P1 BRA 0x0
            0050 EXIT
            0060 DADD R2, R2, R4
            0070 DADD R2, R2, R4
            0080 RET.REL.NODEC R8 0x0""")
        turn, unsure = machine_code.hot_loop(kernel, ("DADD", "DFMA"))
        self.assertEqual((names(turn), unsure), (["MUFU", "BRA", "DFMA", "BRA"], False))

    def test_a_warp_that_may_have_diverged_goes_on(self):
        kernel = code("""
            0000 DADD R2, R2, R4
            0010 BRA.DIV 0x50
            0020 VOTE.ANY R8, PT, P0
            0030 @P1 BRA 0x0
            0040 EXIT
            0050 WARPSYNC R9
            0060 CALL.REL.NOINC 0x80
            0070 BRA 0x30
            0080 RET.REL.NODEC R8 0x0""")
        turn, _ = machine_code.hot_loop(kernel, ("DADD",))
        self.assertEqual(names(turn), ["DADD", "BRA", "VOTE", "BRA"])

    def test_does_not_enter_inner_loops_with_work_but_those_that_wait(self):
        kernel = code("""
            0000 DADD R2, R2, R4
            0010 @P0 BRA 0x40
            0020 DMUL R2, R2, R4
            0030 @P1 BRA 0x20
            0040 YIELD
            0050 @P2 BRA 0x40
            0060 DFMA R2, R2, R4, R6
            0070 DFMA R2, R2, R4, R6
            0080 @P3 BRA 0x0
            0090 EXIT""")
        turn, unsure = machine_code.hot_loop(kernel, ("DADD", "DMUL", "DFMA"))
        self.assertEqual((names(turn), unsure), (["DADD", "BRA", "YIELD", "BRA", "DFMA", "DFMA", "BRA"], False))

    def test_counts_an_inner_loop_as_often_as_it_runs(self):
        kernel = code("""
            0000 FADD R2, R2, R4
            0010 HMMA.884.F32.F32.STEP0 R8, R2.ROW, R4.COL, R8
            0020 @P1 BRA 0x10
            0030 FADD R2, R2, R4
            0040 @P3 BRA 0x0
            0050 EXIT""")
        turn, unsure = machine_code.hot_loop(kernel, ("HMMA",), {"HMMA": 8})
        self.assertEqual((names(turn).count("HMMA"), names(turn).count("FADD"), len(turn), unsure), (8, 2, 19, False))

    def test_says_so_if_it_knows_no_count(self):
        kernel = code("""
            0000 FFMA R2, R2, R4, R4
            0010 CALL.REL.NOINC 0x40
            0020 @P1 BRA 0x0
            0030 EXIT
            0040 FADD R2, R2, R4
            0050 RET.REL.NODEC R20 0x0""")
        turn, unsure = machine_code.hot_loop(kernel, ("FFMA",))
        self.assertEqual((names(turn), unsure), (["FFMA", "CALL", "BRA"], True))


class Pipes(unittest.TestCase):
    def rate(self, instruction, times, amount, name):
        kernel = HotKernel("kernel", "", (name,), name, amount, "")
        return report_bounds.bound(kernel, loop_of(instruction, times))

    def test_published_rates_at_the_highest_clock(self):
        # Tesla V100-SXM2, 1.53 GHz: 7.8, 15.7 and 125 TFLOP/s (NVIDIA, WP-08608-001, table 1). An operation on 32 threads: 64 FLOP;
        # a quarter of m8n8k4 on four quad pairs: 512.
        for instruction, flop, published, pipe in (("DFMA R2, R2, R4, R6", 64, 7.8, "FP64"), ("FFMA R2, R2, R4, R6", 64, 15.7, "FMA"),
                                                   ("HMMA.884.F32.F32.STEP1 R8, R2.ROW, R4.COL, R8", 512, 125, "tensor")):
            found = self.rate(instruction, 64, flop * 1e-3, instruction[:4])
            self.assertEqual(found[2], pipe)
            self.assertAlmostEqual(found[3][1] / published, 1, delta=0.005)

    def test_shared_memory_moves_128_bytes_a_cycle(self):
        found = self.rate("LDS.U.128 R8, [R2]", 16, 512, "LDS")
        self.assertEqual(found[2], "LSU")
        self.assertAlmostEqual(found[3][0], 80 * 128 * 1.38)  # GB/s: docs.nvidia.com, 128 bytes per multiprocessor and cycle

    def test_cycles_of_a_known_mix(self):
        cycles, kinds, unknown = pipes.count(code("""
            0000 DSETP.GTU.AND P0, PT, R2, R4, PT
            0010 IMAD.WIDE R2, R4, R5, R6
            0020 IMAD.MOV.U32 R2, RZ, RZ, R6
            0030 LOP3.LUT R2, R4, R5, RZ, 0x3c, !PT
            0040 F2F.F16.F32 R2, R4
            0050 LDG.E.64.SYS R2, [R4]
            0060 STS.U8 [R4], R2
            0070 @!PT LDC RZ, c[0x0][RZ]
            0080 @!PT SHFL.IDX PT, RZ, RZ, RZ, RZ
            0090 BAR.SYNC 0x0"""))
        self.assertEqual(cycles, {"issue": 10, "FP64": 4, "FMA": 6, "ALU": 2, "XU": 8, "tensor": 0, "LSU": 12, "branch": 0})
        self.assertEqual(kinds, {"FP64": 1, "FMA": 2, "ALU": 1, "XU": 1, "LDG.64": 1, "STS.8": 1, "other": 1})
        self.assertEqual(unknown, {})

    def test_reports_unknown_instructions(self):
        kernel = loop_of("DFMA R2, R2, R4, R6", 2) + code("0000 QUUX.F32 R2, R4")
        self.assertEqual(pipes.count(kernel)[2], {"QUUX.F32": 1})
        self.assertEqual(pipes.count(code("0000 HMMA.16816.F32 R8, R2, R4, R8"))[2], {"HMMA.16816.F32": 1})  # not of sm_70


class Report(unittest.TestCase):
    def test_names_what_is_missing(self):
        wrong = report_bounds.report({}, io.StringIO())
        self.assertEqual(len(wrong), len(HOT_KERNELS))
        without_loop = {HOT_KERNELS[0].name: code("0000 EXIT")}
        self.assertTrue(any(re.match(r"no loop with DADD or DMUL or DFMA in sweep_kernel", w) for w in
                            report_bounds.report(without_loop, io.StringIO())))

    def test_prints_the_busiest_pipe(self):
        out = io.StringIO()
        euler = HOT_KERNELS[0]
        report_bounds.report({euler.name: loop_of("DFMA R2, R2, R4, R6", 133)}, out)
        # 532 cycles of FP64 a turn: 80 x 4 x 32 / 532 x 1.38 = 26.56 and x 1.53 = 29.45.
        self.assertRegex(out.getvalue(), r"three-body euler, FP64 +136 +532 .* FP64 +26\.56 +29\.45 G pair-steps/s")


if __name__ == "__main__":
    unittest.main()
