#include "run/pci_places.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plan/device_paths.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// A sysfs with devices as the kernel shows them.
class FakeSysfs {
  public:
    FakeSysfs() : root_(fs::path(testing::TempDir()) / ("sysfs" + std::to_string(getpid()))) {
        fs::remove_all(root_);
    }
    ~FakeSysfs() { fs::remove_all(root_); }

    const fs::path& root() const { return root_; }

    // path: "pci0000:80/0000:80:01.0/...".
    void add(const std::string& path, const std::string& lanes, const std::string& most_lanes,
             const std::string& speed) {
        const fs::path folder = root_ / "devices" / path;
        fs::create_directories(folder);
        fs::create_directories(root_ / "bus/pci/devices");
        fs::create_directory_symlink(folder, root_ / "bus/pci/devices" / folder.filename());
        write(folder / "current_link_width", lanes);
        write(folder / "max_link_width", most_lanes);
        write(folder / "current_link_speed", "2.5 GT/s PCIe");  // idle
        write(folder / "max_link_speed", speed);
        write(folder / "numa_node", "1");
    }
    void add_rdma(const std::string& name, const std::string& path,
                  const std::string& subnet = "fe80:0000:0000:0000") {
        const fs::path port = root_ / "class/infiniband" / name / "ports/1";
        fs::create_directories(port);
        write(port / "state", "4: ACTIVE");
        write(port / "rate", "100 Gb/sec (4X EDR)");
        fs::create_directories(port / "gids");
        write(port / "gids/0", subnet + ":0000:0000:0000:0001");
        fs::create_directory_symlink(root_ / "devices" / path, port / "../../device");
    }
    void add_interface(const std::string& name, const std::string& path) {
        const fs::path folder = root_ / "class/net" / name;
        fs::create_directories(folder);
        write(folder / "operstate", "up");
        write(folder / "type", "1");
        write(folder / "speed", "10000");
        fs::create_directory_symlink(root_ / "devices" / path, folder / "device");
    }

  private:
    static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text << "\n"; }
    fs::path root_;
};

const std::string kPort = "pci0000:80/0000:80:01.0";
const std::string kUpstream = kPort + "/0000:81:00.0";

TEST(PciPlaces, ReadsSwitchesAndLinks) {
    FakeSysfs sysfs;
    sysfs.add(kPort, "16", "16", "8.0 GT/s PCIe");
    sysfs.add(kUpstream, "16", "16", "8.0 GT/s PCIe");
    sysfs.add(kUpstream + "/0000:82:08.0", "16", "16", "8.0 GT/s PCIe");
    sysfs.add(kUpstream + "/0000:82:08.0/0000:83:00.0", "8", "16", "16.0 GT/s PCIe");
    sysfs.add(kUpstream + "/0000:82:10.0", "16", "16", "8.0 GT/s PCIe");
    sysfs.add(kUpstream + "/0000:82:10.0/0000:84:00.0", "16", "16", "8.0 GT/s PCIe");
    sysfs.add("pci0000:80/0000:80:02.0", "8", "16", "8.0 GT/s PCIe");
    sysfs.add("pci0000:80/0000:80:02.0/0000:85:00.0", "8", "8", "8.0 GT/s PCIe");
    sysfs.add_rdma("mlx5_0", kUpstream + "/0000:82:10.0/0000:84:00.0");
    sysfs.add_interface("ib0", kUpstream + "/0000:82:10.0/0000:84:00.0");  // the same device
    sysfs.add_interface("eth0", "pci0000:80/0000:80:02.0/0000:85:00.0");

    const PciPath gpu = pci_path("0000:83:00.0", sysfs.root());
    EXPECT_EQ(gpu.root, "pci0000:80");
    ASSERT_EQ(gpu.switches.size(), 1u);
    EXPECT_EQ(gpu.switches[0].name, "0000:81:00.0");
    EXPECT_EQ(gpu.place.numa_node, 1);
    EXPECT_EQ(gpu.place.slot, (PcieLink{3, 16}));  // the slower of device and port
    EXPECT_EQ(gpu.place.link, (PcieLink{3, 8}));

    const std::vector<NicPath> nics = pci_nics(sysfs.root());
    ASSERT_EQ(nics.size(), 2u);
    EXPECT_EQ(nics[0].nic.name, "mlx5_0");
    EXPECT_EQ(nics[0].nic.gbit_per_s, 100);
    EXPECT_EQ(nics[1].nic.name, "eth0");
    EXPECT_EQ(nics[1].nic.gbit_per_s, 10);
    EXPECT_EQ(nics[1].path.place.slot, (PcieLink{3, 8}));  // a card of eight lanes in a slot of sixteen

    Host host;
    host.gpus.resize(1);
    host.gpus[0].place = add_place(host, gpu);
    for (const NicPath& nic : nics) {
        host.nics.push_back(nic.nic);
        host.nics.back().place = add_place(host, nic.path);
    }
    EXPECT_EQ(host.pcie.size(), 2u);
    EXPECT_EQ(gpu_nic_path(host, 0, 0).kind, PathKind::SameSwitch);
    EXPECT_EQ(gpu_nic_path(host, 0, 1).kind, PathKind::SameRoot);
}

TEST(PciPlaces, FindsTheRdmaPortNextToAGpu) {
    FakeSysfs sysfs;
    const std::string near = "pci0000:80/0000:80:01.0", far = "pci0000:80/0000:80:03.0";
    sysfs.add(near, "16", "16", "8.0 GT/s PCIe");
    for (const char* device :
         {"/0000:81:00.0", "/0000:81:00.0/0000:82:00.0", "/0000:81:00.0/0000:82:01.0",
          "/0000:81:00.0/0000:82:00.0/0000:83:00.0", "/0000:81:00.0/0000:82:01.0/0000:84:00.0"})
        sysfs.add(near + device, "16", "16", "8.0 GT/s PCIe");
    sysfs.add(far, "16", "16", "8.0 GT/s PCIe");
    sysfs.add(far + "/0000:90:00.0", "16", "16", "8.0 GT/s PCIe");
    sysfs.add_rdma("mlx5_0", far + "/0000:90:00.0");
    EXPECT_EQ(nearest_rdma_port("0000:83:00.0", 0, sysfs.root()), "");  // no choice
    sysfs.add_rdma("mlx5_1", near + "/0000:81:00.0/0000:82:01.0/0000:84:00.0");
    EXPECT_EQ(nearest_rdma_port("0000:83:00.0", 0, sysfs.root()), "mlx5_1:1");
    EXPECT_EQ(nearest_rdma_port("0000:99:00.0", 0, sysfs.root()), "");  // no such GPU
    sysfs.add_rdma("mlx5_2", far + "/0000:90:00.0", "fec0:0000:0000:0001");
    EXPECT_EQ(nearest_rdma_port("0000:83:00.0", 0, sysfs.root()), "");  // another subnet
}

TEST(PciPlaces, KnowsNothingOfMissingDevices) {
    FakeSysfs sysfs;
    const PciPath path = pci_path("0000:83:00.0", sysfs.root());
    EXPECT_EQ(path.root, "");
    EXPECT_EQ(path.place.numa_node, -1);
    Host host;
    EXPECT_EQ(add_place(host, path).node, -1);
    EXPECT_TRUE(host.pcie.empty());
    EXPECT_TRUE(pci_nics(sysfs.root()).empty());
}

}  // namespace
}  // namespace voltpile
