// The verdicts about the shipped machine descriptions. Expected values: what owners and vendors say of these
// machines, and the published output of `nvidia-smi topo -m` on a DGX-1V.
#include "plan/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/cluster_file.h"
#include "plan/device_paths.h"

namespace voltpile {
namespace {

Host described(const std::string& name) {
    return load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/" + name + ".toml", 0).hosts.front();
}

std::string text_of(const std::vector<std::string>& sentences) {
    std::string text;
    for (const std::string& sentence : sentences) text += sentence + "\n";
    return text;
}

// Pairs of GPUs with this path.
int pairs_with(const Host& host, PathKind kind) {
    int count = 0;
    for (std::size_t a = 0; a < host.gpus.size(); ++a)
        for (std::size_t b = a + 1; b < host.gpus.size(); ++b) count += gpu_path(host, a, b).kind == kind;
    return count;
}

TEST(Verdict, FindsFourGpusBehindTwoSwitchesOfEachSocketOfX9drg) {
    const Host host = described("sys4028_x9drg");
    EXPECT_EQ(pairs_with(host, PathKind::SameSwitch), 4);      // 4 switches with 2 GPUs
    EXPECT_EQ(pairs_with(host, PathKind::SameRoot), 8);        // 2 sockets x 2 x 2
    EXPECT_EQ(pairs_with(host, PathKind::AcrossSockets), 16);  // 4 x 4
    const MachineVerdict verdict = judge(host);
    EXPECT_EQ(verdict.direct_pairs, 12);
    EXPECT_EQ(verdict.all_pairs, 28);
    EXPECT_TRUE(verdict.without_nic.empty());
    EXPECT_EQ(text_of(verdict.cores),
              "GPUs 0, 1, 2 and 3 belong to cores 0-13.\nGPUs 4, 5, 6 and 7 belong to cores 14-27.\n");
}

TEST(Verdict, FindsAllGpusOfX10drgBehindOneSocket) {
    const Host host = described("sys4028_x10drg");
    EXPECT_EQ(pairs_with(host, PathKind::SameSwitch), 12);  // 2 switches with 4 GPUs
    EXPECT_EQ(pairs_with(host, PathKind::SameRoot), 16);
    const MachineVerdict verdict = judge(host);
    EXPECT_EQ(verdict.direct_pairs, verdict.all_pairs);
    EXPECT_TRUE(verdict.without_nic.empty());
    EXPECT_EQ(text_of(verdict.network),
              "GPUs 0, 1, 2 and 3 reach mlx5_0 directly, over a PCIe switch.\n"
              "GPUs 4, 5, 6 and 7 reach mlx5_1 directly, over a PCIe switch.\n");
}

TEST(Verdict, FindsG482PoorForGpusAndNetwork) {
    const MachineVerdict verdict = judge(described("gigabyte_g482"));
    EXPECT_EQ(verdict.direct_pairs, 0);
    EXPECT_EQ(verdict.without_nic, (std::vector<std::size_t>{0, 1, 2, 4, 5, 6, 7}));
    EXPECT_EQ(
        text_of(verdict.pairs),  // 2 x 6 pairs within a socket, 4 x 4 across
        "12 of 28 pairs of GPUs have no direct path: their data goes through two root complexes of one "
        "socket.\n16 of 28 pairs of GPUs have no direct path: their data goes through the link between the "
        "sockets.\n");
}

TEST(Verdict, FindsSevenSlotsOfOneEpycOnRomed8) {
    const Host host = described("romed8_7x3090");
    ASSERT_EQ(host.gpus.size(), 7u);
    for (const Gpu& gpu : host.gpus) EXPECT_EQ(gpu.place.link, (PcieLink{4, 16}));
    EXPECT_EQ(pairs_with(host, PathKind::AcrossSockets), 0);
}

TEST(Verdict, FindsNvLinkBetweenAllGpusOfT180) {
    for (const char* name : {"t180", "t181_x3", "t180_x16"}) {
        const MachineVerdict verdict = judge(described(name));
        EXPECT_EQ(text_of(verdict.pairs), "GPUs 0, 1, 2 and 3 talk directly over 2 NVLinks.\n") << name;
        EXPECT_TRUE(verdict.without_nic.empty()) << name;
    }
    EXPECT_EQ(load_cluster(VOLTPILE_SOURCE_DIR "/data/clusters/t181_x16.toml", 0).hosts.size(), 16u);
}

TEST(Verdict, MatchesPublishedMatrixOfDgx1v) {
    const Host host = described("dgx_1v");
    const char* published[8][8] = {
        {"-", "NV1", "NV1", "NV2", "NV2", "cross", "cross", "cross"},
        {"NV1", "-", "NV2", "NV1", "cross", "NV2", "cross", "cross"},
        {"NV1", "NV2", "-", "NV2", "cross", "cross", "NV1", "cross"},
        {"NV2", "NV1", "NV2", "-", "cross", "cross", "cross", "NV1"},
        {"NV2", "cross", "cross", "cross", "-", "NV1", "NV1", "NV2"},
        {"cross", "NV2", "cross", "cross", "NV1", "-", "NV2", "NV1"},
        {"cross", "cross", "NV1", "cross", "NV1", "NV2", "-", "NV2"},
        {"cross", "cross", "cross", "NV1", "NV2", "NV1", "NV2", "-"},
    };
    for (std::size_t a = 0; a < 8; ++a) {
        for (std::size_t b = 0; b < 8; ++b) {
            if (a == b) continue;
            EXPECT_EQ(short_text(gpu_path(host, a, b)), published[a][b]) << a << " " << b;
        }
        EXPECT_EQ(nearest_nics(host, a), (std::vector<std::size_t>{a / 2}));
        EXPECT_EQ(gpu_nic_path(host, a, a / 2).kind, PathKind::SameSwitch);
    }
}

TEST(Verdict, FindsNvSwitchBetweenAllGpus) {
    EXPECT_EQ(text_of(judge(described("h200_x8")).pairs),
              "GPUs 0, 1, 2, 3, 4, 5, 6 and 7 talk directly over 18 NVLinks.\n");
    EXPECT_EQ(judge(described("dgx_2")).direct_pairs, 120);  // 16 x 15 / 2
}

TEST(Verdict, NamesLinksNarrowerThanTheirSlot) {
    EXPECT_EQ(text_of(judge(described("desktop_3060_1060")).narrow),
              "GPU 1 uses 4 of the 16 lanes of its slot and loses 75 % of the bandwidth.\n");
}

TEST(Verdict, AdmitsWhatADescriptionDoesNotSay) {
    const MachineVerdict verdict = judge(described("mixed_home"));
    EXPECT_EQ(text_of(verdict.sentences()), "The machine has no network adapter.\n");
}

TEST(RangesText, JoinsNeighbors) {
    EXPECT_EQ(ranges_text({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
    EXPECT_EQ(ranges_text({}), "");
}

}  // namespace
}  // namespace voltpile
