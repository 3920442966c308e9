"""voltpile compare, as a user meets it."""

import json
import unittest

import h5py
import numpy

from harness import BAD_INPUT, SMALL, Case

DIFFER = 1


class Compare(Case):
    def test_a_method_against_another(self):
        self.voltpile("run", self.job, "--output", "euler.h5", "--set", "integrate.steps=5000")
        self.voltpile("run", self.job, "--output", "leapfrog.h5", "--set", "integrate.steps=5000", "--set",
                      "integrate.method=leapfrog")
        with h5py.File(self.folder / "euler.h5") as a, h5py.File(self.folder / "leapfrog.h5") as b:
            values = [(file["energy_error"][:], file["steps_together"][:].astype(float)) for file in (a, b)]
        out, _ = self.voltpile("compare", "euler.h5", "leapfrog.h5", "--json", "--relative", "0.02", expect=DIFFER)
        found = json.loads(out)
        self.assertEqual(found["points"], 12000)
        self.assertFalse(found["agree"])
        for i, name in ((0, "energy_error"), (1, "steps_together")):
            field = next(field for field in found["fields"] if field["name"] == name)
            difference = numpy.abs(values[0][i] - values[1][i])
            larger = numpy.maximum(numpy.abs(values[0][i]), numpy.abs(values[1][i]))
            relative = difference / numpy.where(larger > 0, larger, 1)
            self.assertEqual(field["identical"], int((difference == 0).sum()))
            self.assertEqual(field["beyond"], int((relative > 0.02).sum()))
            self.assertEqual(field["max_absolute"], difference.max())
            self.assertEqual(field["max_relative"], relative.max())
            # Medians are rounded down by at most one part in 1024.
            for key, expected in (("median_absolute", difference), ("median_relative", relative)):
                median = numpy.sort(expected, axis=None)[(expected.size - 1) // 2]
                self.assertLessEqual(field[key], median)
                self.assertGreaterEqual(field[key], median * (1 - 1 / 1024))
        out, _ = self.voltpile("compare", "euler.h5", "leapfrog.h5", "--png", "difference.png", expect=DIFFER)
        self.assertRegex(out, r"(?m)^  steps_together +1 +12,000 ")
        self.assertIn("of 2 fields differ: ", out)
        self.assertIn("|difference of steps_together|: difference.png", out)
        self.assertEqual((self.folder / "difference.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.voltpile("compare", "euler.h5", "leapfrog.h5", "--png", "difference.png", expect=DIFFER)  # replaces its own

    def test_the_same_job_on_other_ranks_is_identical(self):
        self.small_result("a.h5")
        self.voltpile("run", self.job, "--output", "b.h5", *SMALL, ranks=2)
        out, _ = self.voltpile("compare", "a.h5", "b.h5")
        self.assertIn("all fields agree: their values are the same", out)

    def test_bad_input_is_named(self):
        self.small_result("a.h5")
        self.voltpile("run", self.job, "--output", "wide.h5", *SMALL, "--set", "sweep.x.to=21")
        self.voltpile("run", self.job, "--output", "state.h5", *SMALL, "--set", 'output.fields=["final_state"]')
        self.voltpile("run", self.job, "--output", "state2.h5", *SMALL, "--set", 'output.fields=["final_state"]')
        self.write("notes.h5", "not a result")
        for arguments, says in (
            (("a.h5", "a.h5"), "a.h5 and a.h5 are the same file"),
            (("a.h5", "./a.h5"), "a.h5 and ./a.h5 are the same file"),
            (("a.h5", "wide.h5"), "different points"),
            (("a.h5", "notes.h5"), "notes.h5 is no result of voltpile"),
            (("a.h5", "missing.h5"), "there is no result missing.h5"),
            (("a.h5", "state.h5"), "no field in common"),
            (("a.h5", "wide.h5", "--tolerance", "-1"), "--tolerance -1"),
            (("a.h5", "wide.h5", "--relative", "nan"), "--relative nan"),
            (("a.h5", "wide.h5", "--png", "picture.jpg"), "a picture's name ends in .png"),
            (("state.h5", "state2.h5", "--png", "state.png"), "--at body=0"),
            (("state.h5", "state2.h5", "--at", "body=0"), "add --png FILE"),
            (("state.h5", "state2.h5", "--field", "energy_error"), "state.h5 has no field energy_error; it has final_state"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("compare", *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)

    def test_unfinished_result(self):
        self.unfinished_result()
        self.voltpile("run", self.job, "--output", "whole.h5")
        out, _ = self.voltpile("compare", "whole.h5", "stopped.h5", expect=DIFFER)
        self.assertRegex(out, r"missing in stopped\.h5: [\d,]+ points")
        self.assertIn("the values agree, but points are missing", out)


if __name__ == "__main__":
    unittest.main()
