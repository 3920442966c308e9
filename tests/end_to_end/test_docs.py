"""Checks the documentation against the repository: every path and link exists, every picture matches its source."""

import glob
import importlib.util
import pathlib
import re
import unittest
import xml.etree.ElementTree

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md")]
# A path of the repository: in backquotes, in a command, or in a message that the page quotes.
PATH = re.compile(r"(?<![\w/.<-])(?:src|apps|docs|jobs|data|slurm|tests|\.ci)/[\w./{},*-]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
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
