"""The tiny model with the special tokens and the answer format of gpt-oss."""

import json
import shutil

from tiny_model import MODELS

# Like the end of gpt-oss's template, though without the marker that answers have to begin with; and what its tokenizer has beside its words.
TEMPLATE = """{% for message in messages %}<|start|>{{ message.role }}: {{ message.content }}<|end|>{% endfor -%}
{% if reasoning_effort %}{{ reasoning_effort }}{% endif %}{% for tool in tools or [] %}{{ tool.function.description + '\\n' }}{% endfor -%}
{#- <|channel|><|message|> -#}<|start|>assistant"""
SPECIAL = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "<|call|>", "<|return|>"]
WORDS = ["analysis", "final"]


def make_harmony_model(folder):
    """Writes a model whose last words are these tokens. Returns their numbers by name."""
    shutil.copytree(MODELS / "hf", folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    words, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    ids = {name: len(words) - len(WORDS + SPECIAL) + i for i, name in enumerate(WORDS + SPECIAL)}
    gone = {word for word, i in words.items() if i in ids.values()}
    tokenizer["model"]["vocab"] = {word: i for word, i in words.items() if word not in gone}
    tokenizer["model"]["merges"] = [m for m in merges if not gone & {m[0], m[1], m[0] + m[1]}]
    pattern = tokenizer["added_tokens"][0]
    tokenizer["added_tokens"] += [{**pattern, "id": i, "content": name, "special": name in SPECIAL} for name, i in ids.items()]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    generation = json.loads((folder / "generation_config.json").read_text())
    generation["eos_token_id"] = [1, ids["<|return|>"], ids["<|call|>"]]
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return ids


def thinking_biases(ids):
    """Biases under which an answer begins with the channel of thoughts, if tokens that came have a penalty of 100."""
    return {str(ids["<|channel|>"]): 100, str(ids["analysis"]): 85, str(ids["<|message|>"]): 70}
