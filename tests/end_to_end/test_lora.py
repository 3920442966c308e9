"""LoRA adapters of the tiny model: text as of the model with merged weights, several at once in commands, jobs and servers.

The adapters are random. numpy merges them into the weights of a copy of the model: W + alpha / r B A (arXiv:2106.09685).
"""

import json
import shutil
import struct
import unittest

import numpy

from harness import BAD_INPUT, ENVIRONMENT, Case
from llm_case import JOB, LlmJob
from serving import ServeCase
from tiny_model import MODELS

MODULES = {"self_attn.q_proj": (256, 256), "self_attn.k_proj": (128, 256), "self_attn.v_proj": (128, 256),
           "self_attn.o_proj": (256, 256), "mlp.gate_proj": (768, 256), "mlp.up_proj": (768, 256), "mlp.down_proj": (256, 768)}
MIXTURE_MODULES = {"self_attn.v_proj": (128, 256), "block_sparse_moe.gate": (4, 256)} | {
    f"block_sparse_moe.experts.{expert}.{matrix}": (256, 256) for expert in range(4) for matrix in ("w1", "w2", "w3")}
PROMPT = "And it came to pass"


def read_safetensors(path):
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    types = {"F16": numpy.float16, "F32": numpy.float32}
    return {name: numpy.frombuffer(data[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]],
                                   types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + 4 * tensor.size
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.astype("<f4").tobytes() for t in tensors.values()))


def write_adapter(folder, seed, rank=4, modules=tuple(MODULES), alpha=8, shapes=MODULES):
    """Writes a random adapter as PEFT does, and returns what it adds to each weight."""
    random = numpy.random.default_rng(seed)
    tensors, added = {}, {}
    for layer in range(4):
        for module in modules:
            rows, columns = shapes[module]
            a = (random.standard_normal((rank, columns)) / columns**0.5).astype(numpy.float32)
            b = (0.3 * random.standard_normal((rows, rank)) / rank**0.5).astype(numpy.float32)
            name = f"model.layers.{layer}.{module}"
            tensors[f"base_model.model.{name}.lora_A.weight"], tensors[f"base_model.model.{name}.lora_B.weight"] = a, b
            added[f"{name}.weight"] = alpha / rank * (b.astype(numpy.float64) @ a)
    folder.mkdir()
    write_safetensors(folder / "adapter_model.safetensors", tensors)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "bias": "none",
              "target_modules": sorted({module.split(".")[-1] for module in modules})}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return added


class LoraCase(Case):
    base_environment = ENVIRONMENT | {"VOLTPILE_CPU_LEVEL": "baseline"}
    model = MODELS / "hf"

    def setUp(self):
        super().setUp()
        self.merged = {}
        for name, seed, modules in (("one", 1, tuple(MODULES)), ("two", 2, ("self_attn.q_proj", "self_attn.v_proj"))):
            self.merged[name] = self.merge(name, write_adapter(self.folder / name, seed, modules=modules))
        self.lora = [word for name in self.merged for word in ("--lora", f"{name}={name}")]

    def merge(self, name, added):
        folder = self.folder / f"{name}_merged"
        shutil.copytree(self.model, folder)
        weights = read_safetensors(folder / "model.safetensors")
        write_safetensors(folder / "model.safetensors", {key: (weight.astype(numpy.float64) + added.get(key, 0)).astype(numpy.float32)
                                                         for key, weight in weights.items()})
        return folder

    def generated(self, model, *options, ranks=None):
        out, _ = self.voltpile("generate", model, PROMPT, "--cpu", "--max-tokens", 12, "--json", *options, ranks=ranks)
        return json.loads(out)

    def expect_merged(self, got, name):
        wanted = self.generated(self.merged[name])
        self.assertEqual(got["tokens"], wanted["tokens"])
        # Sums in fp32 in another order, and weights rounded once more.
        numpy.testing.assert_allclose(got["log_probabilities"], wanted["log_probabilities"], atol=1e-3)


class Commands(LoraCase):
    def test_text_is_that_of_the_merged_model(self):
        plain = self.generated(self.model)
        self.assertEqual(self.generated(self.model, *self.lora, "--adapter", "one")["tokens"],
                         self.generated(self.model, "--lora", "x=one")["tokens"])
        for name in self.merged:
            got = self.generated(self.model, *self.lora, "--adapter", name)
            self.expect_merged(got, name)
            self.assertNotEqual(got["tokens"], plain["tokens"])

    def test_ranks_share_adapters(self):
        for options in (["--tensor", 2], ["--pipeline", 2]):
            self.expect_merged(self.generated(self.model, *self.lora, *options, ranks=2), "one")

    def test_gguf_models_take_adapters_of_folders(self):
        got = self.generated(MODELS / "tiny-f16.gguf", *self.lora, "--adapter", "two")
        self.expect_merged(got, "two")

    def test_what_does_not_fit_is_refused(self):
        def refused(*options):
            return self.voltpile("generate", self.model, PROMPT, "--cpu", *options, expect=BAD_INPUT)[1]

        self.assertIn("--lora", refused("--lora", "one"))
        self.assertIn("two adapters have the name one", refused("--lora", "one=one", "--lora", "one=two"))
        self.assertIn("there is no --lora three=FOLDER", refused("--lora", "one=one", "--adapter", "three"))
        self.assertIn("adapter a (nothing): it does not exist", refused("--lora", "a=nothing"))
        config = json.loads((self.folder / "one/adapter_config.json").read_text()) | {"use_dora": True}
        (self.folder / "one/adapter_config.json").write_text(json.dumps(config))
        self.assertIn("\"use_dora\" is not supported", refused("--lora", "one=one"))


class Mixtures(LoraCase):
    """Adapters of experts and their router."""

    model = MODELS.parent / "tiny_mixture/hf"

    def setUp(self):
        Case.setUp(self)
        self.merged = {"one": self.merge("one", write_adapter(self.folder / "one", 5, modules=tuple(MIXTURE_MODULES),
                                                              shapes=MIXTURE_MODULES))}
        self.lora = ["--lora", "one=one"]

    def test_text_is_that_of_the_merged_model(self):
        got = self.generated(self.model, *self.lora)
        self.expect_merged(got, "one")
        self.assertNotEqual(got["tokens"], self.generated(self.model)["tokens"])

    def test_ranks_share_experts(self):
        for options in (["--tensor", 2], ["--pipeline", 2]):
            self.expect_merged(self.generated(self.model, *self.lora, *options, ranks=2), "one")

    def test_experts_that_the_model_lacks_are_refused(self):
        path = self.folder / "one/adapter_model.safetensors"
        path.write_bytes(path.read_bytes().replace(b"experts.3.", b"experts.4."))
        _, err = self.voltpile("generate", self.model, PROMPT, "--cpu", *self.lora, expect=BAD_INPUT)
        self.assertIn("block_sparse_moe.experts.4.w1 is of expert 4 where the model has 4 experts, 0 to 3", err)


class Jobs(LoraCase, LlmJob):
    def setUp(self):
        super().setUp()
        self.job.write_text(JOB.format(model=self.model).replace("[prompts]", 'lora = ["one=one", "two=two"]\n[prompts]'))

    def test_lines_choose_their_adapter(self):
        self.write_prompts([{"prompt": PROMPT, "max_tokens": 12} | ({"lora": name} if name else {})
                            for name in ("two", "", "one", "two")])
        self.voltpile("run", self.job, "--output", "a.h5")
        tokens = [row[1] for row in self.rows()]
        self.assertEqual(tokens[0], tokens[3])
        for row, model in ((0, self.merged["two"]), (1, self.model), (2, self.merged["one"])):
            self.assertEqual(tokens[row], self.generated(model)["tokens"])
        # The adapters belong to the job.
        write_adapter(self.folder / "three", 3)
        self.job.write_text(self.job.read_text().replace("one=one", "one=three"))
        self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)

    def test_unknown_adapters_are_refused_with_their_line(self):
        self.write_prompts([{"prompt": PROMPT}, {"prompt": PROMPT, "lora": "three"}])
        _, err = self.voltpile("run", self.job, "--output", "a.h5", expect=BAD_INPUT)
        self.assertIn('prompts.jsonl:2: there is no adapter "three"; there are one, two', err)


class Server(LoraCase, ServeCase):
    def test_adapters_are_models_of_the_server(self):
        self.serve(*self.lora, "--name", "base", model=self.model)
        self.assertEqual([each["id"] for each in self.get("/v1/models").json["data"]], ["base", "one", "two"])
        self.assertEqual(self.get("/v1/models/two").json["parent"], "base")
        request = {"prompt": PROMPT, "max_tokens": 12, "temperature": 0}
        texts = {}
        for name, folder in {"base": self.model, **self.merged}.items():
            answer = self.post("/v1/completions", request | {"model": name}).json
            self.assertEqual(answer["model"], name)
            texts[name] = answer["choices"][0]["text"]
            self.assertEqual(PROMPT + texts[name], PROMPT + self.generated_text(folder))
        self.assertEqual(len(set(texts.values())), 3)
        again = self.post("/v1/completions", request | {"lora": "one"}).json
        self.assertEqual(again["choices"][0]["text"], texts["one"])
        self.assertEqual(self.post("/v1/completions", request | {"model": "three"}).status, 404)
        self.assertEqual(self.post("/v1/completions", request | {"model": "one", "lora": "two"}).status, 400)

    def generated_text(self, model):
        out, _ = self.voltpile("generate", model, PROMPT, "--cpu", "--max-tokens", 12)
        return out.removeprefix(PROMPT).removesuffix("\n")


if __name__ == "__main__":
    unittest.main()
