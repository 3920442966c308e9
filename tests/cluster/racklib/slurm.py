"""Slurm on a rack: slurmctld on head, one slurmd on each node, munge between them."""

import calendar
import os
import signal
import subprocess
import time

from . import layout as rack_layout
from .errors import RackError

CONTROLLER_PORT = 6817

# Timeouts are as short as Slurm accepts: tests check the order of events.
CONFIGURATION = """\
ClusterName=rack
SlurmctldHost=head({head})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until the credentials of its previous run expire (120 s by default).
AuthInfo=cred_expire=5
MpiDefault=pmix
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation={folder}/nodes/head/slurmctld
SlurmdSpoolDir=/run/slurmd
TmpFS=/run/slurmtmp
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ReturnToService=1
SlurmctldTimeout=5
SlurmdTimeout=5
TCPTimeout=1
MessageTimeout=3
KillWait=3
WaitTime=0
MinJobAge=900
JobRequeue=1
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp.txt
GresTypes=gpu
SlurmdParameters=config_overrides
PropagateResourceLimits=NONE
Prolog={folder}/etc/prolog.sh
PrologFlags=Alloc
DefMemPerCPU={memory_per_cpu}
NodeName={nodes} CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 \
RealMemory={memory} Gres=gpu:fake:{gpus} State=UNKNOWN
PartitionName=main  Nodes={nodes} Default=YES MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF State=UP
PartitionName=short Nodes={nodes} MaxTime=2 PriorityTier=10 PreemptMode=OFF State=UP
PartitionName=low   Nodes={nodes} MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE GraceTime=20 State=UP
PartitionName=high  Nodes={nodes} MaxTime=INFINITE PriorityTier=100 PreemptMode=OFF State=UP
"""

# A requeued job may find the sockets of its previous run on a node, which makes pmix fail.
PROLOG = """\
#!/bin/sh
rm -rf /run/slurmd/stepd.slurm.pmix."$SLURM_JOB_ID".* /run/slurmtmp/spmix_appdir_*_"$SLURM_JOB_ID".*
exit 0
"""


def write_files(layout):
    nodes = f"node[1-{layout.node_count}]"
    etc = layout.folder / "etc"
    layout.slurm_conf.write_text(CONFIGURATION.format(
        head=layout.address("head"), folder=layout.folder, nodes=nodes, cpus=rack_layout.CPUS_PER_NODE,
        memory=rack_layout.MEMORY_MB_PER_NODE, gpus=rack_layout.GPUS_PER_NODE,
        memory_per_cpu=rack_layout.MEMORY_MB_PER_NODE // rack_layout.CPUS_PER_NODE))
    (etc / "gres.conf").write_text(f"AutoDetect=off\nNodeName={nodes} Name=gpu Type=fake "
                                   f"File={rack_layout.GPU_DEVICES}/gpu[0-{rack_layout.GPUS_PER_NODE - 1}]\n")
    (etc / "prolog.sh").write_text(PROLOG)
    (etc / "prolog.sh").chmod(0o755)
    (layout.own("head") / "slurmctld").mkdir()
    layout.munge_key.touch(0o600)
    layout.munge_key.write_bytes(os.urandom(1024))


def start_controller(rack, timeout_s=15):
    rack.check_output("head", ["slurmctld", "-f", str(rack.layout.slurm_conf)])
    # /proc/net/tcp of the head: address 0 or 10.77.0.254, port in hexadecimal, state 0A (listening).
    table = f"/proc/{rack.process('head').pid}/net/tcp"
    deadline = time.monotonic() + timeout_s
    while True:
        with open(table, encoding="ascii") as file:
            entries = [line.split() for line in file][1:]
        if any(entry[1].endswith(f":{CONTROLLER_PORT:04X}") and entry[3] == "0A" for entry in entries):
            return
        if time.monotonic() > deadline:
            raise RackError(f"slurmctld does not listen: {rack.layout.log_end('slurmctld.log')}")
        time.sleep(0.01)


def start_daemons(rack, nodes, rebooted=False):
    """Starts slurmd on these nodes concurrently. rebooted: tells the controller that the nodes lost their jobs."""
    arguments = ["slurmd", "-f", str(rack.layout.slurm_conf), *(["-b"] if rebooted else [])]
    started = time.time()
    starting = {node: rack.popen(node, arguments) for node in nodes}
    for node, process in starting.items():
        if process.wait(timeout=30) != 0:
            raise RackError(f"slurmd on {node} does not start: {rack.layout.log_end(f'slurmd-{node}.log')}")
    if rebooted:
        for node in nodes:
            _return_to_service(rack, node, started)


def end_daemon(rack, host, name, number=signal.SIGKILL, timeout_s=15):
    """Ends slurmd or slurmctld on a host and waits until it is gone. Job steps continue."""
    command = ('pid=$(cat /run/$0.pid) && kill -$1 $pid || exit 1; i=0; '
               'while kill -0 $pid 2>/dev/null; do i=$((i+1)); [ $i -lt $2 ] || exit 2; sleep 0.02; done; '
               'rm -f /run/$0.pid')
    done = rack.popen(host, ["sh", "-c", command, name, str(int(number)), str(timeout_s * 50)])
    code = done.wait(timeout=timeout_s * 2)
    if code != 0:
        raise RackError(f"{name} is not running on {host}" if code == 1 else f"{name} on {host} does not end")


def daemon_alive(rack, host, name):
    return rack.popen(host, ["sh", "-c", "kill -0 $(cat /run/$0.pid) 2>/dev/null", name]).wait(timeout=10) == 0


def await_next_second(moment):
    """Waits until the second after `moment`. Slurm compares whole seconds to tell a reboot from a short silence, so a node
    must not return in the second of its crash."""
    time.sleep(max(0, int(moment) + 1.05 - time.time()))


def _return_to_service(rack, node, started, timeout_s=10):
    """Resumes a node, as a site's boot script does: Slurm keeps a node that rebooted during a job out of service. Gives up
    after timeout_s if the controller is unreachable."""
    environment = rack.layout.environment() | {"TZ": "UTC0"}
    deadline = time.time() + timeout_s
    while time.time() < deadline:
        with rack.popen(node, ["timeout", "5", "scontrol", "-o", "show", "node", node], env=environment, text=True,
                        stdout=subprocess.PIPE) as process:
            facts = dict(word.split("=", 1) for word in process.communicate()[0].split() if "=" in word)
        registered = _seconds(facts.get("SlurmdStartTime")) >= int(started)
        if registered and facts["State"].startswith("DOWN"):
            rack.check_output(node, ["scontrol", "update", f"NodeName={node}", "State=RESUME"])
        elif registered and time.time() > started + 1.5:  # earlier, Slurm may mistake this boot for another one
            return
        time.sleep(0.03)


def _seconds(utc):
    try:
        return calendar.timegm(time.strptime(utc or "", "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0


def node_states(rack):
    """Returns node -> its state in Slurm, with a "*" if it does not respond."""
    output = rack.check_output("head", ["sinfo", "-h", "-N", "-p", "main", "-o", "%N %T"])
    return dict(line.split() for line in output.splitlines())


def await_idle(rack, nodes, timeout_s=30):
    """Waits until Slurm reports these nodes as idle."""
    deadline = time.monotonic() + timeout_s
    while True:
        states = node_states(rack)
        if all(states.get(node) == "idle" for node in nodes):
            return
        if time.monotonic() > deadline:
            raise RackError(f"nodes not idle in {timeout_s} s: {states}; {rack.layout.log_end('slurmctld.log')}")
        time.sleep(0.03)
