"""The tiny model for tests: its files, its continuations by transformers, and damaged or oversized copies."""

import copy
import json
import os
import pathlib
import re
import shutil
import struct

MODELS = pathlib.Path(__file__).resolve().parents[2] / "data" / "tiny_model"
EXPECTED = json.loads((MODELS / "expected.json").read_text())
FILES = {"hf": "hf", "f16": "tiny-f16.gguf", "q8_0": "tiny-q8_0.gguf", "q5_k_m": "tiny-q5_k_m.gguf"}


def read_header(path):
    """Returns the header of a safetensors file and the offset of its data."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), 8 + length


def copy_with_nan(folder, tensor):
    """Copies the Hugging Face folder and makes the first number of one tensor NaN."""
    shutil.copytree(MODELS / "hf", folder)
    path = folder / "model.safetensors"
    header, data = read_header(path)
    with open(path, "r+b") as file:
        file.seek(data + header[tensor]["data_offsets"][0])
        file.write(struct.pack("<e", float("nan")))


def copy_with_large_weights(folder, tensor, factor):
    """Copies the Hugging Face folder and multiplies one tensor by `factor`, limited to the range of fp16."""
    shutil.copytree(MODELS / "hf", folder)
    path = folder / "model.safetensors"
    header, data = read_header(path)
    begin, end = header[tensor]["data_offsets"]
    form = f"<{(end - begin) // 2}e"
    with open(path, "r+b") as file:
        file.seek(data + begin)
        weights = struct.unpack(form, file.read(end - begin))
        file.seek(data + begin)
        file.write(struct.pack(form, *(max(-65504.0, min(65504.0, factor * w)) for w in weights)))


def copy_too_large(folder, weight_bytes):
    """Creates a model whose feed-forward part has at least `weight_bytes` bytes of weights, all zero, in a sparse file."""
    shutil.copytree(MODELS / "hf", folder)
    config = json.loads((folder / "config.json").read_text())
    header, _ = read_header(folder / "model.safetensors")
    header.pop("__metadata__", None)
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    most = 2**23  # half of the largest feed-forward size that the program accepts
    for layer in range(layers, -(-weight_bytes // (3 * 2 * hidden * most))):  # machines with much memory: more layers
        for name in [name for name in header if name.startswith("model.layers.0.")]:
            header[name.replace(".0.", f".{layer}.", 1)] = copy.deepcopy(header[name])
        layers = layer + 1
    config["num_hidden_layers"] = layers
    ffn = weight_bytes // (3 * 2 * hidden * layers) // 32 * 32 + 32
    config["intermediate_size"] = ffn
    (folder / "config.json").write_text(json.dumps(config))
    end = 0
    for name, tensor in header.items():
        if ".mlp." in name:
            tensor["shape"] = [hidden, ffn] if "down" in name else [ffn, hidden]
        size = 2
        for length in tensor["shape"]:
            size *= length
        tensor["data_offsets"] = [end, end + size]
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


def room_per_rank(refuse, folder):
    """How many bytes of weights the program plans for on one rank, from its message about a model that does not fit.

    Nothing else says it: the memory that a machine offers depends on its kernel, its limits and other programs.
    refuse: runs the program on a model, which it must refuse, and returns its stderr. The model must be run with a
    short context, so that its activations are small beside its weights."""
    model = folder / "probe"
    copy_too_large(model, 4 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    message = refuse(model)
    shutil.rmtree(model)
    number, unit = re.search(r"has room for ([0-9.]+) ([kMGTP]?)B", message).groups()
    return int(float(number) * 1000 ** " kMGTP".index(unit or " "))
