"""Processes identified by number and start time, so that a recycled number is not mistaken for the old process."""

import dataclasses
import os
import select
import signal
import socket
import struct


def _start_time(pid):
    """Returns the clock ticks since boot at which `pid` started, or None if it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    started: int

    @staticmethod
    def of(pid):
        started = _start_time(pid)
        if started is None:
            raise ProcessLookupError(f"process {pid} is gone")
        return Process(pid, started)

    @staticmethod
    def load(path):
        pid, started = path.read_text().split()
        return Process(int(pid), int(started))

    def save(self, path):
        path.write_text(f"{self.pid} {self.started}\n")

    def alive(self):
        return _start_time(self.pid) == self.started

    def end(self, signal_number, timeout_s):
        """Sends the signal and waits for the end. Returns False if the process still exists after timeout_s."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            if not self.alive():
                return True
            signal.pidfd_send_signal(handle, signal_number)
            return bool(select.select([handle], [], [], timeout_s)[0])
        except ProcessLookupError:
            return True
        finally:
            os.close(handle)


class Newborn:
    """A socket to a process that starts in other namespaces. The kernel translates the sender's number into our
    namespace."""

    def __init__(self):
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def started(self):
        """Closes our copy of the other end. Call it after starting the process."""
        self.theirs.close()

    def receive(self, timeout_s):
        """Returns (message, pid of the sender); the message is empty if the process ended. Raises TimeoutError."""
        if not select.select([self._ours], [], [], timeout_s)[0]:
            raise TimeoutError
        credentials = struct.Struct("3i")
        message, ancillary, _, _ = self._ours.recvmsg(65536, socket.CMSG_SPACE(credentials.size))
        pid = next((credentials.unpack(data)[0] for level, kind, data in ancillary
                    if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)), 0)
        return message.decode(errors="replace"), pid

    def send(self, message):
        self._ours.send(message.encode())

    def close(self):
        self._ours.close()
