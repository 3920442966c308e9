#!/usr/bin/env python3
"""Trains small tokenizers and writes them with text and its token ids from the reference libraries.

usage: make_tokenizer_goldens.py FOLDER [--strings N] [--vocabulary N] [--seed N]

Each tokenizer has the pipeline of a family's published tokenizer.json; no published vocabulary is needed. Needs the
packages tokenizers and sentencepiece (PyPI); the files record their versions. data/llm/tokenizers was made with
--strings 200 --vocabulary 1400. A thorough comparison uses --strings 20000.
"""

import argparse
import io
import json
import pathlib
import random

import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from fuzzed_text import FuzzedText

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + TAIL
QWEN2 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + TAIL
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
# o200k_base and o200k_harmony of tiktoken.
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DEFAULT = (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]")  # of files without another name
SPACE_MARK = "▁"


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def special(*texts, **flags):
    return [AddedToken(text, special=True, normalized=False, **flags) for text in texts]


def plain(*texts, **flags):
    return [AddedToken(text, special=False, **flags) for text in texts]


def train_byte_level(lines, size, pre_tokenizer, added, normalizer=None, ignore_merges=False, bos=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    stages = [processors.ByteLevel(trim_offsets=False)]
    if bos:
        stages.append(processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, tokenizer.token_to_id(bos))]))
    tokenizer.post_processor = processors.Sequence(stages)
    definition = json.loads(tokenizer.to_str())
    definition["model"]["ignore_merges"] = ignore_merges
    return definition


def train_sentence_piece(lines, size):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=size, byte_fallback=True,
        split_digits=True, allow_whitespace_only_pieces=True, remove_extra_whitespaces=False,
        normalization_rule_name="identity", character_coverage=0.99, num_threads=1, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def merges_of(scores, texts):
    """Returns the merges that the scores imply, as in the published tokenizer.json of Llama 2."""
    ids = {text: i for i, text in enumerate(texts)}
    merges = []
    for text in texts:
        pairs = [(text[:i], text[i:]) for i in range(1, len(text)) if text[:i] in ids and text[i:] in ids]
        merges += [(scores[ids[text]], pair) for pair in sorted(pairs, key=lambda p: (ids[p[0]], ids[p[1]]))]
    return [list(pair) for _, pair in sorted(merges, key=lambda merge: -merge[0])]


def like_llama2(processor, normalizer, pre_tokenizer, added, strip=True):
    texts = [processor.id_to_piece(i) for i in range(processor.vocab_size())]
    scores = [processor.get_score(i) for i in range(processor.vocab_size())]
    normal = [i for i in range(len(texts)) if not (processor.is_control(i) or processor.is_byte(i) or
                                                   processor.is_unknown(i))]
    merges = merges_of([scores[i] for i in normal], [texts[i] for i in normal])
    tokenizer = Tokenizer(models.BPE({text: i for i, text in enumerate(texts)}, [tuple(m) for m in merges],
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    stages = [decoders.Replace(SPACE_MARK, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(stages + ([decoders.Strip(" ", 1, 0)] if strip else []))
    return json.loads(tokenizer.to_str())


def sentence_piece_keys(processor):
    """Returns the vocabulary under GGUF's key names, without the prefix tokenizer.ggml."""
    ids = range(processor.vocab_size())
    kind = lambda i: 2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else 1
    return {"model": "llama", "tokens": [processor.id_to_piece(i) for i in ids],
            "scores": [processor.get_score(i) for i in ids], "token_type": [kind(i) for i in ids]}


def definitions(size):
    lines = list(FuzzedText(seed=2).training_lines(20000))
    processor = train_sentence_piece(lines, size)
    ends = special("<unk>", "<s>", "</s>")
    escape = normalizers.Replace(" ", SPACE_MARK)
    sequence = pre_tokenizers.Sequence
    return {
        "llama3": ("llama-bpe", train_byte_level(
            lines, size, sequence([split(LLAMA3), byte_level()]), special(
                "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
            ignore_merges=True, bos="<|begin_of_text|>")),
        "qwen2": ("qwen2", train_byte_level(
            lines, size, sequence([split(QWEN2), byte_level()]),
            special("<|endoftext|>", "<|im_start|>", "<|im_end|>") +
            plain("<tool_call>", "<think>", "</think>", normalized=False), normalizer=normalizers.NFC())),
        "gpt2": ("gpt-2", train_byte_level(lines, size, byte_level(use_regex=True), special("<|endoftext|>"))),
        "tekken": ("tekken", train_byte_level(
            lines, size, sequence([split(TEKKEN), byte_level()]), special("<unk>", "<s>", "</s>", "[INST]", "[/INST]"),
            ignore_merges=True, bos="<s>")),
        "harmony": ("gpt-4o", train_byte_level(
            lines, size, sequence([split(GPT4O), byte_level()]),
            special("<|startoftext|>", "<|endoftext|>", "<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>",
                    "<|message|>", "<|call|>"))),
        "smollm": ("smollm", train_byte_level(
            lines, size, sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(use_regex=True)]),
            special("<|endoftext|>", "<|im_start|>", "<|im_end|>"))),
        "default": ("default", train_byte_level(
            lines, size, sequence([split(pattern) for pattern in DEFAULT] + [byte_level()]), special("<|endoftext|>"))),
        "added_tokens": (None, train_byte_level(
            lines, size, byte_level(use_regex=True), special("<pad>", rstrip=True) + special("<mask>", lstrip=True) +
            special("<s>", "<s> ") + plain("\u1e17<x>", "[INST]", normalized=True),
            normalizer=normalizers.NFC())),
        "llama2": (None, like_llama2(processor, normalizers.Sequence([normalizers.Prepend(SPACE_MARK), escape]), None,
                                     ends)),
        "llama2_normalized": (None, like_llama2(
            processor, normalizers.Sequence([normalizers.Prepend(SPACE_MARK), escape]), None,
            ends + plain("[INST]", "[/INST]", normalized=True))),
        "gemma": (None, like_llama2(
            processor, escape, pre_tokenizers.Split(" ", "merged_with_previous"), ends, strip=False)),
        "mistral": (None, like_llama2(
            processor, None, pre_tokenizers.Metaspace(SPACE_MARK, prepend_scheme="first", split=False),
            ends + special("[INST]", "[/INST]"))),
        "metaspace": (None, like_llama2(
            processor, None, pre_tokenizers.Metaspace(SPACE_MARK, prepend_scheme="always", split=True), ends)),
        "sentencepiece": (None, processor),
    }


def random_texts(tokenizer, size, count):
    """Returns random sequences of ids and their text."""
    numbers = random.Random(5)
    drawn = [[numbers.randrange(size) for _ in range(numbers.randint(1, 20))] for _ in range(count)]
    return [[ids, tokenizer.decode(ids)] for ids in drawn]


def golden(definition, pre, strings):
    if isinstance(definition, sentencepiece.SentencePieceProcessor):
        return {"gguf": sentence_piece_keys(definition), "parse_special": False,
                "ids": [[1] + definition.encode(text) for text in strings],
                "texts": {i: text for i, text in enumerate(definition.decode(definition.encode(s)) for s in strings)
                          if text != strings[i]}}
    tokenizer = Tokenizer.from_str(json.dumps(definition))
    ids = [tokenizer.encode(text).ids for text in strings]
    texts = [tokenizer.decode(i) for i in ids]
    tokenizer.encode_special_tokens = True
    as_text = [tokenizer.encode(text).ids for text in strings]
    tokenizer.encode_special_tokens = False
    result = {"tokenizer": definition, "parse_special": True, "ids": ids,
              "ids_without_special": {i: other for i, other in enumerate(as_text) if other != ids[i]},
              "texts": {i: text for i, text in enumerate(texts) if text != strings[i]}}
    if pre:
        result["gguf"] = {"model": "gpt2", "pre": pre}  # the other keys follow from the tokenizer
        result["random"] = random_texts(tokenizer, tokenizer.get_vocab_size(), 100)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--strings", type=int, default=200)
    parser.add_argument("--vocabulary", type=int, default=1400)
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    text = FuzzedText(arguments.seed)
    strings = ["", " ", "  ", "Hello", " Hello world"] + [text.string() for _ in range(arguments.strings - 5)]

    def write(name, value):
        with open(arguments.folder / f"{name}.json", "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")

    write("strings", {"made_with": {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__},
                      "strings": strings})
    for name, (pre, definition) in definitions(arguments.vocabulary).items():
        write(f"golden_{name}", golden(definition, pre, strings))


if __name__ == "__main__":
    main()
