#include "machine/host_sensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/seconds_since.h"

using namespace voltpile;
using namespace std::chrono_literals;

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

// Runs a script in the place of ipmitool.
class IpmiProgram : public ::testing::Test {
  protected:
    IpmiProgram() : path_(std::getenv("PATH")) {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "ipmi0") << "";
        ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    }
    ~IpmiProgram() override {
        ::setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    std::vector<NodeFinding> check(const std::string& script, std::chrono::milliseconds deadline = 60s) {
        std::ofstream(folder_ / "ipmitool") << "#!/bin/sh\n" << script << '\n';
        std::filesystem::permissions(folder_ / "ipmitool", std::filesystem::perms::owner_all);
        return check_ipmi(folder_ / "ipmi0", deadline);
    }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("voltpile-ipmi-" + std::to_string(getpid()));
    std::string path_;
};

TEST_F(IpmiProgram, CriticalSensorsAreFindings) {
    const auto findings =
        check("[ \"$*\" = 'sdr list' ] && echo 'FAN2  | 0 RPM  | cr' && echo 'FAN1 | 4200 RPM | ok'; exit 1");
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].text, "management controller: FAN2: 0 RPM, which is critical");
    EXPECT_EQ(findings[0].health, Health::Degraded);
}

TEST_F(IpmiProgram, ASlowControllerIsAFinding) {
    const auto begin = std::chrono::steady_clock::now();
    const auto findings = check("sleep 1000", 1s);
    EXPECT_LT(seconds_since(begin), 100);
    ASSERT_FALSE(findings.empty());
    EXPECT_EQ(findings.back().text, "management controller: no answer to ipmitool sdr list in 1 s");
    EXPECT_EQ(findings.back().health, Health::Degraded);
}

TEST_F(IpmiProgram, AFailureDoesNotChangeTheVerdict) {
    const auto findings = check("echo 'Could not open device at /dev/ipmi0' >&2; exit 1");
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].text,
              "management controller: ipmitool shows no sensors: Could not open device at /dev/ipmi0");
    EXPECT_EQ(findings[0].health, Health::Ok);
}

TEST_F(IpmiProgram, IsNotUsedWithoutTheDevice) {
    check("");
    EXPECT_TRUE(check_ipmi(folder_ / "ipmi1").empty());
}
