#!/usr/bin/env python3
"""Records docs/pictures/terminal.svg, the terminal session of the README, from a real run.

Usage: docs/record_terminal.py VOLTPILE [OUTPUT.svg]

VOLTPILE is the program to run. Each command runs on a pseudo-terminal of 110 columns in an empty folder, with links to
jobs/ and data/. The picture shows what the program printed, line by line as it came, with pauses of at most one second. Of
a progress line that overwrites itself it shows the last state. The script needs Python only.
"""

import fcntl
import html
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = 110
SMALL = "--set sweep.x.count=200 --set sweep.y.count=200"
# The command, and after how many seconds the recorder presses Ctrl-C (0: never).
COMMANDS = [
    (f"voltpile run jobs/threebody/seed_map.toml {SMALL} --output map.h5", 6),
    (f"voltpile run jobs/threebody/seed_map.toml {SMALL} --output map.h5", 0),
    ("voltpile show map.h5 | head -10", 0),
    ('voltpile generate data/tiny_model/tiny-q8_0.gguf "And it came to pass" -n 60 --seed 7', 0),
]


class Screen:
    """The lines of a terminal that knows carriage return and "erase to the end of the line"."""

    def __init__(self):
        self.lines, self.times, self.column = [""], [None], 0
        self.overwritten = None  # the line that was erased last, with its time

    def write(self, text, now):
        i = 0
        while i < len(text):
            if text.startswith("\x1b[K", i):
                if self.column == 0 and self.lines[-1]:
                    self.overwritten = self.lines[-1], self.times[-1]
                self.lines[-1] = self.lines[-1][: self.column]
                i += 3
                continue
            if text[i] == "\x1b":  # any other escape sequence, such as a color: ends at its letter
                while i < len(text) and not text[i].isalpha():
                    i += 1
            elif text[i] == "\r":
                self.column = 0
            elif text[i] == "\n":
                if self.overwritten:
                    self.lines.insert(-1, self.overwritten[0])
                    self.times.insert(-1, self.overwritten[1])
                    self.overwritten = None
                self.lines.append("")
                self.times.append(None)
                self.column = 0
            else:
                line = self.lines[-1]
                self.lines[-1] = line[: self.column] + text[i] + line[self.column + 1 :]
                self.times[-1] = self.times[-1] or now
                self.column += 1
            i += 1


def record(command, stop_s, folder):
    """Runs the command; returns its lines with the seconds at which each began, and its exit code."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = dict(os.environ, TERM="xterm", PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    )
    os.close(terminal)
    screen, start = Screen(), time.monotonic()
    while True:
        if stop_s and time.monotonic() - start > stop_s:
            process.send_signal(signal.SIGINT)  # bash has replaced itself by the program
            screen.write("^C", stop_s)
            stop_s = 0
        if select.select([main], [], [], 0.05)[0]:
            try:
                data = os.read(main, 65536)
            except OSError:  # Linux reports the end of a pseudo-terminal as an error
                data = b""
            if not data:
                break
            screen.write(data.decode(errors="replace"), time.monotonic() - start)
    code = process.wait()
    os.close(main)
    lines = [(text.rstrip(), at or 0) for text, at in zip(screen.lines, screen.times)]
    return [line for line in lines if line[0]], code


def wrapped(text):
    """A line in pieces of the terminal's width, broken at spaces where there are some."""
    while len(text) > COLUMNS:
        cut = text.rfind(" ", COLUMNS // 2, COLUMNS)
        cut = cut if cut > 0 else COLUMNS
        yield text[:cut]
        text = "  " + text[cut:].lstrip()
    yield text


STYLE = """
  .back { fill: #f6f8fa; stroke: #d0d7de } text { fill: #1f2328; white-space: pre;
    font: 11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace }
  .command { fill: #0550ae; font-weight: 600 } .code { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #3d444d } text { fill: #f0f6fc } .command { fill: #79c0ff } .code { fill: #9198a1 }
  }
  @media (prefers-reduced-motion: no-preference) { text { animation: show 0.1s both } }
  @keyframes show { from { opacity: 0 } }
"""


def draw(session):
    """session: commands, each with its lines and exit code."""
    rows, clock = [], 0.3
    for command, lines, code in session:
        for piece in wrapped("$ " + command):
            rows.append(("command", piece, clock))
        clock += 0.7
        before = 0.0
        for text, at in lines:
            clock += min(max(at - before, 0.05), 1.0)
            before = at
            for piece in wrapped(text):
                rows.append(("line", piece, clock))
        if code:
            rows.append(("code", f"exit code {code}", clock))
        clock += 0.8
        rows.append(("line", "", clock))
    height, row_height = 24 + 17 * (len(rows) - 1) + 8, 17
    texts = [
        f'<text class="{kind}" x="16" y="{28 + row_height * i}" style="animation-delay:{at:.1f}s">'
        f"{html.escape(text)}</text>"
        for i, (kind, text, at) in enumerate(rows)
        if text
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {height}" width="800" height="{height}" role="img" '
        'xml:space="preserve">',
        "<title>A recorded terminal session: a sweep is stopped and resumed, its result shown, a model writes</title>",
        "<!-- Recorded by docs/record_terminal.py: do not edit. -->",
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="799" height="{height - 1}" rx="6"/>',
        *texts, "</svg>", "",
    ])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    output = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else SOURCE / "docs/pictures/terminal.svg"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/voltpile").symlink_to(program)
        (folder / "jobs").symlink_to(SOURCE / "jobs")
        (folder / "data").symlink_to(SOURCE / "data")
        session = [(command, *record(command, stop_s, folder)) for command, stop_s in COMMANDS]
    output.write_text(draw(session))
