#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "plan/cluster_file.h"
#include "plan/cluster_writer.h"
#include "plan/machine_svg.h"
#include "plan/machine_tree.h"

namespace voltpile {
namespace {

// A host of 13 lines; what is added begins on line 14.
const std::string kBareHost =
    "[[host]]\nname = \"a\"\ncount = 1\ncpu = \"Xeon\"\ncpu_ghz = 2.0\nsimd_bits = 256\nsockets = 2\n"
    "cores_per_socket = 4\nmemory_gb = 64\n\n[[host.root]]\nname = \"r0\"\nsocket = 0\n";

std::string gpus(const std::string& count, const std::string& more) {
    return "[[host.gpu]]\ncount = " + count +
           "\nname = \"V100\"\ncompute_capability = 70\nmultiprocessors = 80\nclock_ghz = 1.53\nmemory_gb = "
           "16\n" +
           more;
}

std::string complaint_about(const std::string& text) {
    const std::string path = testing::TempDir() + "devices.toml";
    std::ofstream(path) << text;
    try {
        load_cluster(path, 1);
    } catch (const JobError& error) {
        return std::string(error.what()).substr(path.size());
    }
    return "accepted";
}

TEST(ClusterDevices, RejectsWhatContradictsItself) {
    const std::string under = "under = \"r0\"\n";
    EXPECT_EQ(complaint_about(kBareHost + gpus("4", under)), "accepted");
    EXPECT_EQ(complaint_about(kBareHost + gpus("4", under + "nvlink_iland = 4\n")),
              ":22: unknown key nvlink_iland; did you mean nvlink_island?");
    EXPECT_EQ(complaint_about("desciption = \"x\"\n" + kBareHost),
              ":1: unknown key desciption; did you mean description?");
    EXPECT_EQ(
        complaint_about(kBareHost + gpus("4", under) + "[[host.nvlink]]\nbetween = [0, 4]\nlinks = 1\n"),
        ":23: between names GPU 4, but the host has 4 GPUs: 0 to 3");
    EXPECT_EQ(
        complaint_about(kBareHost + gpus("2", under) + "[[host.nvlink]]\nbetween = [0, 1]\nlinks = 7\n"),
        ":14: GPU 0 has 7 NVLinks, but a V100 has 6");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", under + "nvlink_island = 4\n")),
              ":22: nvlink_island = 4: there are only 2 of these GPUs");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", under + "nvlink_island = 2\n") +
                              "[[host.nvlink]]\nbetween = [0, 1]\nlinks = 1\n"),
              ":24: GPUs 0 and 1 are connected already");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", under + "nvlinks = 2\n")),
              ":22: nvlinks needs nvlink_island: the number of GPUs that NVLink connects with each other");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", under + "pcie = \"8.0 x16\"\n")),
              ":22: pcie = \"8.0 x16\": must be the generation and the lanes of a PCI Express link, such as "
              "\"3.0 x16\"");
    EXPECT_EQ(complaint_about(kBareHost + kBareHost), ":15: name = \"a\": another host is called a");
    std::string text = kBareHost;
    EXPECT_EQ(complaint_about(text.replace(text.find("256"), 3, "300")),
              ":6: simd_bits = 300: must be a power of two, such as 256 for AVX2");
    text = kBareHost + gpus("4", under + "watts = 300\n");
    EXPECT_EQ(complaint_about(text.replace(text.find("\ncpu = "), 1, "\nwatts = 1000\n")),
              ":4: watts = 1000: of the whole host, but its GPUs alone draw 1200");
    text = kBareHost + gpus("4", under);
    EXPECT_EQ(complaint_about(text.replace(text.find("= 70\n"), 4, "= 7.0")),
              ":17: compute_capability = 7: must be between 10 and 999");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", "under = \"r1\"\n")),
              ":21: under \"r1\": the host has no root complex or switch of this name above this line");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", "under = [\"r0\", \"r0\", \"r0\"]\n")),
              ":21: under names 3 places for 2 devices");
    EXPECT_EQ(complaint_about(kBareHost + gpus("2", under + "pcie = \"3.0 x16\"\nslot = \"3.0 x8\"\n")),
              ":23: a link of 16 lanes in a slot of 8");
    EXPECT_EQ(
        complaint_about(kBareHost + gpus("2", under + "pcie = \"3 x16\"\n")),
        ":22: pcie = \"3 x16\": must be the generation and the lanes of a PCI Express link, such as \"3.0 "
        "x16\"");
    EXPECT_EQ(complaint_about(kBareHost + "[[host.root]]\nname = \"r0\"\nsocket = 1\n"),
              ":15: name = \"r0\": the host has another device of this name");
    EXPECT_EQ(complaint_about(kBareHost + "[[host.root]]\nname = \"r2\"\nsocket = 2\n"),
              ":16: socket = 2: must be between 0 and 1");
    EXPECT_EQ(complaint_about(kBareHost + "[[host.root]]\nname = \"r2\"\nsocket = 1\nnuma_node = 0\n"),
              ":17: numa_node = 0: belongs to socket 0, not to socket 1");
    EXPECT_EQ(
        complaint_about("[[host]]\nname = \"a\"\ncount = 2\nlike = \"nothing\"\n"),
        ":4: like = \"nothing\": there is no nothing.toml, neither beside this file nor among the machines "
        "that come with the program");
}

TEST(ClusterWriter, WritesWhatTheReaderReads) {
    for (const auto& entry : std::filesystem::directory_iterator(VOLTPILE_SOURCE_DIR "/data/clusters")) {
        const Host host = load_cluster(entry.path().string(), 1).hosts.front();
        const std::string path = testing::TempDir() + "saved.toml";
        std::ofstream(path) << cluster_text(host);
        EXPECT_EQ(load_cluster(path, 1).hosts.front(), host) << entry.path();
    }
}

TEST(MachineTree, PrintsTreeAndMatrix) {
    const Host host =
        load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/desktop_3060_1060.toml", 1).hosts.front();
    EXPECT_EQ(to_text(machine_tree(host)),
              "desktop: Ryzen 7 5800X, 32.0 GB\n"
              "└─ socket 0: cores 0-7\n"
              "   └─ root complex cpu0\n"
              "      ├─ switch chipset: PCIe 4.0 x4\n"
              "      │  ├─ GPU 1: GeForce GTX 1060 6GB, 6.0 GB, PCIe 3.0 x4 in an x16 slot\n"
              "      │  └─ NIC eth0: 1 Gb/s, PCIe 2.0 x1\n"
              "      └─ GPU 0: GeForce RTX 3060, 12.0 GB, PCIe 4.0 x16\n");
    EXPECT_EQ(matrix_text(host),
              "      GPU0    GPU1    eth0    cores\n"
              "GPU0  -       root    root    0-7\n"
              "GPU1  root    -       switch  0-7\n"
              "\n"
              "  switch  through PCIe switches only (PIX, PXB)\n"
              "  root    through one PCIe root complex (PHB)\n");
    EXPECT_EQ(matrix_text({}), "");
}

TEST(MachineSvg, EscapesNames) {
    Host host;
    host.name = "a<b&c";
    EXPECT_NE(machine_svg(host).find("a&lt;b&amp;c"), std::string::npos);
}

}  // namespace
}  // namespace voltpile
