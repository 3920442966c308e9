"""voltpile export: CSV, lines of JSON and netCDF, read with the field's tools."""

import csv
import json
import unittest

import h5py
import numpy

from harness import BAD_INPUT, DONE, SMALL, SOURCE, Case

TINY_MODEL = SOURCE / "data/tiny_model/tiny-f16.gguf"


class Export(Case):
    def fields_of(self, path):
        with h5py.File(path) as file:
            return {name: file[name][()] for name in ("x", "y", "steps_together", "energy_error")}

    def test_csv(self):
        truth = self.fields_of(self.small_result())
        out, _ = self.voltpile("export", "a.h5", "--csv")
        rows = list(csv.DictReader(out.splitlines()))
        self.assertEqual(list(rows[0]), ["x", "y", "steps_together", "energy_error"])
        self.assertEqual(len(rows), 35)
        for i, row in enumerate(rows):  # the first axis varies fastest
            y, x = divmod(i, 7)
            self.assertEqual((float(row["x"]), float(row["y"])), (truth["x"][x], truth["y"][y]))
            self.assertEqual(int(row["steps_together"]), truth["steps_together"][y, x])
            self.assertEqual(float(row["energy_error"]), truth["energy_error"][y, x])

    def test_json_lines_are_those_of_run(self):
        self.voltpile("run", self.job, "--output", "a.h5", "--jsonl", "run.jsonl", *SMALL)
        out, _ = self.voltpile("export", "a.h5", "--jsonl")
        self.assertEqual(out, (self.folder / "run.jsonl").read_text())
        out, _ = self.voltpile("export", "a.h5", "--output", "all.jsonl")
        self.assertEqual(out, "all.jsonl\n")
        self.assertEqual((self.folder / "all.jsonl").read_text(), (self.folder / "run.jsonl").read_text())

    def test_rows(self):
        self.small_result()
        whole, _ = self.voltpile("export", "a.h5", "--csv")
        lines = whole.splitlines()
        for rows, wanted in (("3:8", lines[4:9]), ("30:", lines[31:]), (":2", lines[1:3])):
            out, _ = self.voltpile("export", "a.h5", "--csv", "--rows", rows)
            self.assertEqual(out.splitlines(), lines[:1] + wanted)
        for rows in ("8:3", "3", "a:b", "-1:3", "0:36", "3:3", ":"):
            with self.subTest(rows=rows):
                expect = DONE if rows == ":" else BAD_INPUT
                _, err = self.voltpile("export", "a.h5", "--csv", "--rows", rows, expect=expect)
                self.assertEqual("--rows" in err, rows != ":", err)

    def test_netcdf(self):
        path = self.small_result()
        truth = self.fields_of(path)
        self.voltpile("export", "a.h5", "--output", "a.nc")
        with self.open_dataset("a.nc") as data:
            self.assertEqual(data["steps_together"].dims, ("y", "x"))
            for name, values in truth.items():
                numpy.testing.assert_array_equal(data[name].values, values)
            self.assertEqual(data["x"].attrs["long_name"], "system.position[0].x")
            self.assertTrue(data.attrs["Conventions"].startswith("CF-"))
        self.voltpile("export", "a.h5", "--netcdf", "--rows", "3:8", "--output", "rows.nc")
        with self.open_dataset("rows.nc") as data:
            self.assertEqual(data["steps_together"].dims, ("point",))
            numpy.testing.assert_array_equal(data["steps_together"].values, truth["steps_together"].ravel()[3:8])
            numpy.testing.assert_array_equal(data["point"].values, range(3, 8))
            numpy.testing.assert_array_equal(data["x"].values, numpy.tile(truth["x"], 5)[3:8])
            numpy.testing.assert_array_equal(data["y"].values, numpy.repeat(truth["y"], 7)[3:8])

    def test_unfinished_result(self):
        self.unfinished_result()
        out, err = self.voltpile("export", "stopped.h5", "--csv")
        rows = list(csv.DictReader(out.splitlines()))
        self.assertTrue(0 < len(rows) < 12000)
        self.assertIn(f"{12000 - len(rows):,} of 12,000 rows are not computed yet: they are left out", err)
        _, err = self.voltpile("export", "stopped.h5", "--output", "stopped.nc")
        self.assertIn("they are missing values", err)
        with self.open_dataset("stopped.nc") as data:
            steps = data["steps_together"].values.ravel()
            self.assertEqual(int(numpy.isfinite(steps).sum()), len(rows))  # xarray makes _FillValue NaN
            self.assertEqual([int(row["steps_together"]) for row in rows], steps[numpy.isfinite(steps)].tolist())

    def test_lists_and_texts_of_a_language_model(self):
        self.write("prompts.jsonl", '{"prompt": "And it came to pass"}\n{"prompt": "In the, \\"beginning\\"\\n"}\n')
        self.write("llm.toml", f"""app = "llm"
[model]
path = "{TINY_MODEL}"
[prompts]
files = ["prompts.jsonl"]
[generate]
max_tokens = 5
[run]
device = "cpu"
""")
        self.voltpile("run", "llm.toml", "--output", "llm.h5")
        with h5py.File(self.folder / "llm.h5") as file:
            fields = {name: file[name] for name in file.attrs["fields"]}
            texts = {name: field.asstr()[()] for name, field in fields.items() if h5py.check_string_dtype(field.dtype)}
            lists = {name: field[()] for name, field in fields.items()
                     if name not in texts and h5py.check_vlen_dtype(field.dtype)}
        self.assertTrue(lists and texts)
        self.voltpile("export", "llm.h5", "--output", "llm.nc")
        with self.open_dataset("llm.nc") as data:
            for name, values in lists.items():  # CF's contiguous ragged arrays
                counts = data[f"{name}_count"].values
                numpy.testing.assert_array_equal(counts, [len(v) for v in values])
                numpy.testing.assert_array_equal(data[name].values, numpy.concatenate(values))
                self.assertEqual(data[f"{name}_count"].attrs["sample_dimension"], data[name].dims[0])
            for name, values in texts.items():
                self.assertEqual(data[name].values.tolist(), values.tolist())
        self.voltpile("export", "llm.h5", "--output", "llm.csv")
        with open(self.folder / "llm.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        for name, values in texts.items():
            self.assertEqual([row[name] for row in rows], values.tolist())
        for name, values in lists.items():
            for row, value in zip(rows, values, strict=True):
                numpy.testing.assert_array_equal(numpy.array(json.loads(row[name]), value.dtype), value)

    def test_rejects_bad_input(self):
        self.small_result()
        kept = self.write("kept.csv", "mine")
        for arguments, says in (
            (("a.h5",), "--csv, --jsonl, --netcdf"), (("a.h5", "--csv", "--jsonl"), "--jsonl"),
            (("a.h5", "--netcdf"), "--output"), (("a.h5", "--output", "kept.csv"), "kept.csv exists"),
            (("missing.h5", "--csv"), "missing.h5"), (("a.h5", "--csv", "--output", "a.h5"), "a.h5"),
            (("a.h5", "--csv", "--output", "nowhere/a.csv"), "nowhere"), ((self.job, "--csv"), "map.toml"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("export", *arguments, expect=BAD_INPUT)
                self.assertIn(says, err)
        self.assertEqual(kept.read_text(), "mine")
        self.voltpile("export", "a.h5", "--output", "kept.csv", "--overwrite")
        self.assertTrue(kept.read_text().startswith("x,y,"))
        self.assertEqual([p.name for p in self.folder.iterdir() if "tmp" in p.name], [])


if __name__ == "__main__":
    unittest.main()
