#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "plan/cluster_file.h"
#include "plan/cluster_writer.h"
#include "plan/machine_svg.h"
#include "plan/machine_tree.h"
#include "unit/base/temporary_folder.h"

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
    const test::TemporaryFolder folder;
    const std::string path = folder.path() / "devices.toml";
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

// Returns the complaint about kBareHost with `line` in place of the line that sets its key, or after the
// first line if no line does.
std::string complaint_with(const std::string& line) {
    std::string text = kBareHost;
    const std::string key = "\n" + line.substr(0, line.find('=') + 1);
    const std::size_t at = text.find(key);
    if (at == std::string::npos) return complaint_about(text.insert(text.find('\n') + 1, line + "\n"));
    return complaint_about(text.replace(at + 1, text.find('\n', at + 1) - at - 1, line));
}

TEST(ClusterFile, RejectsNamesThatCannotBePrinted) {
    EXPECT_EQ(complaint_with("name = \"a b-1.lan\""), "accepted");
    EXPECT_EQ(complaint_with("name = \"\""), ":2: name is empty");
    EXPECT_EQ(complaint_with("name = \"  \""), ":2: name is empty");
    EXPECT_EQ(complaint_with("name = \"../a\""), ":2: name = \"../a\": a name cannot have slashes");
    EXPECT_EQ(complaint_with("name = \"" + std::string(101, 'a') + "\""),
              ":2: name is longer than 100 bytes");
    for (const char* code : {"0000", "000A", "001B", "007F", "009B", "2028", "202E", "2066"})
        EXPECT_EQ(complaint_with("name = \"a\\u" + std::string(code) + "b\""),
                  ":2: name has control characters, which cannot be printed")
            << code;
    EXPECT_EQ(complaint_with("cpu = \"K\u00f6ln \u20ac/2\""), "accepted");
    EXPECT_EQ(complaint_with("cpu = \"a\\u001b[2J\""),
              ":4: cpu has control characters, which cannot be printed");
    EXPECT_EQ(complaint_about("source = [\n\"a\",\n\"\\u001b[2J\"]\n" + kBareHost),
              ":3: source has control characters, which cannot be printed");
    EXPECT_EQ(complaint_about("[[host]]\nname = \"a\"\ncount = 1\nlike = \"../clusters/t180\"\n"),
              ":4: like = \"../clusters/t180\": a name cannot have slashes");
    EXPECT_EQ(complaint_about(kBareHost + "[[host.nic]]\nname = \"r0\"\ngbit_per_s = 10\nunder = \"r0\"\n"),
              ":15: name = \"r0\": the host has another device of this name");
}

TEST(ClusterFile, RejectsAbsurdNumbersAndWrongTypes) {
    EXPECT_EQ(complaint_with("cpu_ghz = 1e-300"), ":5: cpu_ghz = 1e-300: must be between 0.1 and 10");
    EXPECT_EQ(complaint_with("cpu_ghz = 2400"), ":5: cpu_ghz = 2400: must be between 0.1 and 10");
    EXPECT_EQ(complaint_with("cpu_ghz = nan"), ":5: cpu_ghz = nan: must be finite and greater than 0");
    EXPECT_EQ(complaint_with("memory_gb = 1e-9"), ":9: memory_gb = 1e-09: must be between 0.001 and 1000000");
    EXPECT_EQ(complaint_with("watts = 1e7"), ":2: watts = 10000000: must be between 1 and 1000000");
    EXPECT_EQ(complaint_with("count = true"), ":3: count has the wrong type: it must be an integer");
    EXPECT_EQ(complaint_with("count = 1.5"), ":3: count has the wrong type: it must be an integer");
    EXPECT_EQ(complaint_with("nvswitch = 1"), ":2: nvswitch has the wrong type: it must be true or false");
    EXPECT_EQ(complaint_with("nvswitch = true"),
              ":2: nvswitch = true, but NVLink connects no GPUs: nvlink_island says which");
    EXPECT_EQ(complaint_about("price_source = \"x\"\n" + kBareHost), ":1: price_source needs price_usd");
    EXPECT_EQ(complaint_about(""), ":1: no [[host]]");
    std::string deep = kBareHost;
    for (int i = 0; i < 256; ++i)
        deep += "[[host.switch]]\nname = \"s" + std::to_string(i) + "\"\nunder = \"" +
                (i == 0 ? "r0" : "s" + std::to_string(i - 1)) + "\"\n";
    EXPECT_EQ(complaint_about(deep), ":780: a host can have at most 256 root complexes and switches");
}

TEST(ClusterFile, RejectsLinksThatCannotBe) {
    const std::string under = "under = \"r0\"\n";
    const auto with_capability = [&](const char* capability) {
        std::string text = kBareHost + gpus("2", under + "nvlink_island = 2\nnvlinks = 1\n");
        return complaint_about(text.replace(text.find("= 70\n"), 4, capability));
    };
    EXPECT_EQ(with_capability("= 89"), ":14: GPU 0 has 1 NVLinks, but a V100 has none");
    EXPECT_EQ(with_capability("= 71"),
              ":17: compute_capability = 71: there is no GPU of compute capability 7.1");
    EXPECT_EQ(with_capability("= 130"), "accepted");  // may come
    EXPECT_EQ(complaint_about(kBareHost + gpus("4", under + "nvlink_island = 3\n")),
              ":22: nvlink_island = 3: does not divide the 4 GPUs");
    std::string two = gpus("1", under);
    two.replace(two.find("= 70\n"), 4, "= 80");
    EXPECT_EQ(complaint_about(kBareHost + gpus("1", under) + two +
                              "[[host.nvlink]]\nbetween = [0, 1]\nlinks = 1\n"),
              ":31: GPUs 0 and 1 are of different generations, which NVLink cannot connect");
    EXPECT_EQ(complaint_about(kBareHost + gpus("1", under + "pcie = \"4.0 x8\"\nslot = \"3.0 x16\"\n")),
              ":23: a link of PCIe 4.0 in a slot of PCIe 3.0");
    for (const char* link : {"3.0x16", " 3.0 x16", "+3.0 x16", "3.-0 x16", "99999999999.0 x16", "3.0 x3"})
        EXPECT_EQ(complaint_about(kBareHost + gpus("1", under + "pcie = \"" + link + "\"\n")),
                  std::string(":22: pcie = \"") + link +
                      "\": must be the generation and the lanes of a PCI Express link, such as \"3.0 x16\"");
}

TEST(ClusterWriter, WritesWhatTheReaderReads) {
    for (const auto& entry : std::filesystem::directory_iterator(VOLTPILE_SOURCE_DIR "/data/clusters")) {
        const Host host = load_cluster(entry.path().string(), 1).hosts.front();
        const test::TemporaryFolder folder;
        const std::string path = folder.path() / "saved.toml";
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
