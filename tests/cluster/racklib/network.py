"""The rack's switch: a bridge in the rack's network namespace with a port `p-<host>` for each host."""

import json
import subprocess

from .errors import RackError
from .guardian import SWITCH


def _ip(guardian_pid, *arguments, batch=None, check=True):
    command = ["nsenter", "-t", str(guardian_pid), "-n", "ip", *arguments]
    done = subprocess.run(command, input=batch, stdin=None if batch else subprocess.DEVNULL, text=True,
                          capture_output=True, check=False)
    if check and done.returncode != 0:
        raise RackError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def wire(guardian_pid, layout, pids):
    """Connects newly booted hosts. pids: host -> its first process."""
    ports = ports_of(guardian_pid)
    batch = []
    for host, pid in pids.items():
        if f"p-{host}" in ports:  # left over if the node did not end through crash()
            batch.append(f"link del p-{host}")
        batch += [f"link add p-{host} type veth peer name eth0 address {layout.mac(host)} netns {pid}",
                  f"link set p-{host} master {SWITCH} up"]
    _ip(guardian_pid, "-batch", "-", batch="\n".join(batch) + "\n")


def ports_of(guardian_pid):
    """Returns port -> {"up": administratively up, "switched": attached to the bridge}."""
    links = json.loads(_ip(guardian_pid, "-json", "link", "show") or "[]")
    return {link["ifname"]: {"up": "UP" in link["flags"], "switched": link.get("master") == SWITCH}
            for link in links if link["ifname"].startswith("p-")}


def cut(guardian_pid, host):
    """Pulls the cable: the node loses its carrier."""
    _ip(guardian_pid, "link", "set", f"p-{host}", "down")


def unplug(guardian_pid, host):
    """Removes the cable with the card in the node."""
    _ip(guardian_pid, "link", "del", f"p-{host}")


def silence(guardian_pid, host):
    """Drops all packets in both directions; the carrier stays."""
    _ip(guardian_pid, "link", "set", f"p-{host}", "nomaster")


def heal(guardian_pid, host):
    _ip(guardian_pid, "link", "set", f"p-{host}", "master", SWITCH, "up")


def slow(guardian_pid, host, node_pid, rate):
    """Limits both directions of the cable. rate: in the syntax of tc, such as 200mbit."""
    for pid, device in ((guardian_pid, f"p-{host}"), (node_pid, "eth0")):
        done = subprocess.run(
            ["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
             "burst", "128k", "latency", "50ms"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RackError(f"cannot slow down {host} to {rate}: {done.stderr.strip()}")


def fast(guardian_pid, host, node_pid):
    for pid, device in ((guardian_pid, f"p-{host}"), (node_pid, "eth0")):
        subprocess.run(["nsenter", "-t", str(pid), "-n", "tc", "qdisc", "del", "dev", device, "root"],
                       capture_output=True, check=False)  # fails if it was not slow


def lossy(guardian_pid, host, node_pid, percent):
    """Drops this share of the packets in each direction, at random, where they arrive. 0: none."""
    for pid, device in ((guardian_pid, f"p-{host}"), (node_pid, "eth0")):
        nft = ["nsenter", "-t", str(pid), "-n", "nft"]
        subprocess.run([*nft, "delete", "table", "netdev", f"lossy-{host}"], capture_output=True, check=False)  # if there is one
        if percent == 0:
            continue
        rules = f"""table netdev lossy-{host} {{
            chain arriving {{
                type filter hook ingress device {device} priority 0
                numgen random mod 10000 <= {max(1, round(100 * percent)) - 1} drop
            }}
        }}"""
        done = subprocess.run([*nft, "-f", "-"], input=rules, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RackError(f"cannot drop packets of {host}: {done.stderr.strip()}")


def byte_counts(node_pid):
    """Returns the bytes (received, sent) over eth0 since boot, as counted in the node."""
    with open(f"/proc/{node_pid}/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if name.strip() == "eth0":
                fields = numbers.split()
                return int(fields[0]), int(fields[8])
    raise RackError("the node has no eth0")
