"""Checks the documentation against the repository: every path and link exists, every picture matches its source."""

import glob
import importlib.util
import os
import pathlib
import re
import subprocess
import unittest
import xml.etree.ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")]
# A path of the repository: in backquotes, in a command, or in a message that the page quotes.
PATH = re.compile(r"(?<![\w/.<-])(?:src|apps|docs|jobs|data|slurm|tests|\.ci)/[\w./{},*-]*")
LINK = re.compile(r"(?:\]\(|<img src=\")([^)\"\s]+)")
EXAMPLES = {"jobs/x.toml"}  # names that stand for a file of the reader's


def expand(path):
    """All paths that braces stand for: a/{b,c}.h is a/b.h and a/c.h."""
    match = re.search(r"\{([^{}]*)\}", path)
    if not match:
        return [path]
    return [p for word in match[1].split(",") for p in expand(path[: match.start()] + word + path[match.end() :])]


def named_paths(text):
    for match in PATH.finditer(text):
        if re.match(r"[<>$]", text[match.end() :]):  # a placeholder follows: src/<layer>
            continue
        for path in expand(match[0].rstrip(".,")):
            yield path


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def commands(text):
    """The commands of a page, as (words that choose the command, its options)."""
    code = re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.M | re.S) + re.findall(r"`(voltpile [^`]*)`", text)
    for line in "\n".join(code).replace("\\\n", " ").splitlines():
        line = re.split(r"(?:^|\s)#", line)[0]
        for call in re.findall(r"(?:^|\s)voltpile ([^|>\n]*)", line):
            call = call.split("   ")[0]
            words = re.match(r"(?:(?:model|bench) )?[a-z]+(?= |$)", call)
            if words:
                yield words[0], re.findall(r"(?<!\S)--?[a-z][\w-]*", call[words.end() :])


class Docs(unittest.TestCase):
    def test_every_named_path_exists(self):
        named = [
            (page.name, path)
            for page in PAGES
            if page.name != "CHANGELOG.md"  # it names paths as they were
            for path in named_paths(page.read_text())
        ]
        self.assertGreater(len(named), 100)
        missing = [n for n in named if n[1] not in EXAMPLES and not glob.glob(str(SOURCE / n[1]))]
        self.assertEqual(missing, [])

    def test_every_link_leads_somewhere(self):
        for page in PAGES:
            for link in LINK.findall(page.read_text()):
                if link.startswith(("http://", "https://", "mailto:")):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                self.assertTrue(target.exists(), f"{page.name} links to {link}, which does not exist")
                if anchor:
                    self.assertIn(anchor, list(anchors(target.read_text())), f"{page.name} links to {link}")

    def test_every_page_is_listed(self):
        index = (SOURCE / "docs/README.md").read_text()
        for page in SOURCE.glob("docs/*.md"):
            if page.name != "README.md":
                self.assertIn(f"({page.name})", index, "docs/README.md does not list it")

    def test_every_named_command_and_option_exists(self):
        helps = {}

        def help_of(words):
            if words not in helps:
                run = subprocess.run([os.environ["VOLTPILE"], *words.split(), "--help"], capture_output=True, text=True)
                helps[words] = run.stdout if run.returncode == 0 else ""
            return helps[words]

        seen = 0
        for page in PAGES:
            for words, options in commands(page.read_text()):
                seen += 1
                text = help_of(words)
                if not text and " " in words:  # `bench threebody`: the app is an argument of the command
                    words = words.split()[0]
                    text = help_of(words)
                self.assertTrue(text, f"{page.name} names `voltpile {words}`, which does not exist")
                for option in options:
                    self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])", f"{page.name}: voltpile {words} {option}")
        self.assertGreater(seen, 50)

    def test_finds_commands(self):
        page = "```\nmpirun -np 4 voltpile bench llm a.gguf --batch 1,8   # voltpile for all\n```\nRun `voltpile run x --fresh`.\n"
        self.assertEqual(list(commands(page)), [("bench llm", ["--batch"]), ("run", ["--fresh"])])

    def test_finds_missing_paths(self):
        self.assertEqual(list(named_paths("see `src/a/{b,c}.h`, docs/x.md.")), ["src/a/b.h", "src/a/c.h", "docs/x.md"])
        self.assertEqual(list(named_paths("`src/<layer>` and `tests/unit/<layer>/x`, my/src/file")), [])
        self.assertEqual(list(anchors("# Many prompts: jobs\n```\n# no\n```\n")), ["many-prompts-jobs"])


class Pictures(unittest.TestCase):
    def test_chart_matches_the_benchmarks(self):
        script = SOURCE / "docs/draw_benchmarks.py"
        spec = importlib.util.spec_from_file_location("draw_benchmarks", script)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.assertEqual(
            (SOURCE / "docs/pictures/benchmarks.svg").read_text(),
            module.draw((SOURCE / "docs/benchmarks.md").read_text()),
            "run: docs/draw_benchmarks.py",
        )

    def test_drawings_are_sound_and_legible_in_dark_mode(self):
        pictures = list((SOURCE / "docs/pictures").glob("*.svg"))
        self.assertTrue(pictures)
        for picture in pictures:
            xml.etree.ElementTree.parse(picture)
            self.assertIn("prefers-color-scheme: dark", picture.read_text(), picture.name)
        for picture in (SOURCE / "docs/pictures").iterdir():
            self.assertLess(picture.stat().st_size, 300_000, picture.name)


if __name__ == "__main__":
    unittest.main()
