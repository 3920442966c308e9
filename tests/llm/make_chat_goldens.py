#!/usr/bin/env python3
"""Writes conversations as the library `transformers` renders them with the models' own chat templates.

usage: make_chat_goldens.py TEMPLATES FILE

TEMPLATES is a folder with a file <name>.jinja for each family in `ChatTemplate::names`: the chat_template of a model of
that family, from its tokenizer_config.json. The templates are not part of this repository. No conversation uses tools.
Needs the packages transformers, tokenizers and jinja2 (PyPI).
"""

import json
import pathlib
import sys

import jinja2
import tokenizers
import transformers

ENDS = {"llama2": ("<s>", "</s>"), "llama3": ("<|begin_of_text|>", "<|eot_id|>")}


def turns(*contents):
    """Returns messages that alternate between user and assistant; a first list holds the system message."""
    messages = []
    for content in contents:
        if isinstance(content, list):
            messages.append({"role": "system", "content": content[0]})
        else:
            others = len([m for m in messages if m["role"] != "system"])
            messages.append({"role": "assistant" if others % 2 else "user", "content": content})
    return messages


CONVERSATIONS = [
    turns("Hello"),
    turns(["You are a pirate."], "Hello"),
    turns("Hello", "Hi there", "Who are you?"),
    turns(["Be brief."], "Hello", "Hi there", "Who are you?", "   I am an assistant \n\n", "  Another question\t\n"),
    turns(["  spaces around \n"], "\u00a0\u2003\x1f Ümläute, 你好 \u3000", "\n\nfine\x1c", "🏳️‍🌈\u200b "),
    turns("", "", ""),
    turns("Hello", "Hi there"),
    turns(["Be brief."], "Hello", " Hi there "),
    turns("2+2?", "<think>\nIt is 4.\n</think>\n\n4", "And 3+3?"),
    turns("2+2?", "<think>\n\nIt is 4.\n\n</think>\n\n4\n"),
    turns("2+2?", "I </think> think <think> so </think>\n\n\n4", "<tool_response>6</tool_response>",
          "<think>\nSix.</think>6", "<tool_response>7</tool_response>", "plain", "<tool_response>8</tool_response>"),
    turns(["Only the system's."]),
    [{"role": "assistant", "content": "I begin."}, {"role": "user", "content": "Do you?"}],
    [{"role": "user", "content": "One"}, {"role": "user", "content": "Two"}],
    [{"role": "user", "content": "One"}, {"role": "system", "content": "Late."}, {"role": "user", "content": "Two"}],
]


def rendered(template, messages, bos, eos, prompt, thinking):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()), bos_token=bos, eos_token=eos)
    try:
        return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False,
                                             add_generation_prompt=prompt, enable_thinking=thinking)
    except jinja2.exceptions.TemplateError:
        return None  # the template raises an error


def main():
    folder, file = map(pathlib.Path, sys.argv[1:])
    families = []
    for path in sorted(folder.glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        bos, eos = ENDS["llama3" if path.stem.startswith("llama3") else "llama2"]
        cases = [{"messages": number, "generation_prompt": prompt, "thinking": thinking,
                  "text": rendered(template, messages, bos, eos, prompt, thinking)}
                 for number, messages in enumerate(CONVERSATIONS) for prompt in (True, False)
                 for thinking in ((True, False) if path.stem == "qwen3" else (True,))]
        families.append({"name": path.stem, "bos": bos, "eos": eos, "cases": cases})
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"made_with": {"transformers": transformers.__version__, "jinja2": jinja2.__version__},
                   "conversations": CONVERSATIONS, "families": families}, out, ensure_ascii=False, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
