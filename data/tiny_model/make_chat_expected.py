"""Writes chat_expected.json: a greedy chat of two turns with the tiny model, computed by transformers in fp32.

usage: make_chat_expected.py FOLDER            (needs torch, transformers, accelerate, gguf; FOLDER holds hf/ and tiny-f16.gguf)

The template is ChatML, whose marks are plain text to this model. Each turn's ids are the drawn ids of earlier turns followed by the
ids of the text that the template adds. least_margin is the least lead of a chosen logit: rounding does not change such an answer.
"""

import json
import math
import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SYSTEM = "Speak of the king"
QUESTIONS = (
    ("And who art thou?", "And it came to pass"),
    ("Thus saith the LORD", "And David said"),
    ("The sons of Levi", "And the children of Israel"),
    ("Blessed are the meek", "And there was a man"),
    ("My son, hear", "Woe unto them"),
    ("In those days", "And the king said unto him"),
)
TOKENS = 20


def chat(model, tokenizer, questions):
    messages, ids, text, least, turns = [{"role": "system", "content": SYSTEM}], [], "", math.inf, []
    for question in questions:
        messages.append({"role": "user", "content": question})
        whole = tokenizer.apply_chat_template(messages, chat_template=CHATML, tokenize=False, add_generation_prompt=True)
        added = tokenizer(whole.removeprefix(text), add_special_tokens=False).input_ids
        ids += added
        answer = []
        for _ in range(TOKENS):
            best = model(torch.tensor([ids])).logits[0, -1].topk(2)
            least = min(least, (best.values[0] - best.values[1]).item())
            ids.append(best.indices[0].item())
            answer.append(ids[-1])
        messages.append({"role": "assistant", "content": tokenizer.decode(answer)})
        text = whole + tokenizer.decode(answer)
        turns.append({"question": question, "added": len(added), "ids": answer, "text": tokenizer.decode(answer)})
    ended = any(tokenizer.eos_token_id in turn["ids"] for turn in turns)
    return {"system": SYSTEM, "turns": turns, "least_margin": -1 if ended else least}


def main(folder):
    torch.set_grad_enabled(False)
    tokenizer = AutoTokenizer.from_pretrained(os.path.join(folder, "hf"))
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file="tiny-f16.gguf", dtype=torch.float32).eval()
    best = max((chat(model, tokenizer, questions) for questions in QUESTIONS), key=lambda each: each["least_margin"])
    with open(os.path.join(folder, "chat_expected.json"), "w", encoding="utf-8") as file:
        json.dump(best, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
