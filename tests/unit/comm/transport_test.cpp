#include "comm/mpi/transport.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// A /sys like the kernel's.
class FakeSys : public testing::Test {
  protected:
    // One folder per process: tests run side by side.
    FakeSys() : sys_(fs::path(testing::TempDir()) / ("voltpile_sys_" + std::to_string(getpid()))) {}
    ~FakeSys() override { fs::remove_all(sys_); }

    void write(const std::string& path, const std::string& text) {
        fs::create_directories((sys_ / path).parent_path());
        std::ofstream(sys_ / path) << text << '\n';
    }
    void interface(const std::string& name, const std::string& state, const std::string& speed,
                   int type = 1) {
        write("class/net/" + name + "/operstate", state);
        write("class/net/" + name + "/speed", speed);
        write("class/net/" + name + "/type", std::to_string(type));
    }
    void rdma_port(const std::string& device, int port, const std::string& state, const std::string& rate) {
        const std::string folder = "class/infiniband/" + device + "/ports/" + std::to_string(port);
        write(folder + "/state", state);
        write(folder + "/rate", rate);
    }

    fs::path sys_;
};

TEST_F(FakeSys, ListsInterfacesThatAreUp) {
    interface("lo", "unknown", "", 772);
    interface("eth0", "up", "10000");
    interface("eth1", "down", "-1");
    interface("docker0", "up", "-1");
    interface("ib0", "up", "100000", 32);
    const auto found = network_interfaces(sys_);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].name, "docker0");
    EXPECT_TRUE(found[0].is_virtual);
    EXPECT_EQ(found[0].gb_per_s, 0);  // the kernel says -1
    EXPECT_EQ(found[1].name, "eth0");
    EXPECT_FALSE(found[1].is_virtual);
    EXPECT_EQ(found[1].gb_per_s, 10);
    EXPECT_EQ(found[2].name, "ib0");
}

TEST_F(FakeSys, ListsActiveRdmaPorts) {
    rdma_port("mlx5_0", 1, "4: ACTIVE", "100 Gb/sec (4X EDR)");
    rdma_port("mlx5_1", 1, "1: DOWN", "10 Gb/sec (4X SDR)");
    rdma_port("mlx5_2", 1, "4: ACTIVE", "2.5 Gb/sec (1X SDR)");
    const auto found = active_rdma_ports(sys_);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].device, "mlx5_0");
    EXPECT_EQ(found[0].port, 1);
    EXPECT_EQ(found[0].gb_per_s, 100);
    EXPECT_EQ(found[1].gb_per_s, 2.5);
}

TEST_F(FakeSys, AcceptsAnEmptySys) {
    EXPECT_TRUE(network_interfaces(sys_).empty());
    EXPECT_TRUE(active_rdma_ports(sys_).empty());
}

const std::vector<NetworkInterface> ethernet{{"docker0", 0, true}, {"eth0", 10, false}, {"eth1", 1, false}};
const std::vector<NetworkInterface> plain{{"eth0", 10, false}};
const std::vector<RdmaPort> mellanox{{"mlx5_0", 1, 100}, {"mlx5_1", 1, 40}};

TEST(TransportSettings, AutoLeavesTheTransportToOpenMpi) {
    Settings wanted{{"OMPI_MCA_reachable", "weighted"}};
    EXPECT_EQ(transport_settings({}, plain, {}), wanted);
    EXPECT_EQ(transport_settings({}, plain, mellanox), wanted);
    wanted["OMPI_MCA_btl_tcp_if_exclude"] = "127.0.0.1/8,sppp,docker0";
    EXPECT_EQ(transport_settings({}, ethernet, {}), wanted);
}

TEST(TransportSettings, UsesUcxOverRdma) {
    const Settings settings = transport_settings({Transport::Ucx, ""}, plain, mellanox);
    EXPECT_EQ(settings.at("OMPI_MCA_pml"), "ucx");
    EXPECT_FALSE(settings.contains("UCX_TLS"));
    EXPECT_EQ(transport_settings({Transport::Ucx, "mlx5_1"}, plain, mellanox).at("UCX_NET_DEVICES"),
              "mlx5_1:1");
}

TEST(TransportSettings, SetsUcxUpForTcp) {
    const Settings settings = transport_settings({Transport::Ucx, ""}, ethernet, {});
    EXPECT_EQ(settings.at("OMPI_MCA_pml"), "ucx");
    EXPECT_EQ(settings.at("OMPI_MCA_pml_ucx_tls"), "any");
    EXPECT_EQ(settings.at("OMPI_MCA_pml_ucx_devices"), "any");
    EXPECT_EQ(settings.at("UCX_TLS"), "tcp,sm,self");
    EXPECT_EQ(settings.at("UCX_NET_DEVICES"), "eth0,eth1");
    // An Ethernet device is requested though there is RDMA too.
    EXPECT_EQ(transport_settings({Transport::Ucx, "eth0"}, plain, mellanox).at("UCX_TLS"), "tcp,sm,self");
}

TEST(TransportSettings, UsesOneInterface) {
    const Settings settings = transport_settings({Transport::Tcp, "eth1"}, ethernet, mellanox);
    EXPECT_EQ(settings.at("OMPI_MCA_pml"), "ob1");
    EXPECT_EQ(settings.at("OMPI_MCA_btl_tcp_if_include"), "eth1");
    EXPECT_FALSE(settings.contains("OMPI_MCA_btl_tcp_if_exclude")) << "Open MPI refuses both";
}

TEST(TransportSettings, KeepsTheUsersSettings) {
    setenv("OMPI_MCA_btl_tcp_if_include", "eth7", 1);
    unsetenv("OMPI_MCA_btl_tcp_if_exclude");
    apply(transport_settings({}, ethernet, {}));
    EXPECT_STREQ(std::getenv("OMPI_MCA_btl_tcp_if_include"), "eth7");
    EXPECT_EQ(std::getenv("OMPI_MCA_btl_tcp_if_exclude"), nullptr);
    unsetenv("OMPI_MCA_btl_tcp_if_include");
}

TEST(TransportText, NamesDevicesAndSpeed) {
    EXPECT_EQ(transport_text(true, {}, plain, {{"mlx5_0", 1, 100}}), "UCX over mlx5_0 (100 Gb/s)");
    EXPECT_EQ(transport_text(true, {{"UCX_NET_DEVICES", "mlx5_1:1"}}, plain, mellanox),
              "UCX over mlx5_1 (40 Gb/s)");
    EXPECT_EQ(transport_text(false, {}, plain, mellanox), "TCP over eth0 (10 Gb/s)");
    EXPECT_EQ(transport_text(false, {}, ethernet, {}), "TCP over eth0 (10 Gb/s), eth1 (1 Gb/s)");
    EXPECT_EQ(transport_text(false, {{"OMPI_MCA_btl_tcp_if_include", "10.0.0.0/24"}}, plain, {}),
              "TCP over 10.0.0.0/24");
    EXPECT_EQ(transport_text(true, {{"UCX_NET_DEVICES", "eth0"}}, plain, mellanox),
              "UCX/TCP over eth0 (10 Gb/s)");
}

}  // namespace
}  // namespace voltpile
