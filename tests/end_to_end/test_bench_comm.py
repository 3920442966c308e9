"""`voltpile bench comm`: its tables, its file, and what it refuses."""

import unittest
import xml.etree.ElementTree

from harness import BAD_INPUT, Case


class BenchComm(Case):
    def test_measures_every_collective_and_pair_and_writes_them(self):
        arguments = ("--host", "--max", "4K", "--factor", "512")
        out, _ = self.voltpile("bench", "comm", *arguments, "--output", "comm.h5", ranks=3)
        self.assertIn("every pair", out)
        with self.open_dataset("comm.h5") as file:
            self.assertEqual(file.attrs["software"], "voltpile")
            self.assertEqual(file.attrs["ranks"], "3")
            self.assertEqual(file.time.attrs["units"], "s")
            table = file.to_dataframe()
        self.assertTrue((table.time > 0).all() and (table.bandwidth > 0).all())
        collectives = table[table.test != "pair"]
        self.assertEqual(
            set(collectives.test), {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}
        )
        self.assertEqual(set(collectives.way), {"voltpile", "mpi"})
        self.assertEqual(set(table.bytes), {8, 4096})
        # Bus bandwidth of an all_reduce: 2 (n - 1) / n times bytes / time, as nccl-tests defines it.
        reduce = table[table.test == "all_reduce"]
        error = reduce.bandwidth / (2 * 2 / 3 * reduce.bytes / reduce.time) - 1
        self.assertLess(error.abs().max(), 1e-12)  # rounding of two products
        pairs = table[table.test == "pair"]
        self.assertEqual(set(zip(pairs.from_rank, pairs.to_rank)), {(0, 1), (0, 2), (1, 2)})
        self.assertIn("mpi", set(pairs.way))
        svg = xml.etree.ElementTree.parse(self.folder / "comm.svg")
        texts = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
        self.assertLessEqual({"all_reduce, host memory", "broadcast, host memory", "voltpile", "mpi", "4K"}, texts)

    def test_measures_only_the_selected_tests(self):
        out, _ = self.voltpile(
            "bench", "comm", "--host", "--max", "64", "--collective", "broadcast", "--path", "mpi", "--no-pairs", ranks=2
        )
        self.assertIn("broadcast", out)
        self.assertNotIn("all_reduce", out)
        self.assertNotIn("voltpile", out)
        self.assertNotIn("every pair", out)

    def test_rejects_impossible_measurements(self):
        for arguments, word in (
            (("--max", "2G"), "--max"),
            (("--min", "6"), "--min"),
            (("--collective", "alltoall"), "alltoall"),
            (("--path", "pigeon", "--max", "8", "--host"), "pigeon"),
            (("--output", "nowhere/comm.h5"), "nowhere"),
        ):
            with self.subTest(arguments=arguments):
                _, err = self.voltpile("bench", "comm", *arguments, ranks=1, expect=BAD_INPUT)
                self.assertIn(word, err)

    def test_rejects_an_unknown_path_before_measuring(self):
        for ranks, options, there in ((1, (), "mpi, voltpile"), (2, ("--no-pairs",), "mpi, voltpile"),
                                      (2, (), "(channel, )?mpi, voltpile")):  # channels need UCX
            with self.subTest(ranks=ranks, options=options):
                out, err = self.voltpile("bench", "comm", "--host", "--path", "pigeon", *options, ranks=ranks,
                                         expect=BAD_INPUT)
                self.assertEqual(out, "")
                self.assertRegex(err, f"--path: no path here has a name with pigeon; the names are {there}\n")


if __name__ == "__main__":
    unittest.main()
