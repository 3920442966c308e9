// Kernel lines have the formats of NVIDIA's driver and of Linux, typed by hand; samples are synthetic.
#include "cluster/supervisor/verdict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/supervisor/power_ramp.h"

using namespace voltpile;

namespace {

constexpr double kBoot_s = 1'700'000'000;

std::string bus(int gpu) {
    return fmt::format("0000:{:02x}:00.0", 0x1a + gpu);
}

// A node with four GPUs that draw idle_w, and busy_w from second `ramp` on; sampled twice a second for 60 s.
NodeEvidence quad(const std::string& name, double ramp_s = 1000, double idle_w = 150, double busy_w = 345) {
    NodeEvidence node;
    node.name = name;
    for (int half = 0; half <= 120; ++half) {
        NodeSample sample;
        sample.time_s = kBoot_s + half * 0.5;
        for (int gpu = 0; gpu < 4; ++gpu) {
            GpuSnapshot& each = sample.gpus.gpus.emplace_back();
            each.bus_id = bus(gpu);
            each.power_w = half * 0.5 >= ramp_s ? busy_w : idle_w;
            each.temperature_c = 60 + gpu;
            each.temperature_slowdown_c = 90;
            each.aer_correctable = 3;
        }
        node.samples.push_back(sample);
    }
    return node;
}

KernelEvent at(double seconds, const std::string& text) {
    return {kBoot_s + seconds, text};
}

KernelEvent off_the_bus(double seconds, int gpu) {
    return at(seconds,
              fmt::format("NVRM: Xid (PCI:0000:{:02x}:00): 79, pid='<unknown>', name=<unknown>, GPU has "
                          "fallen off the bus.",
                          0x1a + gpu));
}

std::string judged(std::vector<NodeEvidence> nodes, int exit_code = 255, const std::string& error = "") {
    AttemptEvidence evidence;
    evidence.begin_s = kBoot_s;
    evidence.end_s = kBoot_s + 61;
    evidence.exit_code = exit_code;
    evidence.last_error = error;
    evidence.nodes = std::move(nodes);
    return judge_attempt(evidence);
}

}  // namespace

TEST(Verdict, BlamesPowerForALostGpuAfterARamp) {
    NodeEvidence node = quad("node2", 50);
    node.kernel = {off_the_bus(53.2, 1)};
    EXPECT_EQ(judged({quad("node1"), node}),
              "node2 GPU 1 fell off the bus (Xid 79) 3.2 s after all four GPUs ramped up; no PCIe errors "
              "before; suspect "
              "power");
}

TEST(Verdict, BlamesPowerWhenSeveralGpusAreLost) {
    NodeEvidence node = quad("node2");
    node.kernel = {off_the_bus(53, 0), off_the_bus(53.1, 2), off_the_bus(53.1, 2)};
    EXPECT_EQ(judged({node}), "node2 two of its GPUs fell off the bus (Xid 79); suspect power");
}

TEST(Verdict, BlamesTheSeatAfterPcieErrors) {
    NodeEvidence node = quad("node1");
    node.kernel = {
        at(40, "pcieport 0000:18:00.0: AER: Corrected error received: 0000:1a:00.0"),
        at(41, "nvidia 0000:1a:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"),
        off_the_bus(53, 0), at(54, "pcieport 0000:18:00.0: AER: Uncorrected error received: 0000:1a:00.0")};
    EXPECT_EQ(judged({node}),
              "node1 GPU 0 fell off the bus (Xid 79) after 2 PCIe errors; suspect its seat or its riser");
}

TEST(Verdict, BlamesTheHeatSinkOfAGpuHotterThanItsNeighbors) {
    NodeEvidence node = quad("node1");
    for (NodeSample& sample : node.samples) sample.gpus.gpus[3].temperature_c = 88;
    node.kernel = {off_the_bus(53, 3)};
    EXPECT_EQ(judged({node}),
              "node1 GPU 3 fell off the bus (Xid 79) at 88 °C, its neighbors 61; no PCIe errors before; "
              "suspect its heat "
              "sink or a fan");
}

TEST(Verdict, NamesNvlinkMemoryAndProcessorErrors) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"NVRM: Xid (PCI:0000:1b:00): 74, pid=2153, NVLink: fatal error detected on link 2(0x10000, 0x0, "
         "0x0)",
         "node1 GPU 1 had an NVLink error (Xid 74); reseat the module and tighten its screws evenly"},
        {"NVRM: Xid (PCI:0000:1a:00): 48, pid=1234, An uncorrectable double bit error (DBE) has been "
         "detected on GPU",
         "node1 GPU 0 had a memory error (Xid 48); reset it, and replace it if the error returns"},
        {"NVRM: Xid (PCI:0000:1d:00): 119, pid=1, Timeout after 6s of waiting for RPC response from GPU3 "
         "GSP!",
         "node1 a processor inside GPU 3 does not answer (Xid 119); restart the node"},
        {"NVRM: Xid (PCI:0000:1c:00): 31, pid=77, name=voltpile, Ch 00000008, intr 00000000. MMU Fault",
         "node1 a program failed on GPU 2 (Xid 31); usually an error of the program"},
        {"Out of memory: Killed process 4711 (voltpile) total-vm:210763012kB, anon-rss:196608000kB",
         "node1 ran out of memory, and the kernel killed a rank; use fewer ranks or a smaller job"},
    };
    for (const auto& [line, verdict] : cases) {
        NodeEvidence node = quad("node1");
        node.kernel = {at(53, line)};
        EXPECT_EQ(judged({node}), verdict);
    }
}

TEST(Verdict, CausesComeBeforeConsequences) {
    NodeEvidence first = quad("node1"), second = quad("node2", 50);
    first.lost = "no sign of life for 15 s";
    first.kernel = {at(55, "NVRM: Xid (PCI:0000:1a:00): 43, pid=77, name=voltpile, Ch 00000008")};
    second.kernel = {at(54, "NVRM: Xid (PCI:0000:1a:00): 45, pid=77, name=voltpile"), off_the_bus(53, 2)};
    EXPECT_TRUE(judged({first, second}).starts_with("node2 GPU 2 fell off the bus"))
        << judged({first, second});
}

TEST(Verdict, ExplainsALostNode) {
    NodeEvidence ramped = quad("node3", 59);
    ramped.lost = "the ssh connection broke";
    EXPECT_EQ(judged({quad("node1"), ramped}),
              "node3 vanished 1.0 s after all four GPUs ramped up; suspect its power supply");
    NodeEvidence steady = quad("node3", 5);
    steady.lost = "the ssh connection broke";
    EXPECT_EQ(judged({quad("node1"), steady}),
              "node3 vanished (the ssh connection broke); it lost power, crashed or lost its network");
}

TEST(Verdict, ReadsSlowdownsAndHungDrivers) {
    NodeEvidence braked = quad("node1");
    braked.samples.back().gpus.gpus[2].throttle_reasons = 0x80;
    EXPECT_EQ(judged({braked}),
              "node1 GPU 2 was slowed down by its power supply before the job died; suspect power");
    NodeEvidence hung = quad("node1");
    hung.findings = {{Health::Bad, "the NVIDIA driver hangs: no answer in 20 s", "restart the node"}};
    EXPECT_EQ(judged({hung}),
              "node1 the NVIDIA driver hangs; suspect a badly seated module: tighten its screws, then "
              "restart the node");
    NodeEvidence rising = quad("node1");
    for (std::size_t i = 0; i < rising.samples.size(); ++i)
        rising.samples[i].gpus.gpus[1].aer_correctable = 3 + static_cast<double>(i) * 10;
    EXPECT_EQ(judged({rising}),
              "node1 1200 PCIe errors at GPU 1 while the job ran; suspect its seat or its riser");
}

TEST(Verdict, FallsBackToTheMessageAndTheExitCode) {
    const std::string disk = "error (rank 2 on node1): cannot write map.h5: No space left on device";
    EXPECT_EQ(judged({quad("node1")}, 4, disk), disk);
    EXPECT_EQ(judged({quad("node1")}, 137), "a process was killed (signal 9), and no node says why");
    EXPECT_EQ(judged({}, 139), "a rank crashed (signal 11): an error of the program");
    EXPECT_EQ(judged({}, 205), "exit code 205, and no node says why");
}

TEST(PowerRamp, NeedsSeveralGpusAtOnce) {
    EXPECT_FALSE(last_ramp(quad("a").samples, 1e12));
    EXPECT_FALSE(last_ramp(quad("a", 30).samples, kBoot_s + 29));  // later than the question
    std::deque<NodeSample> one = quad("a").samples;
    for (std::size_t i = 60; i < one.size(); ++i) one[i].gpus.gpus[0].power_w = 350;
    EXPECT_FALSE(last_ramp(one, 1e12));
    const auto ramp = last_ramp(quad("a", 30).samples, 1e12);
    ASSERT_TRUE(ramp);
    EXPECT_EQ(ramp->gpus, 4);
    EXPECT_NEAR(ramp->time_s, kBoot_s + 30, 2);
}
