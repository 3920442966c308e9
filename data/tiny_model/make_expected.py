"""Writes expected.json: what transformers computes for each file of the tiny model, in fp32 on the CPU.

usage: make_expected.py KJV.txt FOLDER            (needs torch, transformers, accelerate, gguf; FOLDER holds hf/ and, if any, tiny-*.gguf)

Also writes held_out.txt, the chapters that training never saw. transformers itself dequantizes the GGUF files.
  perplexity     exp of the mean negative log likelihood of every token of held_out.txt: tokenized whole without the begin token,
                 cut into pieces of context - 1, each evaluated alone behind a begin token
  kl_divergence  mean over the same tokens of sum p log(p / q), p of the fp16 weights and q of the file, in nats
  greedy         the begin token and the prompt, continued greedily; least_margin is the least lead of the chosen logit
"""

import json
import math
import os
import sys

import corpus
import torch
from torch.nn.functional import cross_entropy, kl_div
from transformers import AutoModelForCausalLM, AutoTokenizer

FILES = {"f16": "tiny-f16.gguf", "q8_0": "tiny-q8_0.gguf", "q5_k_m": "tiny-q5_k_m.gguf"}
TOKENS = 32
PROMPTS_KEPT = 3
PROMPTS = (
    "In the beginning God",
    "And it came to pass",
    "The LORD is my shepherd",
    "And the LORD spake unto Moses, saying",
    "Blessed are",
    "Then Jesus said unto them",
    "And king Solomon",
    "The sons of",
    "Thus saith the LORD",
    "And the children of Israel",
    "My son, hear",
    "Woe unto",
    "And David said",
    "And there was a",
    "Praise ye the LORD",
    "Now the days of",
)


def greedy(model, tokenizer, prompt):
    prompt_ids = tokenizer(prompt).input_ids
    ids, least = list(prompt_ids), math.inf
    for _ in range(TOKENS):
        best = model(torch.tensor([ids])).logits[0, -1].topk(2)
        least = min(least, (best.values[0] - best.values[1]).item())
        ids.append(best.indices[0].item())
    new = ids[len(prompt_ids) :]
    return {"prompt": prompt, "prompt_ids": prompt_ids, "ids": new, "text": tokenizer.decode(new), "least_margin": least}


def windows(ids, context, begin):
    for piece in torch.tensor(ids).split(context - 1):
        yield torch.cat([torch.tensor([begin]), piece])


def held_out_scores(model, reference, pieces):
    """Returns (perplexity, mean KL divergence from the reference)."""
    loss = divergence = count = 0
    for piece in pieces:
        logits, truth = (m(piece[None, :-1]).logits[0] for m in (model, reference))
        loss += cross_entropy(logits, piece[1:], reduction="sum").item()
        divergence += kl_div(logits.log_softmax(-1), truth.log_softmax(-1), reduction="sum", log_target=True).item()
        count += len(piece) - 1
    return math.exp(loss / count), divergence / count


def main(text, folder):
    torch.set_grad_enabled(False)
    _, held_out = corpus.split(corpus.read_chapters(text))
    unseen = "".join(map(corpus.as_text, held_out))
    with open(os.path.join(folder, "held_out.txt"), "w", encoding="ascii") as file:
        file.write(unseen)

    hf = os.path.join(folder, "hf")
    tokenizer = AutoTokenizer.from_pretrained(hf)
    reference = AutoModelForCausalLM.from_pretrained(hf, dtype=torch.float32).eval()
    ids = tokenizer(unseen, add_special_tokens=False).input_ids
    pieces = list(windows(ids, reference.config.max_position_embeddings, tokenizer.bos_token_id))

    runs = [greedy(reference, tokenizer, prompt) for prompt in PROMPTS]
    whole = [run for run in runs if tokenizer.eos_token_id not in run["ids"]]
    kept = sorted(whole, key=lambda run: run["least_margin"])[-PROMPTS_KEPT:]
    perplexity, _ = held_out_scores(reference, reference, pieces)
    expected = {"held_out_tokens": len(ids), "hf": {"perplexity": perplexity, "greedy": kept}}
    files = {label: file for label, file in FILES.items() if os.path.exists(os.path.join(folder, file))}
    for label, file in files.items():
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()
        if AutoTokenizer.from_pretrained(folder, gguf_file=file)(unseen).input_ids[1:] != ids:
            raise RuntimeError(f"{file}: its tokenizer is not that of {hf}")
        perplexity, divergence = held_out_scores(model, reference, pieces)
        expected[label] = {
            "perplexity": perplexity,
            "kl_divergence": divergence,
            "greedy": [greedy(model, tokenizer, run["prompt"]) for run in kept],
        }
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    for label in ("hf", *files):
        print(label, {k: v for k, v in expected[label].items() if k != "greedy"})
        for run in expected[label]["greedy"]:
            print(f"  {run['least_margin']:.3f} {run['prompt']!r} {run['text']!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
