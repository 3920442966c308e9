"""First process of a node: sets up the node's file systems and network, starts its services, then reaps processes.

usage: node_init.py FOLDER HOST CONTROL_FD      (in fresh net, uts, mount, ipc and pid namespaces)

Over CONTROL_FD it sends "born", waits for "wired" (the network card exists) and sends "ready" or an error message.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from racklib import files, layout as rack_layout  # noqa: E402


def mount(*arguments):
    subprocess.run(["mount", "-n", *map(str, arguments)], check=True)


def bind(source, target):
    mount("--bind", source, target)


def mount_node(layout, host):
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for name in ("sshd", "munge", "slurmd", "slurmtmp", "openmpi", "lock", "cgroup"):
        os.mkdir(f"/run/{name}")
    # UCX lists network cards from /sys, which shows those of the namespace that mounted it.
    cgroups = os.path.isdir("/sys/fs/cgroup")
    if cgroups:
        mount("--rbind", "/sys/fs/cgroup", "/run/cgroup")
    mount("-t", "sysfs", "sysfs", "/sys")
    if cgroups:
        mount("--move", "/run/cgroup", "/sys/fs/cgroup")
    for source, target in files.replacements(layout, host):
        bind(source, target)
    user_settings = os.path.expanduser("~root/.ssh")
    if os.path.isdir(user_settings):  # would take precedence over the rack's
        mount("-t", "tmpfs", "-o", "mode=700", "tmpfs", user_settings)
    bind(layout.disk(host), layout.local)


def make_gpus():
    os.mkdir(rack_layout.GPU_DEVICES)
    for index in range(rack_layout.GPUS_PER_NODE):
        os.mknod(f"{rack_layout.GPU_DEVICES}/gpu{index}", 0o666 | 0o020000, os.makedev(1, 3))  # like /dev/null


def forbid_ipv6():
    for scope in ("all", "default"):
        setting = pathlib.Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if setting.exists():
            setting.write_text("1")


def configure_network(layout, host):
    subprocess.run(["ip", "-batch", "-"], check=True, text=True, input=f"""\
link set lo up
addr add {layout.address(host)}/24 dev eth0
link set eth0 up
""")


def start_sshd(layout, host):
    # sshd requires its absolute path.
    subprocess.run([shutil.which("sshd"), "-f", layout.folder / "ssh/sshd_config", "-E", layout.log(f"{host}.sshd")],
                   check=True)


def start_munged(layout, host):
    key = "/run/munge/munge.key"
    shutil.copyfile(layout.munge_key, key)
    os.chmod(key, 0o400)
    subprocess.run(["munged", "--socket=/run/munge/munge.socket.2", f"--key-file={key}", "--num-threads=2",
                    "--pid-file=/run/munge/munged.pid", "--seed-file=/run/munge/munge.seed",
                    "--log-file=/run/munge/munged.log"], check=True)


def await_file(path, timeout_s):
    deadline = time.monotonic() + timeout_s
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} did not appear in {timeout_s} s")
        time.sleep(0.005)


def boot(layout, host, control):
    control.send(b"born")
    socket.sethostname(host)
    mount_node(layout, host)
    forbid_ipv6()
    if layout.slurm:
        make_gpus()
        start_munged(layout, host)
    if control.recv(64) != b"wired":
        raise ConnectionError("the process that booted this node ended")
    configure_network(layout, host)
    start_sshd(layout, host)
    await_file("/run/sshd.pid", 20)  # sshd writes it when it listens


def reap_for_ever():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwait({signal.SIGCHLD})


def main():
    layout, host, control = rack_layout.Layout.load(sys.argv[1]), sys.argv[2], socket.socket(fileno=int(sys.argv[3]))
    os.environ.update(PATH=layout.environment()["PATH"])
    try:
        boot(layout, host, control)
    except Exception as error:
        control.send(f"{type(error).__name__}: {error}".encode())
        raise
    control.send(b"ready")
    control.close()
    reap_for_ever()


if __name__ == "__main__":
    main()
