#include "machine/processor_sensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/seconds_since.h"

using namespace voltpile;

namespace {

class ProcessorSensorsTest : public ::testing::Test {
  protected:
    ~ProcessorSensorsTest() override { std::filesystem::remove_all(sys_); }

    void set(const std::string& file, const std::string& text) const {
        const std::filesystem::path path = sys_ / "class" / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text << '\n';
    }
    HostReading read(ProcessorSensors& sensors) const {
        HostReading reading;
        sensors.read(reading);
        return reading;
    }
    HostReading read() const {
        ProcessorSensors sensors(sys_);
        return read(sensors);
    }
    void set_package(int number, const std::string& energy_uj) const {
        const std::string zone = "powercap/intel-rapl:" + std::to_string(number);
        set(zone + "/name", "package-" + std::to_string(number));
        set(zone + "/max_energy_range_uj", "262143328850");
        set(zone + "/energy_uj", energy_uj);
    }

    std::filesystem::path sys_ =
        std::filesystem::temp_directory_path() / ("voltpile-sensors-" + std::to_string(getpid()));
};

TEST_F(ProcessorSensorsTest, TakesTheHottestPackage) {
    for (const int socket : {0, 1}) {
        const std::string device = "hwmon/hwmon" + std::to_string(socket);
        set(device + "/name", "coretemp");
        set(device + "/temp1_label", "Package id " + std::to_string(socket));
        set(device + "/temp1_input", socket == 0 ? "61000" : "74500");
        set(device + "/temp2_label", "Core 0");
        set(device + "/temp2_input", "99000");
    }
    set("hwmon/hwmon2/name", "nvme");  // not a processor
    set("hwmon/hwmon2/temp1_input", "90000");
    EXPECT_EQ(read().cpu_temperature_c, 74.5);
}

TEST_F(ProcessorSensorsTest, ReadsAllSensorsOfADriverWithoutPackages) {
    set("hwmon/hwmon0/name", "k10temp");
    set("hwmon/hwmon0/temp1_label", "Tctl");
    set("hwmon/hwmon0/temp1_input", "52000");
    set("hwmon/hwmon0/temp3_label", "Tccd1");
    set("hwmon/hwmon0/temp3_input", "53250");
    EXPECT_EQ(read().cpu_temperature_c, 53.25);
    // Tctl is up to 70 °C above the true temperature of the die.
    set("hwmon/hwmon0/temp2_label", "Tdie");
    set("hwmon/hwmon0/temp2_input", "48000");
    EXPECT_EQ(read().cpu_temperature_c, 48);
}

TEST_F(ProcessorSensorsTest, AbsentOrUnreadableSensorsAreUnknown) {
    const HostReading none = read();
    EXPECT_FALSE(none.cpu_temperature_c);
    EXPECT_FALSE(none.cpu_power_w);
    EXPECT_FALSE(none.host_power_w);
    set("hwmon/hwmon0/name", "coretemp");
    set("hwmon/hwmon0/temp1_input", "");
    set("hwmon/hwmon1/name", "power_meter");
    set("hwmon/hwmon1/power1_average", "N/A");
    set_package(0, "");  // as for users who may not read it
    ProcessorSensors sensors(sys_);
    for (int i = 0; i < 2; ++i) {
        const HostReading reading = read(sensors);
        EXPECT_FALSE(reading.cpu_temperature_c);
        EXPECT_FALSE(reading.cpu_power_w);
        EXPECT_FALSE(reading.host_power_w);
    }
}

TEST_F(ProcessorSensorsTest, PowerIsTheIncreaseOfAllPackagesOverTime) {
    set_package(0, "1000000");
    set_package(1, "262143000000");
    set("powercap/intel-rapl:0:0/name", "dram");  // not a package
    set("powercap/intel-rapl:0:0/energy_uj", "5");
    const auto outside = std::chrono::steady_clock::now();
    ProcessorSensors sensors(sys_);
    EXPECT_FALSE(read(sensors).cpu_power_w);
    const auto inside = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    set_package(0, "31000000");  // 30 J
    set_package(1, "671150");    // 1 J, beyond the counter's range
    const double shortest_s = seconds_since(inside);
    const double power_w = read(sensors).cpu_power_w.value_or(0);
    EXPECT_LE(power_w, 31 / shortest_s * (1 + 1e-12));  // rounding
    EXPECT_GE(power_w, 31 / seconds_since(outside));
    set_package(1, "");
    EXPECT_FALSE(read(sensors).cpu_power_w);  // the sum of the others would mislead
}

TEST_F(ProcessorSensorsTest, PowerOfTheHost) {
    set("hwmon/hwmon0/name", "power_meter");
    set("hwmon/hwmon0/power1_average", "1423000000");
    set("hwmon/hwmon1/name", "amdgpu");  // a device, not the host
    set("hwmon/hwmon1/power1_average", "30000000");
    EXPECT_EQ(read().host_power_w, 1423);
}

}  // namespace
