"""First process of a rack's own process, network and mount namespaces, which contain all nodes.

usage: guardian.py FOLDER CONTROL_FD OWNER_FD

Creates the switch. Ends the rack and removes its folder on SIGTERM, when the owner ends (OWNER_FD: a pidfd; -1: none), or
when the process that brings the rack up ends before it sends "up" over CONTROL_FD. If this process is killed, the kernel ends
everything inside; only the folder remains.
"""

import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys

SWITCH = "switch"


def make_switch():
    for scope in ("all", "default"):
        setting = pathlib.Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if setting.exists():
            setting.write_text("1")
    done = subprocess.run(["ip", "-batch", "-"], capture_output=True, text=True, check=False, input=f"""\
link add {SWITCH} type bridge stp_state 0 forward_delay 0 mcast_snooping 0
link set {SWITCH} up
""")
    if done.returncode != 0:
        raise OSError(f"ip: {done.stderr.strip()}")


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def guard(control, owner_fd):
    """Returns when the rack must end."""
    wakeup_read, wakeup_write = os.pipe()
    for fd in (wakeup_read, wakeup_write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    poll = select.poll()
    poll.register(wakeup_read, select.POLLIN)
    poll.register(control, select.POLLIN)
    if owner_fd >= 0:
        poll.register(owner_fd, select.POLLIN)
    control.send(b"ready")
    while True:
        for fd, _ in poll.poll():
            if fd == owner_fd:
                return
            if fd == wakeup_read:
                if signal.SIGTERM in os.read(wakeup_read, 4096):
                    return
                reap()
            elif control.recv(64) == b"up":
                poll.unregister(control)
            else:
                return


def tear_down(folder):
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
    shutil.rmtree(folder, ignore_errors=True)


def main():
    folder, control_fd, owner_fd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    control = socket.socket(fileno=control_fd)
    try:
        make_switch()
        guard(control, owner_fd)
    except OSError as error:
        control.send(str(error).encode())
        raise
    finally:
        tear_down(folder)


if __name__ == "__main__":
    main()
