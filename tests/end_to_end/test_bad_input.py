"""Bad input of each kind gives one clear message and its exit code, and leaves existing files as they are."""

import os
import unittest

import h5py

from harness import BAD_INPUT, CANNOT_RUN, FAILED, MAP, STOPPED, Case

QUICK = ("--set", "integrate.steps=500", "--set", "run.range_points=100")
MANY_PARTS = ("--set", "sweep.y.count=50", "--set", "run.range_points=20")  # 300 of them, a second of computing


class BadInput(Case):
    def refuse(self, *arguments, says, expect=BAD_INPUT, ranks=None, **options):
        out, err = self.voltpile("run", *arguments, expect=expect, ranks=ranks, **options)
        self.assertIn(says, err)
        self.assertEqual(err.count(says), 1, f"said more than once:\n{err}")
        return out, err

    def test_rejects_wrong_job_files(self):
        self.refuse("missing.toml", says="missing.toml: No such file or directory")
        self.refuse(self.folder, says="Is a directory")
        self.refuse(self.write("bad.toml", MAP + "[[["), says=f"bad.toml:{MAP.count(chr(10)) + 1}:")
        self.refuse(self.write("typo.toml", MAP.replace("steps =", "stpes =")), says="did you mean integrate.steps?")
        self.assertEqual(os.listdir(self.folder).count("results"), 0)

    def test_rank_0_alone_reports_under_mpirun(self):
        _, err = self.refuse(self.write("typo.toml", MAP.replace("steps =", "stpes =")), says="did you mean", ranks=3)
        self.refuse("missing.toml", says="missing.toml: No such file", ranks=3)

    def test_reports_all_problems_at_once(self):
        text = MAP.replace("count = 120", "count = -120").replace("dt = 0.001", "dt = 0").replace("20.0, 30.0]", "nan, 0]")
        _, err = self.voltpile("run", self.write("many.toml", text), expect=BAD_INPUT)
        for key in ("count", "integrate.dt", "system.mass[1]", "system.mass[2]"):
            self.assertIn(key, err)

    def test_rejects_wrong_arguments(self):
        for arguments in (("run",), ("run", self.job, "--color"), ("fly",), (), ("plot", self.job, "--at"),
                          ("help", "job", "fourbody"), ("bench", "threebody", "--size", "0")):
            with self.subTest(arguments=arguments):
                self.voltpile(*arguments, expect=BAD_INPUT)
        _, err = self.voltpile("submit", self.job, "--nodes", "0", expect=BAD_INPUT)
        self.assertIn("--nodes", err)
        self.assertIn("100000", err)
        self.assertNotRegex(err, r"\d{20}")
        self.refuse(self.job, "--set", "nonsense", says="--set nonsense")
        self.refuse(self.job, "--set", "sweep.z.count=3", says="--set sweep.z.count=3")

    def test_rejects_empty_names(self):
        for arguments, option in (
            (("run", ""), "JOB"), (("run", self.job, "--jsonl", ""), "--jsonl"), (("run", self.job, "--output", ""), "--output"),
            (("show", ""), "FILE"), (("model", "info", ""), "MODEL"), (("model", "eval", "model.gguf", ""), "TEXT"),
            (("plan", self.job, "--cluster", ""), "--cluster"), (("hosts", ""), "HOSTS"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile(*arguments, expect=BAD_INPUT)
                self.assertIn(f"{option}: the name is empty", err)

    def test_suggests_the_nearest_command(self):
        _, err = self.voltpile("plann", self.job, expect=BAD_INPUT)
        self.assertIn("no command plann; did you mean plan?", err)

    def test_suggests_the_nearest_option(self):
        for arguments, says in (
            (("plan", self.job, "--clustre", "x"), "voltpile plan has no option --clustre; did you mean --cluster?"),
            (("model", "eval", "--agianst=x"), "voltpile model eval has no option --agianst; did you mean --against?"),
            (("generate", "model.gguf", "--temprature", "1"), "no option --temprature; did you mean --temperature?"),
            (("--hlep",), "voltpile has no option --hlep; did you mean --help?"),
            (("model", "--hlep", "eval"), "voltpile model has no option --hlep; did you mean --help?"),
            (("run", self.job, "--zzzzzzzz"), "voltpile run has no option --zzzzzzzz (voltpile run --help lists them)"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile(*arguments, expect=BAD_INPUT)
                self.assertIn(says, err)
                self.assertEqual(len(err.splitlines()), 1, err)

    def test_keeps_files_that_are_not_ours(self):
        for name, content in (("notes.h5", b"my notes\n"), ("empty.h5", b"")):
            path = self.folder / name
            path.write_bytes(content)
            self.refuse(self.job, "--output", name, says="was not written by voltpile")
            self.refuse(self.job, "--output", name, "--fresh", says="was not written by voltpile")
            self.assertEqual(path.read_bytes(), content)

    def test_keeps_hdf5_files_that_are_not_ours(self):
        with h5py.File(self.folder / "theirs.h5", "w") as file:
            file["data"] = [1, 2, 3]
        before = (self.folder / "theirs.h5").read_bytes()
        self.refuse(self.job, "--output", "theirs.h5", "--fresh", says="was not written by voltpile")
        self.assertEqual((self.folder / "theirs.h5").read_bytes(), before)

    def test_rejects_output_folders_that_cannot_be_written(self):
        self.write("file", "in the way")
        self.refuse(self.job, "--output", "file/map.h5", says="file")
        self.refuse(self.job, "--output", "/proc/nowhere/map.h5", says="/proc/nowhere")
        self.refuse(self.job, "--output", self.folder, says="was not written by voltpile")

    def test_keeps_the_result_of_another_job(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        before = (self.folder / "a.h5").read_bytes()
        self.refuse(self.job, "--output", "a.h5", "--set", "integrate.steps=501", says="holds the result of another job")
        self.assertEqual((self.folder / "a.h5").read_bytes(), before)
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "integrate.steps=501", "--fresh")

    def test_keeps_the_parts_of_another_job(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "run.range_points=20", "--set",
                      "run.time_limit_s=0.2", expect=STOPPED)
        parts = [(part, part.read_bytes()) for part in self.parts(self.folder / "a.h5")]
        self.refuse(self.job, "--output", "a.h5", "--set", "system.G=9.81", says="--fresh")
        for part, content in parts:
            self.assertEqual(part.read_bytes(), content)
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "system.G=9.81", "--fresh", *QUICK)

    def test_names_and_recomputes_corrupt_and_foreign_parts(self):
        self.voltpile("run", self.job, "--output", "whole.h5", *MANY_PARTS)
        self.stop_with_parts(self.folder / "a.h5", 3, "run", self.job, "--output", "a.h5", *MANY_PARTS)
        cut, flipped, foreign = self.parts(self.folder / "a.h5")[:3]
        cut.write_bytes(cut.read_bytes()[:-100])
        content = bytearray(flipped.read_bytes())
        with h5py.File(flipped) as file:
            content[file["energy_error"].id.get_chunk_info(0).byte_offset + 3] ^= 0x10
        flipped.write_bytes(content)
        self.voltpile("run", self.job, "--output", "b.h5", *MANY_PARTS, "--set", "system.G=9.7", "--set",
                      "run.time_limit_s=0.2", expect=STOPPED)
        foreign.write_bytes(self.parts(self.folder / "b.h5")[0].read_bytes())
        _, err = self.voltpile("run", self.job, "--output", "a.h5", *MANY_PARTS, ranks=2)
        for part in (cut, flipped, foreign):
            self.assertIn(part.name, err)
        self.assert_same_result("whole.h5", "a.h5")

    def test_full_disk_keeps_committed_parts(self):
        arguments = ("run", self.job, "--output", "a.h5", *MANY_PARTS)
        self.voltpile(*arguments, "--set", "run.time_limit_s=0.2", expect=STOPPED)
        committed = {part.name for part in self.parts(self.folder / "a.h5")}
        self.assertTrue(committed)
        for ranks in (None, 2):
            _, err = self.voltpile(*arguments, expect=FAILED, file_limit=4096, ranks=ranks)
            self.assertIn("File too large", err)
            self.assertLessEqual(committed, {part.name for part in self.parts(self.folder / "a.h5")})
        self.voltpile(*arguments)
        self.voltpile("run", self.job, "--output", "whole.h5", *MANY_PARTS)
        self.assert_same_result("whole.h5", "a.h5")

    def test_full_disk_during_consolidation_loses_nothing(self):
        size = ("--set", "sweep.x.count=300", "--set", "sweep.y.count=200", "--set", "integrate.steps=20")
        arguments = ("run", self.job, "--output", "a.h5", *size, "--set", "run.range_points=2000")
        _, err = self.voltpile(*arguments, expect=FAILED, file_limit=200_000)  # a part has 24 kB, the result 720 kB
        self.assertIn("a.h5", err)
        self.assertFalse((self.folder / "a.h5").exists())
        self.assertEqual([p.name for p in self.folder.iterdir() if "tmp" in p.name], [])
        out, _ = self.voltpile(*arguments)
        self.assertIn("resuming: 60,000 of 60,000", out)

    def test_rejects_gpu_jobs_without_gpus(self):
        for ranks in (None, 2):
            self.refuse(self.job, "--set", "run.device=gpu", says="no GPUs", expect=CANNOT_RUN, ranks=ranks,
                        environment={"CUDA_VISIBLE_DEVICES": ""})

    def test_cpu_level_can_be_lowered(self):
        for ranks in (None, 2):
            out, _ = self.voltpile("plan", self.job, ranks=ranks, environment={"VOLTPILE_CPU_LEVEL": "baseline"})
            self.assertIn("(128-bit SIMD)", out)
            self.refuse(self.job, says="VOLTPILE_CPU_LEVEL=avx3: unknown level; use baseline, avx2 or avx512", ranks=ranks,
                        environment={"VOLTPILE_CPU_LEVEL": "avx3"})

    def test_second_run_of_a_result_is_rejected(self):
        first = self.start("run", self.job, "--output", "a.h5", "--set", "run.range_points=20")
        self.wait_for_parts(self.folder / "a.h5", 1)
        self.refuse(self.job, "--output", "a.h5", says="another run is writing", expect=CANNOT_RUN)
        self.finish(first)

    def test_show_and_plot_name_the_culprit(self):
        for command in ("show", "plot"):
            _, err = self.voltpile(command, "nothing.h5", expect=BAD_INPUT)
            self.assertIn("nothing.h5", err)
            self.write("text.h5", "hello")
            _, err = self.voltpile(command, "text.h5", expect=BAD_INPUT)
            self.assertIn("text.h5", err)
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        _, err = self.voltpile("plot", "a.h5", "--field", "steps_togther", expect=BAD_INPUT)
        self.assertIn("steps_together", err)


if __name__ == "__main__":
    unittest.main()
