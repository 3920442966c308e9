"""Runs a Python command with packages from PyPI, in a virtual environment that is made on first use.

    python3 run_with_packages.py FOLDER REQUIREMENTS ARGUMENT...

FOLDER: of the environment, which also sees the system's packages. REQUIREMENTS: a file of pinned versions, one a line; those
with the comment "alone" are installed without what they require. The environment is made again when the file changes. Exit
code 77, which skips a test, if the packages cannot be installed, for want of a network for example.
"""

import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def main():
    folder, requirements, *arguments = sys.argv[1:]
    python = pathlib.Path(folder) / "bin" / "python"
    installed = pathlib.Path(folder) / "installed.txt"
    wanted = pathlib.Path(requirements).read_text()
    if not installed.exists() or installed.read_text() != wanted:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
        lines = [line for line in wanted.splitlines() if line.partition("#")[0]]
        others, alone = ([line.split()[0] for line in lines if ("# alone" in line) is only] for only in (False, True))
        commands = [[sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder]]
        if others:
            commands.append([*install, *others])
        if alone:
            commands.append([*install, "--no-deps", *alone])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                print("skipped, because the packages cannot be installed:", (done.stdout + done.stderr).strip()[-500:])
                sys.exit(SKIPPED)
        installed.write_text(wanted)
    os.execv(python, [str(python), *arguments])


main()
