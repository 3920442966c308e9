#!/usr/bin/env python3
"""Writes how the library `tokenizers` splits text with the published patterns of models' pre-tokenizers.

usage: make_split_goldens.py FOLDER                  (needs tokenizers; FOLDER: data/llm/tokenizers, has strings.json)

FOLDER/golden_splits.json: strings, and for each name of a pre-tokenizer (tokenizer.ggml.pre in GGUF) the sizes in bytes of
the pieces of each string. The patterns are those of the models' tokenizer.json, and for `default` and `falcon`, whose
definition is llama.cpp's, those of llama-vocab.cpp.
"""

import json
import pathlib
import sys

from tokenizers import Regex, pre_tokenizers

from make_tokenizer_goldens import CONTRACTION, DEFAULT, GPT2, GPT4O, LLAMA3, QWEN2

DEEPSEEK3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
             r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
CASED = "".join(f"{a}-{b}" for a, b in zip(
    "AaÀØøƼǄʕͰͻΈΎΣϷҊԱႠᎠᏸᲐᲽᴀᵫᵹḀ\u1f18\u1f20\u1f48\u1f50\u1f5f\u1f80\u1fb6\u1fc2\u1fc6\u1fd0\u1fd6\u1fe0\u1ff2\u1ff6ℊℙ\u212aℯℼⅅⰀⱾⳫꙀꚀꜢꝱꞋꭰﬀﬓＡａ𐐀𐒰𐓘𐲀𐳀𑢠𞤀",
    "ZzÖöƺƿʓʯͳͽΊΡϵҁԯՖჅᏵᏽᲺᲿᴫᵷᶚ\u1f15\u1f1d\u1f45\u1f4d\u1f57\u1f7d\u1fb4\u1fbc\u1fc4\u1fcc\u1fd3\u1fdb\u1fec\u1ff4\u1ffcℓℝℭℴℿⅉⱻⳤⳮꙭꚛꝯꞇꞎꮿﬆﬗＺｚ𐑏𐓓𐓻𐲲𐳲𑣟𞥃")) + \
    "µͶͷͿΆΌ\u1f59\u1f5b\u1f5d\u1fbeℂℇℕℤ\u2126ℨℹⅎↃↄⳲⳳ"
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"  # the inner brackets are a set within the set
STRINGS = ["`.", "``code`` `x`.", "a`b", "§1+1=2 <a|b> ~x^2", "東京、２０２６年。１２３", "café CAFÉ Straße ǅ", "x  \n\n  y\t z  ",
           "12345 ٣٤٥ ½", "ｆｕｌｌ　ｗｉｄｔｈ！（ａ）", "中文abc한국어 カタカナ", "don't WE'LL I'M 'tis", "/path/to\r\n//x", "e\u0301e\u0301 a\u0308",
           "(मैं।) ۔ ،", " .,!?", "a\u00a0b\u3000c", "#include <stdio.h>\nint main() { return 0; }", "🙂👍🏽!"]


def split(*patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


def digits_and_gpt2():
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])


PRE_TOKENIZERS = {
    "default": split(*DEFAULT),
    "falcon": split(r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"),
    "falcon3": split(LLAMA3),
    "smaug-bpe": split(LLAMA3),
    "megrez": split(QWEN2),
    "stablelm2": split(QWEN2),
    "gpt-4o": split(GPT4O),
    "olmo": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "starcoder": digits_and_gpt2(),
    "refact": digits_and_gpt2(),
    "command-r": digits_and_gpt2(),
    "deepseek-llm": split("[\r\n]", rf"\s?[{CASED}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", CJK, r"\p{N}+"),
    "deepseek-coder": split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"),
    "deepseek-v3": split(r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", DEEPSEEK3),
    "bloom": split(BLOOM),
    "viking": pre_tokenizers.Sequence([split(BLOOM), pre_tokenizers.Digits(individual_digits=True)]),
    "seed-coder": split(CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}" + "\r\n" +
                        r"]+|\s*[" + "\r\n" + r"]+|\s+(?!\S)|\s+"),
}


def sizes(pre_tokenizer, text):
    spans = [span for _, span in pre_tokenizer.pre_tokenize_str(text)]
    if "".join(text[a:b] for a, b in spans) != text:
        raise RuntimeError(f"pieces of {text!r} are not the text")
    return [len(text[a:b].encode()) for a, b in spans]


def main(folder):
    strings = json.loads((folder / "strings.json").read_text(encoding="utf-8"))["strings"]
    strings = STRINGS + [text for text in strings[::2] if text]
    golden = {"strings": strings,
              "sizes": {name: [sizes(p, text) for text in strings] for name, p in PRE_TOKENIZERS.items()}}
    with open(folder / "golden_splits.json", "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
