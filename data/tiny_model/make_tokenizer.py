"""Trains the tiny model's tokenizer: byte-level BPE behind Llama 3's pre-tokenizer, on the training chapters.

usage: make_tokenizer.py KJV.txt OUT.json
"""

import sys

import corpus
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

VOCABULARY = 2048
BEGIN, END = "<|begin_of_text|>", "<|end_of_text|>"
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def main(text, out):
    training, _ = corpus.split(corpus.read_chapters(text))
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(map(corpus.as_text, training), trainer)
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, tokenizer.token_to_id(BEGIN))]),
        ]
    )
    tokenizer.save(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
