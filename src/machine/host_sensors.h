// Temperatures, fans and power supplies of a host, as far as this user may read them: what the kernel's
// drivers show in /sys/class/hwmon, and the sensors of its management controller (IPMI).
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "machine/node_check.h"

namespace voltpile {

// Returns a finding for each sensor that raises an alarm, each temperature within 3 °C of its limit, and each
// fan that stands still although it has a least speed. sys: "/sys" or a copy of it.
std::vector<NodeFinding> check_hwmon(const std::filesystem::path& sys = "/sys");

// Returns a finding for each critical sensor that `ipmitool sdr list` shows of this host, and one if the
// controller does not answer within the deadline; nothing without ipmitool in PATH or without permission to
// use the device. Takes four seconds more than the deadline at most.
std::vector<NodeFinding> check_ipmi(const std::filesystem::path& device = "/dev/ipmi0",
                                    std::chrono::milliseconds deadline = std::chrono::seconds(10));

// Returns a finding for each line of such a list whose state is critical.
std::vector<NodeFinding> judge_ipmi(const std::string& list);

}  // namespace voltpile
