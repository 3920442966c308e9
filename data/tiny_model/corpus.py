"""Reads the King James text as Debian's `bible -f Gen1:1-Rev22:21` prints it: one verse a line, "Ge1:1 In the beginning ..."."""

import itertools
import re

VERSE = re.compile(r"(\d?[A-Za-z]+\d+):\d+ (.*)")
HELD_OUT_EVERY = 50  # one chapter in 50 is 2 % of the text


def read_chapters(path):
    """Returns the chapters in order, each a list of verses without their references."""
    with open(path, encoding="ascii") as lines:
        verses = [VERSE.fullmatch(line.rstrip("\n")).groups() for line in lines]
    return [[text for _, text in group] for _, group in itertools.groupby(verses, key=lambda verse: verse[0])]


def split(chapters):
    """Returns (training, held out)."""
    held_out = chapters[HELD_OUT_EVERY // 2 :: HELD_OUT_EVERY]
    training = [chapter for i, chapter in enumerate(chapters) if i % HELD_OUT_EVERY != HELD_OUT_EVERY // 2]
    return training, held_out


def as_text(chapter):
    return "".join(verse + "\n" for verse in chapter)
