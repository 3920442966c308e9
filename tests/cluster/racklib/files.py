"""The files that replace the machine's own on the nodes: host names, ssh, Open MPI, shell."""

import os
import pathlib
import shutil
import subprocess

OPENMPI_PARAMETERS = pathlib.Path("/etc/openmpi/openmpi-mca-params.conf")


def write(layout):
    _write_names(layout)
    _write_ssh(layout)
    _write_openmpi(layout)
    _write_shadow(layout)
    # Replaces root's own start-up file, which may change PATH or take long.
    (layout.folder / "etc/bashrc").write_text("PS1='\\u@\\h:\\w\\$ '\n")


def replacements(layout, host):
    """Returns pairs (file of the rack, file of the machine that it replaces on the host), if the machine has it."""
    pairs = [
        (layout.own(host) / "hosts", pathlib.Path("/etc/hosts")),
        (layout.own(host) / "hostname", pathlib.Path("/etc/hostname")),
        (layout.folder / "ssh/ssh_config", pathlib.Path("/etc/ssh/ssh_config")),
        (layout.folder / "etc/openmpi-mca-params.conf", OPENMPI_PARAMETERS),
        (layout.folder / "etc/shadow", pathlib.Path("/etc/shadow")),
        (layout.folder / "etc/bashrc", pathlib.Path(os.path.expanduser("~root/.bashrc"))),
    ]
    return [(source, target) for source, target in pairs if source.exists() and target.exists()]


def _write_names(layout):
    lines = ["127.0.0.1 localhost"] + [f"{layout.address(host)} {host}" for host in layout.hosts]
    for host in layout.hosts:  # one file per host, so that a test can break the names of one node
        (layout.own(host) / "hosts").write_text("\n".join(lines) + "\n")
        (layout.own(host) / "hostname").write_text(host + "\n")


def _write_ssh(layout):
    ssh = layout.folder / "ssh"
    for key in ("host_key", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rack", "-f", ssh / key], check=True)
    shutil.copy(ssh / "id.pub", ssh / "authorized_keys")
    everyone = ",".join(name for host in layout.hosts for name in (host, layout.address(host)))
    (ssh / "known_hosts").write_text(f"{everyone} {(ssh / 'host_key.pub').read_text()}")
    (ssh / "ssh_config").write_text(f"""\
Host *
  User root
  IdentityFile {ssh}/id
  IdentitiesOnly yes
  GlobalKnownHostsFile {ssh}/known_hosts
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 5
  LogLevel ERROR
""")
    settings = " ".join(f'"{name}={value}"' for name, value in layout.rack_environment().items())
    (ssh / "sshd_config").write_text(f"""\
HostKey {ssh}/host_key
AuthorizedKeysFile {ssh}/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
UseDNS no
MaxStartups 100
PidFile /run/sshd.pid
SetEnv {settings}
""")


def _write_openmpi(layout):
    """Adds settings for few cores to the distribution's, and leaves out a search for adapters that takes 0.2 s at each start.
    Session folders are in the node's own /run: their names contain host and process number, which nodes of different racks,
    or a node before and after a crash, share."""
    text = OPENMPI_PARAMETERS.read_text() if OPENMPI_PARAMETERS.exists() else ""
    (layout.folder / "etc/openmpi-mca-params.conf").write_text(text + """
orte_tmpdir_base = /run/openmpi
hwloc_base_binding_policy = none
mpi_yield_when_idle = 1
mtl = ^ofi,psm,psm2
""")


def _write_shadow(layout):
    """Replaces a password locked with '!': sshd rejects such a root, even with the right key."""
    with open("/etc/shadow", encoding="utf-8") as file:
        lines = file.readlines()
    locked = [line for line in lines if line.startswith("root:!")]
    if locked:
        text = "".join("root:*:" + line.split(":", 2)[2] if line in locked else line for line in lines)
        handle = os.open(layout.folder / "etc/shadow", os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
