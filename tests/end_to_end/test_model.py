"""`voltpile model`: descriptions of models, synthetic models, and errors."""

import json
import os
import signal
import struct
import time
import unittest

from harness import BAD_INPUT, CANNOT_RUN, FAILED, PATIENCE, Case
from tiny_model import MODELS


class Model(Case):
    def synth(self, quant="q8_0"):
        path = self.folder / f"tiny-{quant}.gguf"
        self.voltpile("model", "synth", "--shape", "tiny", "--quant", quant, "-o", path)
        return path

    def test_describes_a_synthetic_model(self):
        out, _ = self.voltpile("model", "info", self.synth("q5_k_m"))
        for part in ("Llama (synthetic tiny)", "4 layers, hidden 256", "Q5_K", "Q6_K", "TP2 x PP2", "fingerprint"):
            self.assertIn(part, out)
        self.assertEqual([p.suffix for p in self.folder.iterdir() if "tiny" in p.name], [".gguf"])

    def test_a_synthetic_mixture_of_experts_generates(self):
        path = self.folder / "moe.gguf"
        self.voltpile("model", "synth", "--shape", "tiny-moe", "--quant", "q4_k_m", "-o", path)
        out, _ = self.voltpile("model", "info", path)
        for part in ("Qwen 2 MoE", "8 experts of 256, 2 for each token and a shared one of 512", "million for each token"):
            self.assertIn(part, out)
        one, _ = self.voltpile("generate", path, "hello", "--max-tokens", "8", "--cpu")
        again, _ = self.voltpile("generate", path, "hello", "--max-tokens", "8", "--cpu")
        self.assertEqual(one, again)

    def test_a_synthetic_model_with_latent_attention_generates(self):
        path = self.folder / "mla.gguf"
        self.voltpile("model", "synth", "--shape", "tiny-mla", "--quant", "q4_k_m", "-o", path)
        out, _ = self.voltpile("model", "info", path)
        for part in ("DeepSeek V2", "latent, 4 heads, 128 + 32 numbers of a token in the cache", "layers without experts: 1, feed-forward 768"):
            self.assertIn(part, out)
        for cache in ("fp16", "int8", "int4"):
            self.voltpile("generate", path, "hello", "--max-tokens", "8", "--cpu", "--cache", cache)

    def test_one_process_writes_a_file_and_leaves_nothing_when_stopped(self):
        path = self.folder / "large.gguf"
        unfinished = self.folder / "large.gguf.unfinished"
        first = self.start("model", "synth", "--shape", "llama-2-7b", "--quant", "q4_0", "-o", path)
        try:
            deadline = time.monotonic() + 30 * PATIENCE
            while not (unfinished.exists() and unfinished.stat().st_size > 1 << 20) and time.monotonic() < deadline:
                time.sleep(0.01)
            _, err = self.voltpile("model", "synth", "--shape", "tiny", "--quant", "f16", "-o", path, expect=CANNOT_RUN)
            self.assertEqual(err, f"another process is writing {unfinished}\n")
        finally:
            first.send_signal(signal.SIGINT)
        _, err = self.finish(first, FAILED)
        self.assertEqual(err, f"stopped: {path} is not written\n")
        self.assertEqual(list(self.folder.glob("large*")), [])

    def test_replaces_only_synthetic_models(self):
        path = self.folder / "model.gguf"
        write = ("model", "synth", "--shape", "tiny", "--quant", "q8_0", "-o", path)
        self.voltpile(*write)
        first = path.read_bytes()
        self.voltpile(*write, "--seed", "2")
        self.assertNotEqual(path.read_bytes(), first)
        real = (MODELS / "tiny-q8_0.gguf").read_bytes()
        for content in (real, real[:1000], b"notes\n", b""):
            path.write_bytes(content)
            _, err = self.voltpile(*write, expect=BAD_INPUT)
            self.assertEqual(err, f"--output: {path} exists and was not written by voltpile model synth: it stays as it is; "
                                  "choose another --output\n")
            self.assertEqual(path.read_bytes(), content)

    def test_overwrites_what_a_killed_process_left(self):
        unfinished = self.folder / "tiny-q8_0.gguf.unfinished"
        unfinished.write_bytes(b"x" * (8 << 20))  # longer than the new file
        self.voltpile("model", "info", self.synth())
        self.assertFalse(unfinished.exists())

    def test_reports_a_full_disk_before_writing(self):
        room = os.statvfs(self.folder)
        if room.f_bavail * room.f_frsize > 141e9:  # the size of Llama 3 70B in fp16
            self.skipTest("there is room for it")
        path = self.folder / "70b.gguf"
        _, err = self.voltpile("model", "synth", "--shape", "llama-3-70b", "--quant", "f16", "-o", path, expect=FAILED)
        self.assertEqual(err, f"cannot write {path}: No space left on device\n")
        self.assertEqual(list(self.folder.glob("70b*")), [])

    def test_prints_once_under_mpirun(self):
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
        self.refuse("info", path, says="the metadata has no llama.block_count")
        self.refuse("info", self.folder / "none.gguf", says="none.gguf does not exist")
        self.refuse("info", self.folder / "map.toml", says="this is not a GGUF file")
        self.refuse("inf", path, says="voltpile model has no command inf; did you mean info?")
        self.refuse("synth", "--shape", "llama-3-8", "--quant", "q8_0", says="did you mean llama-3-8b?")
        self.refuse("synth", "--shape", "tiny", "--quant", "q3_k_l", says="there is no synthetic quantization q3_k_l")
        self.refuse("synth", "--shape", "tiny", "--quant", "f16", "-o", self.folder / "no/x.gguf",
                    says="--output: there is no folder")
        os.mkfifo(self.folder / "pipe")  # stays where it is, as a device would, and nobody waits for a writer
        self.refuse("synth", "--shape", "tiny", "--quant", "f16", "-o", self.folder / "pipe", says="not a regular file")
        self.refuse("info", self.folder / "pipe", says="pipe is not a regular file")
        (self.folder / "pipe").unlink()
        (self.folder / "config.json").write_text(json.dumps({"model_type": "gemma"}))
        (self.folder / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.refuse("info", self.folder, says='models of type "gemma" are not supported')


if __name__ == "__main__":
    unittest.main()
