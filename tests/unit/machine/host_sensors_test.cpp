#include "machine/host_sensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace voltpile;

class HostSensors : public ::testing::Test {
  protected:
    HostSensors() {
        set("name", "coretemp");
        set("temp1_label", "Package id 0");
        set("temp1_input", "61000");
        set("temp1_crit", "100000");
        set("fan1_input", "4200");
        set("fan1_min", "600");
    }
    ~HostSensors() override { std::filesystem::remove_all(sys_); }

    void set(const char* file, const char* text) {
        const std::filesystem::path folder = sys_ / "class/hwmon/hwmon0";
        std::filesystem::create_directories(folder);
        std::ofstream(folder / file) << text << '\n';
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> texts;
        for (const NodeFinding& finding : check_hwmon(sys_)) {
            EXPECT_EQ(finding.health, Health::Degraded);
            texts.push_back(finding.text);
        }
        return texts;
    }

    std::filesystem::path sys_ =
        std::filesystem::temp_directory_path() / ("voltpile-hwmon-" + std::to_string(getpid()));
};

TEST_F(HostSensors, AreHealthy) {
    set("temp2_input", "40000");  // a driver that knows no limit
    set("temp3_input", "40000");
    set("temp3_crit", "0");
    EXPECT_TRUE(texts().empty());
    EXPECT_TRUE(check_hwmon("/nowhere").empty());
}

TEST_F(HostSensors, NearTheirLimit) {
    set("temp1_input", "98000");
    EXPECT_EQ(texts(), std::vector<std::string>{"coretemp Package id 0: 98 °C; its limit is 100"});
}

TEST_F(HostSensors, FanThatStandsStill) {
    set("fan1_input", "0");
    EXPECT_EQ(texts(), std::vector<std::string>{"coretemp fan1: this fan stands still"});
    set("fan1_min", "0");  // stops at low temperatures
    EXPECT_TRUE(texts().empty());
}

TEST_F(HostSensors, AlarmOfAPowerMeter) {
    set("power1_input", "700000000");
    set("power1_alarm", "1");
    EXPECT_EQ(texts(), std::vector<std::string>{"coretemp power1: it raises an alarm"});
}

// Lines as ipmitool prints them.
TEST(Ipmi, CriticalSensors) {
    const auto findings = judge_ipmi(
        "CPU1 Temp        | 45 degrees C      | ok\n"
        "FAN2             | 0 RPM             | cr\n"
        "PS2 Status       | 0x0b              | nr\n"
        "CPU2 Temp        | no reading        | ns\n"
        "12V              | 12.10 Volts       | nc\n"
        "no table\n");
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].text, "management controller: FAN2: 0 RPM, which is critical");
    EXPECT_EQ(findings[1].text, "management controller: PS2 Status: 0x0b, which is critical");
    EXPECT_TRUE(judge_ipmi("").empty());
}
