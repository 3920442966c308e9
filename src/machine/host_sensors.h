// Temperatures, fans and power supplies of a host, as far as this user may read them: what the kernel's
// drivers show in /sys/class/hwmon, and the sensors of its management controller (IPMI).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine/node_check.h"

namespace voltpile {

// Returns a finding for each sensor that raises an alarm, each temperature within 3 °C of its limit, and each
// fan that stands still although it has a least speed. sys: "/sys" or a copy of it.
std::vector<NodeFinding> check_hwmon(const std::filesystem::path& sys = "/sys");

// Returns what `ipmitool sdr list` prints about this host; nothing without ipmitool, without permission for
// /dev/ipmi0, or if the controller does not answer within ten seconds.
std::optional<std::string> ipmi_sensors();

// Returns a finding for each line of that list whose state is critical.
std::vector<NodeFinding> judge_ipmi(const std::string& list);

}  // namespace voltpile
