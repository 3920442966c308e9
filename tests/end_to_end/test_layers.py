"""Include directions, so that the picture in docs/architecture.md stays true."""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MAY_INCLUDE = {
    "base": set(),
    "machine": {"base"},
    "http": {"base"},
    "job": {"base"},
    "plan": {"base", "job"},
    "device": {"base"},
    "measure": {"base", "device"},
    "comm": {"base", "device"},
    "work": {"base", "device", "comm"},
    "results": {"base", "job", "plan", "device", "comm", "work"},
    "plot": {"base", "job", "plan", "device", "comm", "work", "results"},
    "view": {"base", "http", "job", "plan", "device", "comm", "work", "results", "plot"},
    "run": {"base", "http", "machine", "job", "plan", "device", "comm", "work", "results", "plot"},
    "sweep": {"base", "job", "plan", "device", "comm", "work", "results", "run"},
    "health": {"base", "machine", "job", "plan", "device", "measure", "comm", "run"},
    "cluster": {"base", "machine", "job", "plan", "device", "comm", "work", "results", "plot", "run", "health"},
}
# The layers inside apps/llm.
LLM_MAY_INCLUDE = {
    "model": set(),
    "tokenizer": {"model"},
    "grammar": {"tokenizer", "model"},
    "chat": {"tokenizer"},
    "ops": {"model"},
    "decoder": {"model", "ops"},
    "engine": {"grammar", "tokenizer", "model", "ops", "decoder"},
    "replica": {"grammar", "tokenizer", "model", "ops", "decoder", "engine"},
    "eval": {"grammar", "tokenizer", "model", "ops", "decoder", "engine", "replica"},
    "quantize": {"grammar", "tokenizer", "model", "ops", "decoder", "engine", "replica", "eval"},
    "session": {"grammar", "tokenizer", "chat", "model", "ops", "decoder", "engine", "replica"},
    "bench": {"grammar", "tokenizer", "chat", "model", "ops", "decoder", "engine", "replica", "session", "eval"},
    "serve": {"grammar", "tokenizer", "chat", "model", "ops", "decoder", "engine", "replica", "session"},
    "prompt_job": {"grammar", "tokenizer", "chat", "model", "ops", "decoder", "engine", "replica", "session"},
}
# Headers of libraries that stay inside one layer.
CONFINED = {
    r"hdf5": "results",
    r"H5\w+\.h": "results",
    r"png\.h": "plot",
    r"hwloc": "run",
    r"nccl": "comm",
    r"ucp/": "comm",
    r"mpi\.h": "comm",
    r"CLI/": "cli",
    r"boost/(?!multiprecision)": "http",
    r"boost/multiprecision": "rootmap",
    r"openssl/": "http",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def includes(path):
    return INCLUDE.findall(path.read_text())


def sources(folder):
    return [p for p in folder.rglob("*") if p.suffix in (".h", ".cpp", ".cu", ".cuh")]


class Layers(unittest.TestCase):
    def test_layers_include_downwards_only(self):
        seen = 0
        for layer, below in MAY_INCLUDE.items():
            for path in sources(SOURCE / "src" / layer):
                for name in includes(path):
                    first = name.split("/")[0]
                    if "/" in name and first in MAY_INCLUDE:
                        seen += 1
                        self.assertIn(first, below | {layer}, f"{path} includes {name}")
        self.assertGreater(seen, 50)

    def test_llm_layers_include_downwards_only(self):
        folder = SOURCE / "apps" / "llm"
        self.assertEqual({p.name for p in folder.iterdir() if p.is_dir() and sources(p)}, set(LLM_MAY_INCLUDE))
        seen = 0
        for layer, below in LLM_MAY_INCLUDE.items():
            for path in sources(folder / layer):
                for name in includes(path):
                    if name.startswith("llm/"):
                        seen += 1
                        self.assertIn(name.split("/")[1], below | {layer}, f"{path} includes {name}")
        self.assertGreater(seen, 50)

    def test_src_never_includes_apps_and_apps_never_each_other(self):
        folders = {p.name for p in (SOURCE / "apps").iterdir() if p.is_dir()}
        apps = folders - {"cli"}  # the command line, which may include them all
        self.assertLessEqual({"threebody", "rootmap"}, apps)
        for path in sources(SOURCE / "src"):
            for name in includes(path):
                self.assertNotIn(name.split("/")[0], folders, f"{path} includes {name}")
        for app in apps:
            for path in sources(SOURCE / "apps" / app):
                for name in includes(path):
                    self.assertNotIn(name.split("/")[0], folders - {app}, f"{path} includes {name}")

    def test_libraries_stay_in_their_layer(self):
        for path in sources(SOURCE / "src") + sources(SOURCE / "apps"):
            layer = path.relative_to(SOURCE).parts[1] if path.parts else ""
            home = "cli" if path == SOURCE / "apps/main.cpp" else layer
            for name in includes(path):
                for pattern, allowed in CONFINED.items():
                    if re.match(pattern, name):
                        self.assertEqual(home, allowed, f"{path} includes {name}")


if __name__ == "__main__":
    unittest.main()
