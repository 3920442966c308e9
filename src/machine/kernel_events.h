// Lines of the kernel's log that say why a job may have died, with their times.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace voltpile {

struct KernelEvent {
    double time_s = 0;  // since 1970-01-01 00:00 UTC
    std::string text;   // "NVRM: Xid (PCI:0000:3a:00): 79, pid=1234, GPU has fallen off the bus."

    bool operator==(const KernelEvent&) const = default;
};

// Returns the lines about GPUs (Xid), PCIe errors (AER), machine checks, and programs ended for lack of
// memory. log: records of /dev/kmsg ("6,1234,98765432,-;text"), whose times count from boot_s, in seconds
// since 1970. Skips what is older than since_s and lines of other formats.
std::vector<KernelEvent> kernel_events(const std::string& log, double boot_s, double since_s);

// Reads this node's log (machine/xid.h); nothing where this user may not.
std::vector<KernelEvent> kernel_events_since(double since_s);

// The GPU and number of a line about an Xid; nothing for other lines.
struct XidEvent {
    std::string bus_id;  // "0000:3a:00.0"
    int number = 0;
};
std::optional<XidEvent> xid_of(const KernelEvent& event);

}  // namespace voltpile
