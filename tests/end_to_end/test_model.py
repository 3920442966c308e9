"""`voltpile model`: what it says of models, and how it refuses what is none."""

import json
import os
import struct
import unittest

from harness import BAD_INPUT, Case


class Model(Case):
    def synth(self, quant="q8_0"):
        path = self.folder / f"tiny-{quant}.gguf"
        self.voltpile("model", "synth", "--shape", "tiny", "--quant", quant, "-o", path)
        return path

    def test_what_is_written_is_described(self):
        out, _ = self.voltpile("model", "info", self.synth("q5_k_m"))
        for part in ("Llama (synthetic tiny)", "4 layers, hidden 256", "Q5_K", "Q6_K", "TP2 x PP2", "fingerprint"):
            self.assertIn(part, out)
        self.assertEqual([p.suffix for p in self.folder.iterdir() if "tiny" in p.name], [".gguf"])

    def test_once_under_mpirun(self):
        out, _ = self.voltpile("model", "synth", "--shape", "llama-3-70b", "--quant", "q5_k_m", ranks=2)
        self.assertEqual(out.count("70.55 billion, 49.9 GB"), 1)

    def refuse(self, *arguments, says):
        _, err = self.voltpile("model", *arguments, expect=BAD_INPUT)
        self.assertEqual(err.count(says), 1, err)

    def test_bad_input(self):
        path = self.synth()
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        self.refuse("info", path, says="reaches beyond the end of the file")
        path.write_bytes(whole.replace(b"llama.block_count", b"llama.block_caunt"))
        self.refuse("info", path, says="the metadata lack llama.block_count")
        self.refuse("info", self.folder / "none.gguf", says="none.gguf does not exist")
        self.refuse("info", self.folder / "map.toml", says="this is not a GGUF file")
        self.refuse("synth", "--shape", "llama-3-8", "--quant", "q8_0", says="did you mean llama-3-8b?")
        self.refuse("synth", "--shape", "tiny", "--quant", "q3_k_m", says="there is no synthetic quantisation q3_k_m")
        self.refuse("synth", "--shape", "tiny", "--quant", "f16", "-o", self.folder / "no/x.gguf",
                    says="--output: there is no folder")
        os.mkfifo(self.folder / "pipe")  # as a device would, it stays where it is, and nobody waits for its other end
        self.refuse("synth", "--shape", "tiny", "--quant", "f16", "-o", self.folder / "pipe", says="no regular file")
        self.refuse("info", self.folder / "pipe", says="pipe is not a regular file")
        (self.folder / "pipe").unlink()
        (self.folder / "config.json").write_text(json.dumps({"model_type": "gemma3"}))
        (self.folder / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.refuse("info", self.folder, says='models of type "gemma3" are not supported')


if __name__ == "__main__":
    unittest.main()
