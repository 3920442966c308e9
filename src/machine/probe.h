// Asks the machine's GPUs through a process of its own, voltpile-probe, because a call into a hung driver
// never returns: the program that asks gets an answer within the deadline in any case.
#pragma once

#include <chrono>
#include <filesystem>

#include "machine/gpu_snapshot.h"

namespace voltpile {

// Starting a driver that no other process uses takes some seconds on a node with 8 GPUs.
inline constexpr std::chrono::seconds kProbeDeadline{20};

// Returns the path of voltpile-probe: beside this program, or in the folder above (the programs of the
// tests).
std::filesystem::path probe_program();

// Reads all GPUs of this node. Never throws for what the machine does or lacks: NodeGpus::problem says why
// there are no readings. Takes at most the deadline and two seconds.
NodeGpus probe_gpus(std::chrono::milliseconds deadline = kProbeDeadline);

}  // namespace voltpile
