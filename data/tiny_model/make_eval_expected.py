"""Writes eval_expected.json: the figures `voltpile model eval` must find, from transformers in fp32 and numpy in fp64.

usage: make_eval_expected.py FOLDER            (needs torch, transformers, accelerate, gguf; FOLDER holds tiny-*.gguf and held_out.txt)

perplexity   for each way to cut the text into windows: files, tokens scored, mean negative log likelihood, its standard error
divergence   of the Q5_K_M file from the F16 one over the pieces of make_expected.py: sum p log(p / q), p of F16, in nats
opening      both for the first LETTERS letters of held_out.txt, in more ways to cut them; the rest is for the whole text
"""

import json
import math
import os
import sys

import numpy as np
import torch
from make_expected import windows
from transformers import AutoModelForCausalLM, AutoTokenizer


LETTERS = 20_000  # enough for 12 windows; the whole text takes four times as long


def load(folder, name):
    return AutoModelForCausalLM.from_pretrained(folder, gguf_file=f"tiny-{name}.gguf", dtype=torch.float32).eval()


def log_probabilities(model, window):
    """Returns (len(window), words) in fp64: row i predicts the token after window[i]."""
    logits = model(torch.tensor([window])).logits[0].double().numpy()
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def losses_of(model, window, first):
    """Returns the losses of the tokens window[first:]."""
    rows = log_probabilities(model, window)
    return [-rows[i - 1, window[i]] for i in range(first, len(window))]


def fixed_length_guide(model, ids, length, stride):
    """The loop of the guide "Perplexity of fixed-length models": the first window that reaches a token scores it."""
    losses, end_before = [], 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        losses += losses_of(model, ids[begin:end], max(1, end_before - begin))
        end_before = end
        if end == len(ids):
            return losses


def behind_begin_token(model, ids, length, stride, bos):
    """The same with the begin token before each window, as one of its `length` tokens."""
    losses, end_before = [], 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length - 1, len(ids))
        losses += losses_of(model, [bos, *ids[begin:end]], 1 + end_before - begin)
        end_before = end
        if end == len(ids):
            return losses


def second_halves(model, ids, length, bos):
    """llama.cpp's loop: cuts the text behind a begin token into whole windows, replaces each first token by the begin token, and
    scores the tokens after the one at length / 2."""
    ids, losses = [bos, *ids], []
    for begin in range(0, len(ids) - length + 1, length):
        losses += losses_of(model, [bos, *ids[begin + 1 : begin + length]], length // 2 + 1)
    return losses


def summary(losses):
    losses = np.array(losses)
    return {
        "tokens": len(losses),
        "mean_loss": losses.mean(),
        "standard_error": losses.std(ddof=1) / math.sqrt(len(losses)),
        "perplexity": math.exp(losses.mean()),
    }


def divergence(model, reference, pieces):
    """For every prediction of a token of the text."""
    values, same = [], 0
    for piece in pieces:
        q, p = (log_probabilities(m, piece.tolist())[:-1] for m in (model, reference))
        values.append((np.exp(p) * (p - q)).sum(axis=1))
        same += int((p.argmax(axis=1) == q.argmax(axis=1)).sum())
    values = np.concatenate(values)
    return {
        "tokens": len(values),
        "mean": values.mean(),
        "standard_error": values.std(ddof=1) / math.sqrt(len(values)),
        "median": np.median(values),
        "percentile_99": np.percentile(values, 99),
        "largest": values.max(),
        "same_top": same / len(values),
    }


def main(folder):
    torch.set_grad_enabled(False)
    tokenizer = AutoTokenizer.from_pretrained(os.path.join(folder, "hf"))
    with open(os.path.join(folder, "held_out.txt"), encoding="ascii") as file:
        text = file.read()
    whole, ids = (tokenizer(part, add_special_tokens=False).input_ids for part in (text, text[:LETTERS]))
    bos = tokenizer.bos_token_id
    f16, q5 = load(folder, "f16"), load(folder, "q5_k_m")
    expected = {
        "perplexity": {"q5_k_m, pieces": summary(behind_begin_token(q5, whole, 512, 511, bos))},
        "divergence": divergence(q5, f16, list(windows(whole, 512, bos))),
        "opening": {
            "letters": LETTERS,
            "perplexity": {
                "q5_k_m, pieces": summary(behind_begin_token(q5, ids, 512, 511, bos)),
                "f16, stride 100 of 256": summary(behind_begin_token(f16, ids, 256, 100, bos)),
                "f16, stride 256 of 512, no begin token": summary(fixed_length_guide(f16, ids, 512, 256)),
                "f16, second halves of 512": summary(second_halves(f16, ids, 512, bos)),
            },
            "divergence": divergence(q5, f16, list(windows(ids, 512, bos))),
        },
    }
    with open(os.path.join(folder, "eval_expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
