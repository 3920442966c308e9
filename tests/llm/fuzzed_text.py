"""Generates random text in many scripts, for training small tokenizers and for comparing tokenizers."""

import argparse
import inspect
import pydoc_data.topics
import random

SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäöüßéèñçøåőžłı",
    "capitals": "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÉÑŽİ",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωάέή",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёїєґ",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשת" + "\u05b8\u05b0\u05bc",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىءآ" + "\u064e\u0650\u0651\u0640",
    "devanagari": "कखगघचछजझटठडढणतथदधनपफबभमयरलवशषसह" + "\u093e\u093f\u0940\u0941\u0947\u094b\u094d\u0902\u093c",
    "thai": "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศษสหอฮ" + "\u0e31\u0e34\u0e35\u0e38\u0e48\u0e49",
    "han": "的一是不了人我在有他这中大来上国和地到以说时要就出会可也你对生能而子那得于着下自之年過發後",
    "kana": "あいうえおかきくけこさしすせそがぎぐアイウエオカキクケコ" + "\u3099\u309aー",
    "hangul": "가각간나다라마바사아자차카타파하한국어는을를이" + "\u1100\u1161\u11a8",
}
ZERO_WIDTH_JOINER, VARIATION, KEYCAP = "\u200d", "\ufe0f", "\u20e3"
SKIN_TONES = [chr(c) for c in range(0x1F3FB, 0x1F400)]
EMOJI = ["😀", "🤖", "👩", "👨", "👧", "👍", "✋", "🏳", "🌈", "❤", "🇩", "🇪", "🇺", "🇸", "🫠"]
COMBINING = [chr(c) for c in range(0x300, 0x330)] + ["\u0345", "\u0483", "\u20d7", "\u1dc4"]
WHITE_SPACE = [" "] * 12 + ["\n"] * 6 + list("\t\r\v\f") + [
    "\u00a0", "\u0085", "\u1680", "\u180e", "\u2002", "\u2003", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f",
    "\u205f", "\u3000", "\u200b", "\ufeff", "\x1c", "\x1f", "▁"]
CONTROLS = [chr(c) for c in range(1, 32)] + ["\x7f", "\x00", "\u0080", "\u009f", "\u200e", "\u202e", "\u2060", "\ufffd",
                                             "\ufffe", "\U0010ffff", "\ue000"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["…", "—", "«", "»", "“", "”", "’", "¿", "·", "،", "。", "、",
                                                              "€", "№", "±", "×", "°", "™", "→", "█"]
DIGITS = list("0123456789") + ["٣", "५", "๕", "Ⅷ", "½", "²", "①", "𝟘", "〇", "௧"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'M", "'lL", "'D", "'ſ", "’s",
                "don't", "WE'LL", "I'M", "they're", "O'Reilly", "'tis", "rock'n'roll"]
CANONICAL = ["e\u0301", "A\u030a", "\u212b", "\u2126", "ﬁ", "한", "\u1112\u1161\u11ab", "q\u0307\u0323", "\u0958",
             "\u0915\u093c", "\u30ab\u3099", "\u1e9b\u0323", "ǆ", "ŉ", "\u0344", "\u2000", "\u0340"]
# The special tokens of all families, so that in each tokenizer most of them are plain text.
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>",
           "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<s>", "</s>", "<unk>",
           "[INST]", "[/INST]", "<mask>", "<pad>", "<|im_", "|>", "<0x0A>", "e\u0304\u0301<x>", "[INST", "<s> "]


def english_and_code():
    topics = pydoc_data.topics.topics
    return [line for name in sorted(topics) for line in topics[name].splitlines() if line.strip()] + \
        inspect.getsource(argparse).splitlines()


class FuzzedText:
    def __init__(self, seed):
        self.random = random.Random(seed)
        lexicon = random.Random(1)  # the same words for any seed, so that a tokenizer can learn them
        self.words = {
            script: ["".join(lexicon.choices(letters, k=lexicon.randint(1, 9))) for _ in range(300)]
            for script, letters in SCRIPTS.items()}
        self.lines = english_and_code()

    def word(self, script):
        return self.words[script][min(int(self.random.expovariate(1 / 40)), 299)]

    def sentence(self, script=None):
        script = script or self.random.choice(list(SCRIPTS))
        glue = "" if script in ("han", "kana", "thai") else " "
        return glue.join(self.word(script) for _ in range(self.random.randint(1, 12)))

    def piece(self):
        r = self.random
        kind = r.randrange(17)
        if kind < 3:
            return self.sentence()
        if kind == 3:
            return "".join(r.choices(SCRIPTS[r.choice(list(SCRIPTS))], k=r.randint(1, 12)))
        if kind == 4:
            return "".join(r.choices(WHITE_SPACE, k=r.randint(1, 6)))
        if kind == 5:
            return r.choice(" \n\t\r") * r.randint(1, 20)
        if kind == 6:
            return "".join(r.choices(DIGITS, k=r.randint(1, 8)))
        if kind == 7:
            return str(r.randint(0, 10 ** r.randint(1, 12)))
        if kind == 8:
            return "".join(r.choices(PUNCTUATION, k=r.randint(1, 5)))
        if kind == 9:
            return r.choice(["", " ", self.word("latin"), self.word("capitals")]) + r.choice(CONTRACTIONS)
        if kind == 10:
            base = r.choice(EMOJI)
            return base + r.choice(["", VARIATION, r.choice(SKIN_TONES), ZERO_WIDTH_JOINER + r.choice(EMOJI),
                                    VARIATION + ZERO_WIDTH_JOINER + r.choice(EMOJI), "1" + VARIATION + KEYCAP])
        if kind == 11:
            return r.choice("aeionuAOкиしह ") + "".join(r.choices(COMBINING, k=r.randint(1, 4)))
        if kind == 12:
            return r.choice(CANONICAL)
        if kind == 13:
            return r.choice(CONTROLS)
        if kind == 14:
            return r.choice(SPECIAL)
        if kind == 15:
            return r.choice(self.lines)[:r.randint(1, 80)]
        return "".join(chr(r.choice((r.randint(0x20, 0x2FF), r.randint(0x370, 0xD7FF), r.randint(0x1F300, 0x1F64F))))
                       for _ in range(r.randint(1, 4)))

    def string(self):
        return "".join(self.piece() + self.random.choice(["", "", " "])
                       for _ in range(min(1 + int(self.random.expovariate(1 / 4)), 30)))

    def training_lines(self, count):
        r = self.random
        for _ in range(count):
            yield r.choice(self.lines) if r.random() < 0.4 else self.sentence() + r.choice([".", "!", "? ", "", "123", "  "])
