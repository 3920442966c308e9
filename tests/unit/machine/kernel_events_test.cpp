#include "machine/kernel_events.h"

#include <gtest/gtest.h>

using namespace voltpile;

namespace {

// Records of /dev/kmsg: priority, number, microseconds since the boot.
constexpr const char* kRecords =
    "6,811,5000000,-;usb 1-1: new high-speed USB device\n"
    " SUBSYSTEM=usb\n"
    "4,812,9000000,-;NVRM: Xid (PCI:0000:3a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
    "bus.\n"
    "3,813,9500000,c;pcieport 0000:38:00.0: AER: Corrected error received: 0000:3a:00.0\n"
    "broken\n"
    "3,814;NVRM: too short\n"
    "3,815,12000000,-;Out of memory: Killed process 4711 (voltpile) total-vm:210763012kB\n";

}  // namespace

TEST(KernelEvents, KeepsTellingLinesWithTheirTimes) {
    const std::vector<KernelEvent> events = kernel_events(kRecords, 1000, 0);
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[0].time_s, 1009);
    EXPECT_TRUE(events[1].text.starts_with("pcieport 0000:38:00.0: AER:"));
    EXPECT_EQ(events[2].time_s, 1012);
}

TEST(KernelEvents, LeavesOutWhatIsOlder) {
    EXPECT_EQ(kernel_events(kRecords, 1000, 1010).size(), 1U);
    EXPECT_TRUE(kernel_events("", 0, 0).empty());
}

TEST(KernelEvents, ReadsXids) {
    const std::vector<KernelEvent> events = kernel_events(kRecords, 0, 0);
    const auto xid = xid_of(events[0]);
    ASSERT_TRUE(xid);
    EXPECT_EQ(xid->bus_id, "0000:3a:00.0");
    EXPECT_EQ(xid->number, 79);
    EXPECT_FALSE(xid_of(events[1]));
}
