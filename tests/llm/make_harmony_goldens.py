#!/usr/bin/env python3
"""Writes how OpenAI's library openai-harmony reads answers of gpt-oss models.

usage: make_harmony_goldens.py FILE                     (needs openai-harmony; FILE: data/llm/chat/golden_harmony.json)

FILE: answers, each as a list in which plain text and the names of special tokens alternate, with the messages that they
consist of. The tokens of the plain texts are those of the model's vocabulary, so a name of a special token in them is text.
The vocabulary is downloaded, or read from the folder TIKTOKEN_ENCODINGS_BASE.
"""

import json
import pathlib
import sys

from openai_harmony import Role, load_harmony_encoding

CHANNEL, MESSAGE, END, START, CONSTRAIN = (f"<|{name}|>" for name in ("channel", "message", "end", "start", "constrain"))
CALL, RETURN = "<|call|>", "<|return|>"
PARIS = '{"city": "Paris, 東京", "n": [1, {"a": "}"}]}'


def message(channel, text, end=None, to="", kind=None):
    """The parts of a message: of its header after the role, of its text and of its end."""
    parts = ["", CHANNEL, channel + (f" to={to}" if to else "") + (" " if kind else "")]
    parts += [CONSTRAIN, kind] if kind else []
    return parts + [MESSAGE, text] + ([end, ""] if end else [])


def joined(*messages):
    """One answer: messages after the first begin with their role."""
    parts = list(messages[0])
    for each in messages[1:]:
        parts += [START, "assistant" + each[0]] + list(each[1:])
    return parts


def call(name, arguments, end=CALL):
    return message("commentary", arguments, end, to=f"functions.{name}", kind="json")


ANSWERS = [
    joined(message("analysis", "The user greets. 简单。", END), message("final", "Hello!\n\n- ☕", RETURN)),
    message("final", "No thoughts.", RETURN),
    joined(message("analysis", "Only thoughts", END)),
    joined(message("analysis", "Thoughts that break")),
    joined(message("analysis", "Look", END), message("final", "An answer that bre")),
    joined(message("analysis", "One", END), message("analysis", "Two", END), message("final", "Three", RETURN)),
    joined(message("analysis", "I need the weather.", END), call("get_weather", PARIS)),
    joined(message("commentary", "I look it up.", END), call("f", "{}")),
    joined(message("analysis", "Both", END), call("f", '{"a": 1}'), call("g.h-2", '{"b": 2}')),
    joined(call("f", '{"cut": "of', None)),
    [" to=functions.f", CHANNEL, "commentary json", MESSAGE, '{"a": 1}', CALL, ""],
    joined(message("analysis", "x", END), [" to=functions.f", CHANNEL, "commentary ", CONSTRAIN, "json", MESSAGE, "{}", CALL, ""]),
    message("analysis to=python code", "print(1)", CALL),
    message("commentary to=browser.search ", '{"q": 1}', CALL),
    message("notes", "An unknown channel", END),
    ["", MESSAGE, "No channel", END, ""],
    message("final", "Write <|end|> and <|channel|>analysis<|message|> like this.", RETURN),
    joined(message("analysis", "to=functions.f <|call|> <think></think>", END), message("final", "a < b |> c", RETURN)),
    message("final", "", RETURN),
    joined(message("analysis", "\n spaces \n", END), message("final", " kept\n", RETURN)),
]


def tokens_of(encoding, parts):
    tokens = []
    for i, part in enumerate(parts):
        tokens += encoding.encode(part, allowed_special="all") if i % 2 else encoding.encode(part, disallowed_special=())
    return tokens


def read(encoding, parts):
    messages = encoding.parse_messages_from_completion_tokens(tokens_of(encoding, parts), Role.ASSISTANT, strict=False)
    return [{"channel": each.channel, "recipient": each.recipient, "text": "".join(c.text for c in each.content)}
            for each in messages]


def main(path):
    encoding = load_harmony_encoding("HarmonyGptOss")
    golden = [{"answer": parts, "messages": read(encoding, parts)} for parts in ANSWERS]
    path.write_text("[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in golden) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
