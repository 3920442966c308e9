// Xids: the numbered errors that NVIDIA's driver writes to the kernel's log.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "machine/gpu_snapshot.h"
#include "machine/node_check.h"

namespace voltpile {

// How often a GPU had an Xid.
struct XidCount {
    std::string bus_id;  // "0000:3a:00.0"
    int number = 0;
    int times = 0;
};

// Counts the Xids in a kernel log, sorted by GPU and number.
std::vector<XidCount> count_xids(const std::string& log);

// Returns the kernel's log since the node was started, from /dev/kmsg or else from journalctl; nothing where
// this user may read neither.
std::optional<std::string> kernel_log();

// Says what the Xids mean. Errors of programs are Health::Ok: they concern the node only if they persist.
std::vector<NodeFinding> judge_xids(const std::vector<XidCount>& xids, const NodeGpus& node);

}  // namespace voltpile
