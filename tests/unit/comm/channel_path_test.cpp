#include "comm/channel/path.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace voltpile {
namespace {

ChannelMember capable(int rank, const std::string& host) {
    ChannelMember member;
    member.rank = rank;
    member.host = host;
    member.ucx = "1.18.0";
    member.has_gpu = member.ucx_cuda = member.cuda_ipc = member.rdma = member.gpu_rdma = true;
    return member;
}

TEST(ChannelPath, PicksTheBestPathOfBothEnds) {
    const GpuPath inside = gpu_path(capable(0, "a"), capable(1, "a"));
    EXPECT_FALSE(inside.staged || inside.rdma);
    EXPECT_EQ(inside.text, "GPU buffers by cuda_ipc");
    const GpuPath across = gpu_path(capable(0, "a"), capable(1, "b"));
    EXPECT_FALSE(across.staged);
    EXPECT_TRUE(across.rdma);
    EXPECT_EQ(across.text, "GPU buffers by GPUDirect RDMA");
    EXPECT_EQ(gpu_path(ChannelMember{}, ChannelMember{}).text, "no GPU buffers");
}

TEST(ChannelPath, SaysWhyThereIsNoBetterPath) {
    const std::string staged = "GPU buffers staged through pinned memory: ";
    const auto why = [&](auto change, const std::string& other_host) {
        ChannelMember self = capable(0, "a"), peer = capable(1, other_host);
        change(peer);
        const GpuPath path = gpu_path(self, peer), reverse = gpu_path(peer, self);
        EXPECT_TRUE(path.staged && reverse.staged);  // both ends cut alike
        EXPECT_EQ(path.text, reverse.text);
        return path.text;
    };
    EXPECT_EQ(why([](ChannelMember& m) { m.ucx_cuda = false; }, "a"),
              staged + "UCX 1.18.0 of rank 1 has no CUDA support");
    EXPECT_EQ(why([](ChannelMember& m) { m.ucx_cuda = false, m.tls = "tcp,self"; }, "a"),
              staged + "UCX 1.18.0 of rank 1 has no CUDA support with UCX_TLS=tcp,self");
    EXPECT_EQ(why([](ChannelMember& m) { m.cuda_ipc = false; }, "a"),
              staged + "UCX of rank 1 has no cuda_ipc");
    EXPECT_EQ(why([](ChannelMember& m) { m.rdma = false; }, "b"),
              staged + "UCX of rank 1 on b has no RDMA device");
    EXPECT_EQ(why([](ChannelMember& m) { m.gpu_rdma = false; }, "b"),
              staged + "no nvidia_peermem and no dma-buf on b");
    EXPECT_EQ(why([](ChannelMember& m) { m.stages = true; }, "a"), staged + "rank 1 was told to");
}

TEST(ChannelPath, SupportsOneEndWithoutAGpu) {
    ChannelMember host_only = capable(1, "b");
    host_only.has_gpu = host_only.ucx_cuda = false;
    EXPECT_FALSE(gpu_path(capable(0, "a"), host_only).staged);
    ChannelMember without_cuda = capable(0, "a");
    without_cuda.ucx_cuda = false;
    EXPECT_TRUE(gpu_path(without_cuda, host_only).staged);
    EXPECT_TRUE(gpu_path(host_only, without_cuda).staged);
}

TEST(ChannelPath, RoundTripsMembersAsText) {
    ChannelMember member = capable(3, "node2");
    member.stages = true;
    member.tls = "tcp,self";
    member.rdma = false;
    EXPECT_EQ(to_text(channel_member_from(to_text(member))), to_text(member));
    EXPECT_EQ(to_text(channel_member_from(to_text(ChannelMember{}))), to_text(ChannelMember{}));
    EXPECT_THROW(channel_member_from("something else"), CommError);
    EXPECT_THROW(channel_member_from(""), CommError);
}

TEST(ChannelPath, ParsesTransportsFromUcxOutput) {
    EXPECT_EQ(
        transports_in(
            "#\n# UCP endpoint \n#\n"
            "#               peer: vm:123\n"
            "#                 lane[0]:  5:posix/memory.0 md[2]      -> addr[0].md[2]/posix am am_bw#0\n"
            "#                 lane[1]:  9:rc_mlx5/mlx5_0:1.0 md[5]  -> addr[1].md[5]/ib/sysdev[0]\n"
            "#                 lane[2]:  1:tcp/eth0.100.0 md[1]      -> addr[2].md[1]/tcp/sysdev[255]\n"
            "#                 lane[3]:  1:tcp/eth0.100.1 md[1]      -> addr[2].md[1]/tcp\n"
            "#                tag_send: 0..<egr/short>..93..<egr/bcopy>..(inf)\n"),
        (std::vector<std::string>{"posix/memory", "rc_mlx5/mlx5_0:1", "tcp/eth0.100"}));
    EXPECT_EQ(transports_in("# resource 0  :  md 0  dev 0  flags -- self/memory\n"
                            "# resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
                            "# memory: 0.84MB, file descriptors: 2\n"),
              (std::vector<std::string>{"self/memory", "tcp/eth0"}));
    EXPECT_TRUE(transports_in("").empty());
}

TEST(ChannelPath, ExcludesNetworksOfContainers) {
    EXPECT_EQ(usable_net_devices({{"eth0", 10, false}}, {}), "");
    EXPECT_EQ(usable_net_devices({{"docker0", 0, true}, {"eth0", 10, false}}, {{"mlx5_0", 1, 100}}),
              "mlx5_0:1,eth0");
    EXPECT_EQ(usable_net_devices({{"docker0", 0, true}}, {}), "");
}

}  // namespace
}  // namespace voltpile
