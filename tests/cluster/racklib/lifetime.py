"""Start and end of a rack: its folder and its guardian."""

import os
import pathlib
import shutil
import signal
import subprocess

from .errors import RackError
from .layout import HERE, PYTHON
from .processes import Process, children

START_TIMEOUT_S = 30
_GUARDIAN = "run/guardian.pid"


def guardian_of(folder):
    """Returns the guardian of the rack in `folder`, alive or not; None if the folder does not name it."""
    try:
        return Process.load(pathlib.Path(folder) / _GUARDIAN)
    except (OSError, ValueError):
        return None


def claim(folder):
    """Creates the folder for a new rack. Raises RackError that says why it cannot be used."""
    if any(character.isspace() for character in str(folder)):
        raise RackError(f"{folder}: choose a folder without spaces; ssh and Slurm do not accept them everywhere")
    for hidden in ("/run", "/dev", "/proc", "/sys"):
        if folder.resolve().is_relative_to(hidden):
            raise RackError(f"{folder}: nodes have their own {hidden}; choose a folder elsewhere")
    if (folder / "rack.json").exists():
        guardian = guardian_of(folder)
        if guardian and guardian.alive():
            raise RackError(f"a rack is up in {folder} (rack down)")
        take_down(folder)  # left by a rack that was killed
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RackError(f"{folder} is not empty")


def start_guardian(layout, line, owner):
    """Starts the guardian, the ancestor of all processes of the rack, and waits until it has created the switch."""
    passed = [line.theirs.fileno()]
    try:
        owner_fd = -1 if owner is None else os.pidfd_open(owner)
    except (OSError, OverflowError) as error:
        raise RackError(f"owner: no process {owner}") from error
    if owner_fd >= 0:
        passed.append(owner_fd)
    try:
        with open(layout.log("guardian"), "ab") as log:
            process = subprocess.Popen(
                ["unshare", "--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc", "--propagation",
                 "private", "--", *PYTHON, str(HERE / "guardian.py"), str(layout.folder), *map(str, passed),
                 *(["-1"] if owner_fd < 0 else [])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=passed, cwd="/", start_new_session=True)
        line.started()
        message, pid = line.receive(START_TIMEOUT_S)
        if message != "ready":
            raise RackError(f"the rack does not start: {message or layout.log_end('guardian')}")
        Process.of(pid).save(layout.folder / _GUARDIAN)
    except TimeoutError as error:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        raise RackError(f"the rack does not start in {START_TIMEOUT_S} s") from error
    finally:
        if owner_fd >= 0:
            os.close(owner_fd)


def take_down(folder):
    """Ends the rack in `folder`, alive or dead, and removes the folder. Raises RackError for other folders."""
    folder = pathlib.Path(folder).absolute()
    if not (folder / "rack.json").exists():
        raise RackError(f"no rack in {folder}")
    guardian = guardian_of(folder)
    if guardian and not guardian.end(signal.SIGTERM, 10):
        guardian.end(signal.SIGKILL, 10)
    shutil.rmtree(folder, ignore_errors=True)  # usually the guardian has removed it
