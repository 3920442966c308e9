"""The `rack` command."""

import argparse
import os
import pathlib
import sys
import time

from .errors import CannotRun, RackError
from .lifetime import take_down
from .rack import Rack, default_folder

EXAMPLES = """\
examples:
  rack up --slurm                        three nodes and a head, with ssh and Slurm, in about a second
  rack sh node1                          a shell on node1
  rack sh node1 ssh node2 hostname       one command; rack returns its exit code
  rack sh head sbatch -N 3 job.sh        Slurm's commands work on every host
  rack crash node2; rack boot node2      power cut, and power back
  rack silence node2; rack heal node2    drops all packets while the link stays up
  rack slow node2 200mbit; rack fast node2
  rack hide node2                        hides the shared folder on node2; rack show node2 restores it
  rack down                              ends everything and removes the rack's folder

In the rack's folder, shared/ is the same on all hosts, local/ is each host's own disk, and log/ has the logs.
$RACK, $RACK_SHARED and $RACK_LOCAL are their paths on the hosts. Several racks can be up, each with its own --dir.
"""


def _parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--dir", type=pathlib.Path, default=argparse.SUPPRESS,
                        help=f"folder of the rack (default: $VOLTPILE_RACK, else {default_folder()})")
    parser = argparse.ArgumentParser(prog="rack", epilog=EXAMPLES, parents=[common],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="A rack of nodes on one machine: network, ssh and Slurm for tests.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name, text):
        command = commands.add_parser(name, help=text, description=text, parents=[common])
        return command

    up = add("up", "bring up a rack")
    up.add_argument("--nodes", type=int, default=3, help="number of nodes besides the head (2 to 8; default 3)")
    up.add_argument("--slurm", action="store_true", help="also start munge, slurmctld on head and slurmd on the nodes")
    up.add_argument("--owner", type=int, metavar="PID", help="take the rack down when this process ends")
    add("down", "end everything and remove the rack's folder")
    add("status", "show which hosts are up, cut or silent")
    shell = add("sh", "run a command on a host, or a shell")
    shell.add_argument("host", metavar="NODE")
    shell.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    for name, text in (("crash", "power cut"), ("boot", "power back"), ("cut", "pull the network cable"),
                       ("silence", "drop all packets while the link stays up"), ("heal", "end cut and silence"),
                       ("fast", "end slow"), ("hide", "hide the shared folder on this host"), ("show", "end hide")):
        add(name, text).add_argument("host", metavar="NODE")
    slow = add("slow", "limit the rate of a host's link")
    slow.add_argument("host", metavar="NODE")
    slow.add_argument("rate", metavar="RATE", help="in the syntax of tc: 200mbit")
    lossy = add("lossy", "drop packets of a host's link at random, in each direction")
    lossy.add_argument("host", metavar="NODE")
    lossy.add_argument("percent", type=float, metavar="PERCENT", help="of the packets; 0: none")
    slurmd = add("slurmd", "kill or start slurmd on a node")
    slurmd.add_argument("host", metavar="NODE")
    slurmd.add_argument("action", choices=["kill", "start"])
    add("slurmctld", "kill, start or restart slurmctld").add_argument("action", choices=["kill", "start", "restart"])
    return parser


def _up(folder, options):
    begin = time.monotonic()
    rack = Rack.up(folder, options.nodes, options.slurm, options.owner)
    hosts = " ".join(rack.layout.hosts)
    print(f"{hosts} up in {time.monotonic() - begin:.1f} s; shared folder {rack.layout.shared}; try: rack sh node1")


def _status(folder):
    for host, words in Rack(folder).status().items():
        print(f"{host:6} {', '.join(words)}")


def _shell(folder, options):
    rack = Rack(folder)
    command = options.arguments or ["bash"]
    working_folder = os.getcwd() if rack.is_up(options.host) else "/"
    arguments = rack.enter(options.host, command, working_folder)
    os.execvpe(arguments[0], arguments, rack.layout.environment())


def _run(options):
    folder = getattr(options, "dir", default_folder())
    if options.command == "up":
        _up(folder, options)
    elif options.command == "down":
        take_down(folder)
    elif options.command == "status":
        _status(folder)
    elif options.command == "sh":
        _shell(folder, options)
    elif options.command == "slow":
        Rack(folder).slow(options.host, options.rate)
    elif options.command == "lossy":
        if not 0 <= options.percent <= 100:
            raise RackError(f"0 to 100 percent, not {options.percent:g}")
        Rack(folder).lossy(options.host, options.percent)
    elif options.command == "slurmd":
        Rack(folder).slurmd(options.host, options.action)
    elif options.command == "slurmctld":
        Rack(folder).slurmctld(options.action)
    else:
        getattr(Rack(folder), options.command)(options.host)


def main():
    options = _parser().parse_args()
    try:
        _run(options)
    except CannotRun as error:
        print(f"rack: {error}", file=sys.stderr)
        return 3
    except RackError as error:
        print(f"rack: {error}", file=sys.stderr)
        return 1
    return 0
