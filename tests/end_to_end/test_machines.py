"""Tests `voltpile topo` and `voltpile plan` on described machines, as a buyer of one uses them."""

import json
import unittest
import xml.etree.ElementTree

from harness import BAD_INPUT, CANNOT_RUN, FAILED, SOURCE, TINY, Case

CLUSTERS = SOURCE / "data/clusters"


class Topo(Case):
    def test_prints_tree_matrix_and_verdict_of_every_description(self):
        for cluster in sorted(CLUSTERS.glob("*.toml")):
            with self.subTest(cluster=cluster.name):
                out, _ = self.voltpile("topo", "--cluster", cluster)
                self.assertIn("socket 0: cores 0-", out)
                self.assertIn("\nGPU0  -", out)
                self.assertIn("sources:", out)

    def test_json_has_the_verdict(self):
        out, _ = self.voltpile("topo", "--cluster", "sys4028_x9drg", "--json")
        host = json.loads(out)[0]
        self.assertEqual(host["gpus"][0]["toGpus"], ["-", "switch", "root", "root"] + 4 * ["cross"])
        self.assertEqual(host["verdict"]["directPairs"], 12)

    def test_describes_this_machine_so_that_it_can_be_read_back(self):
        out, _ = self.voltpile("topo", "--save", "here.toml", "--svg", "here.svg")
        self.assertIn("socket 0", out)
        again, _ = self.voltpile("topo", "--cluster", "here.toml")
        self.assertEqual(again.split(":")[0], out.split(":")[0])
        root = xml.etree.ElementTree.parse(self.folder / "here.svg").getroot()
        self.assertTrue(root.tag.endswith("svg"))

    def test_names_the_line_of_a_wrong_description(self):
        text = (CLUSTERS / "dgx_1v.toml").read_text().replace("between = [0, 1]", "between = [0, 8]")
        (self.folder / "wrong.toml").write_text(text)
        line = text.splitlines().index("between = [0, 8]") + 1
        _, err = self.voltpile("topo", "--cluster", "wrong.toml", expect=BAD_INPUT)
        self.assertEqual(err, f"wrong.toml:{line}: between names GPU 8, but the host has 8 GPUs: 0 to 7\n")

    def test_says_which_file_cannot_be_written(self):
        _, err = self.voltpile("topo", "--cluster", "t180", "--svg", "missing/a.svg", expect=FAILED)
        self.assertIn("cannot write missing/a.svg", err)


class Plan(Case):
    def test_binds_ranks_and_explains(self):
        out, _ = self.voltpile("plan", TINY, "--cluster", "dgx_1v", "--explain")
        self.assertRegex(out, r"\n +7  dgx1 .* cores 23, 36-39, mlx5_3\n")
        self.assertRegex(out, r"80 multiprocessors x 32 FP64 instructions x 1.53 GHz")

    def test_training_that_does_not_fit_ends_with_exit_code_3(self):
        out, _ = self.voltpile("plan", "--training", "175e9", "--cluster", "h200_x8", expect=CANNOT_RUN)
        self.assertRegex(out, r"3\.[12] TB for weights, gradients and AdamW")  # 18 bytes x 175e9 = 3.15 TB
        self.assertIn("it does not fit", out)
        self.voltpile("plan", "--training", "34e9", "--cluster", "h200_x8")

    def test_needs_a_job_or_a_model_to_train(self):
        for arguments in (("plan",), ("plan", "--lora", "8"), ("plan", TINY, "--training", "7e9")):
            with self.subTest(arguments=arguments):
                self.voltpile(*arguments, expect=BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
