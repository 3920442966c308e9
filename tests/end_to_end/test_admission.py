"""What run, plan, submit, status and show say of a result that exists, is damaged, or cannot be written."""

import pathlib
import re
import shutil
import unittest
import zlib

import h5py

from harness import BAD_INPUT, CANNOT_RUN, STOPPED, Case

QUICK = ("--set", "integrate.steps=500", "--set", "sweep.x.count=20", "--set", "sweep.y.count=10")
# 2e15 points of 12 bytes.
HUGE = ("--set", "sweep.x.count=50000000", "--set", "sweep.y.count=40000000")


class Admission(Case):
    def refused_by_all(self, commands, says, *arguments, expect=BAD_INPUT):
        """Every one of the commands refuses the job with the same words."""
        for command in commands:
            with self.subTest(command=command):
                _, err = self.voltpile(command, self.job, *arguments, expect=expect)
                self.assertIn(says, err)

    def folder_names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_an_output_that_names_a_folder(self):
        before = self.folder_names()
        self.refused_by_all(("run", "plan", "submit"), "newdir/ names a folder: add the name of a file", "--output",
                            "newdir/", *QUICK)
        self.assertEqual(self.folder_names(), before)

    def test_a_result_that_does_not_fit_the_disk(self):
        before = self.folder_names()
        self.refused_by_all(("run", "plan", "submit"), "needs 48.0 PB while it is computed", *HUGE, "--output", "a.h5",
                            expect=CANNOT_RUN)
        self.assertEqual(self.folder_names(), before)

    def test_a_complete_result(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        for command, name in (("run", "a.h5"), ("submit", str(self.folder / "a.h5"))):
            out, err = self.voltpile(command, self.job, "--output", "a.h5", *QUICK)
            self.assertEqual((out, err), (f"{name} is complete already; --fresh computes it again\n", ""))

    def test_a_result_without_a_dataset(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        with h5py.File(self.folder / "a.h5", "r+") as file:
            del file["energy_error"]
        self.refused_by_all(("run", "submit"), "a.h5 is a damaged HDF5 file", "--output", "a.h5", *QUICK)
        for command in ("show", "plot", "status"):
            _, err = self.voltpile(command, "a.h5", expect=BAD_INPUT)
            self.assertIn("energy_error", err)
        self.voltpile("run", self.job, "--output", "a.h5", "--fresh", *QUICK)
        self.assertIn("energy_error", self.fields("a.h5"))

    def test_a_result_with_changed_values(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        content = bytearray((self.folder / "a.h5").read_bytes())
        with h5py.File(self.folder / "a.h5") as file:
            offset = file["steps_together"].id.get_offset()
        content[offset + 100 : offset + 200] = bytes(100)
        (self.folder / "a.h5").write_bytes(content)
        self.refused_by_all(("run", "submit"), "the values of steps_together do not match their checksum", "--output",
                            "a.h5", *QUICK)

    def test_all_commands_agree_on_a_stopped_fresh_run(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--set", "run.threads=0")
        self.stop_with_parts(self.folder / "a.h5", 3, "run", self.job, "--output", "a.h5", "--fresh", "--set",
                             "run.range_points=100")
        shown, _ = self.voltpile("show", "a.h5")
        self.assertIn("unfinished", shown)
        told, _ = self.voltpile("status", "a.h5")
        share = float(re.search(r"\] ([\d.]+) %", told).group(1))
        self.assertAlmostEqual(float(re.search(r"points \(([\d.]+) %\)", shown).group(1)), share, delta=0.06)
        # submit would resume it, too: it does not reject the job but fails for lack of Slurm, if there is none.
        _, err = self.voltpile("submit", self.job, "--output", "a.h5", "--dry-run", environment={"PATH": "/nonexistent"},
                               expect=CANNOT_RUN)
        self.assertIn("sbatch is not installed", err)
        out, _ = self.voltpile("run", self.job, "--output", "a.h5", "--set", "run.threads=0")
        self.assertIn("resuming: ", out)
        self.assertIn("complete result", self.voltpile("show", "a.h5")[0])

    def test_a_part_that_h5py_has_rewritten(self):
        # Long enough that a fast machine is stopped before the end: about 10 s of one core's work in 200 ranges.
        job = ("run", self.job, *QUICK, "--set", "integrate.steps=500000")
        self.voltpile(*job, "--output", "whole.h5")
        arguments = (*job, "--output", "a.h5", "--set", "run.range_points=1")
        self.stop_with_parts(self.folder / "a.h5", 2, *arguments)
        part = self.parts(self.folder / "a.h5")[0]
        with h5py.File(part, "r+") as file:
            file["steps_together"][...] = 7
        _, err = self.voltpile(*arguments)
        self.assertIn(f"{part.name}: its values do not match their checksum", err)
        self.assert_same_result("whole.h5", "a.h5")

    def test_checksums_are_those_of_zlib(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK, "--set", "run.range_points=30", ranks=2)
        with h5py.File(self.folder / "a.h5") as file:
            for name in ("x", "y", "steps_together", "energy_error"):
                self.assertEqual(file[name].attrs["crc32"], zlib.crc32(file[name][...].tobytes()), name)

    def test_plot_replaces_only_its_own_pictures(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        self.voltpile("plot", "a.h5")
        self.voltpile("plot", "a.h5", "--bare")
        photo = self.write("a.png", "a photo")
        _, err = self.voltpile("plot", "a.h5", expect=BAD_INPUT)
        self.assertIn("a.png exists and was not written by voltpile plot", err)
        self.assertEqual(photo.read_text(), "a photo")

    def test_jsonl_replaces_only_lines_of_this_job(self):
        arguments = ("run", self.job, "--output", "a.h5", *QUICK, "--jsonl", "a.jsonl")
        self.voltpile(*arguments)
        self.voltpile(*arguments)
        notes = self.write("a.jsonl", '{"prompt": "keep me"}\n')
        _, err = self.voltpile(*arguments, "--fresh", expect=BAD_INPUT)
        self.assertIn("--jsonl: a.jsonl exists and was not written by", err)
        self.assertEqual(notes.read_text(), '{"prompt": "keep me"}\n')

    def test_show_one_row(self):
        self.voltpile("run", self.job, "--output", "a.h5", *QUICK)
        out, _ = self.voltpile("show", "a.h5", "--row", "21")
        with h5py.File(self.folder / "a.h5") as file:
            self.assertRegex(out, rf"x +{re.escape(repr(float(file['x'][1])))}\n")
            self.assertRegex(out, rf"y +{re.escape(repr(float(file['y'][1])))}\n")
            self.assertRegex(out, rf"steps_together +{file['steps_together'][1, 1]}\n")
        _, err = self.voltpile("show", "a.h5", "--row", "200", expect=BAD_INPUT)
        self.assertIn("has the rows 0 to 199", err)


class OldResults(Case):
    """Results and parts that version 0.1.0 has written (old_results/README.md)."""

    def setUp(self):
        super().setUp()
        shutil.copytree(pathlib.Path(__file__).resolve().parent / "old_results", self.folder, dirs_exist_ok=True)
        self.job = self.folder / "map.toml"

    def test_a_finished_one_is_read_and_complete(self):
        shown, _ = self.voltpile("show", "finished.h5")
        self.assertIn("48 of 48 points (100 %)", shown)
        out, _ = self.voltpile("run", self.job, "--output", "finished.h5")
        self.assertIn("finished.h5 is complete already", out)
        self.voltpile("run", self.job, "--output", "new.h5")
        self.assert_same_result("finished.h5", "new.h5")

    def test_an_interrupted_one_resumes(self):
        shown, _ = self.voltpile("show", "interrupted.h5")
        self.assertIn("12 of 48 points (25.00 %)", shown)
        out, err = self.voltpile("run", self.job, "--output", "interrupted.h5")
        self.assertIn("resuming: 12 of 48", out)
        self.assertNotIn("moved aside", err)
        self.assert_same_result("finished.h5", "interrupted.h5")
        self.assertFalse((self.folder / "interrupted.h5.parts").exists())

    def test_a_stopped_fresh_one_resumes(self):
        self.assertIn("unfinished", self.voltpile("show", "fresh.h5")[0])
        out, _ = self.voltpile("run", self.job, "--output", "fresh.h5")
        self.assertRegex(out, r"resuming: \d+ of 48")
        self.assert_same_result("finished.h5", "fresh.h5")


if __name__ == "__main__":
    unittest.main()
