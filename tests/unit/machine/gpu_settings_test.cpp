#include "machine/gpu_settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "machine/probe.h"
#include "machine/settings_record.h"
#include "machine/stand_in_node.h"

using namespace voltpile;
using namespace std::chrono_literals;
using voltpile::testing::StandInNode;

namespace {

// The settings that spared the published supply: nvidia-smi -ac 877,1005.
GpuSettings published(const std::string& bus_id) {
    GpuSettings settings;
    settings.bus_id = bus_id;
    settings.application_memory_clock_mhz = 877;
    settings.application_clock_mhz = 1005;
    return settings;
}

}  // namespace

TEST(GpuSettings, SetsAndReadsBack) {
    StandInNode stand_in;
    stand_in.gpu(1)["settable"] = true;
    stand_in.use();
    GpuSettings settings = published("0000:16:00.0");
    settings.power_limit_w = 200;
    const auto outcomes = change_gpus({settings}, kProbeDeadline);
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes[0].done, settings);
    EXPECT_TRUE(outcomes[0].not_permitted.empty());
    EXPECT_TRUE(outcomes[0].problems.empty());
    const NodeGpus node = probe_gpus();
    EXPECT_EQ(node.gpus.at(1).power_limit_w, 200);
    EXPECT_EQ(node.gpus.at(1).application_clock_mhz, 1005);
    EXPECT_EQ(node.gpus.at(0).application_clock_mhz, 1312);
}

TEST(GpuSettings, NamesTheCommandWhereItIsNotPermitted) {
    StandInNode stand_in;
    stand_in.use();
    GpuSettings settings = published("0000:15:00.0");
    settings.power_limit_w = 200;
    const auto outcomes = change_gpus({settings}, kProbeDeadline);
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_TRUE(outcomes[0].done.empty());
    EXPECT_TRUE(outcomes[0].problems.empty());
    EXPECT_EQ(outcomes[0].not_permitted, settings);
    EXPECT_EQ(nvidia_smi_command(outcomes[0].not_permitted), "nvidia-smi -pl 200 -ac 877,1005");
}

TEST(GpuSettings, LocksTheClockOfGpusWithoutApplicationClocks) {
    StandInNode stand_in;
    stand_in.gpu(0)["settable"] = true;
    stand_in.use();
    GpuSettings settings;
    settings.bus_id = "0000:15:00.0";
    settings.locked_clock_mhz = 1500;
    EXPECT_EQ(change_gpus({settings}, kProbeDeadline).at(0).done, settings);
    EXPECT_EQ(nvidia_smi_command(settings), "nvidia-smi -lgc 0,1500");
    const GpuSettings before = current_settings(probe_gpus().gpus.at(0), settings);
    EXPECT_EQ(before.locked_clock_mhz, 0);  // any clock
    EXPECT_EQ(change_gpus({before}, kProbeDeadline).at(0).done, before);
}

TEST(GpuSettings, ReportsWhatTheDriverRefuses) {
    StandInNode stand_in;
    stand_in.gpu(0)["settable"] = true;
    stand_in.use();
    GpuSettings settings;
    settings.bus_id = "0000:15:00.0";
    settings.power_limit_w = 400;
    const auto outcomes = change_gpus({settings, published("0000:99:00.0")}, kProbeDeadline);
    EXPECT_EQ(outcomes.at(0).problems, std::vector<std::string>{"power limit 400 W: Unknown Error (NVML 2)"});
    EXPECT_EQ(outcomes.at(1).problems, std::vector<std::string>{"the driver does not list this GPU"});
}

TEST(GpuSettings, GivesUpOnADriverThatHangs) {
    StandInNode stand_in;
    stand_in.node["hang"] = true;
    stand_in.use();
    EXPECT_THROW(change_gpus({published("0000:15:00.0")}, 300ms), MachineError);
}

class SettingsRecordFile : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        home_ = std::filesystem::temp_directory_path() /
                ("voltpile-state-" + std::to_string(getpid()) + "-" + test->name());
        std::filesystem::create_directories(home_);
        setenv("XDG_STATE_HOME", home_.c_str(), 1);
    }
    void TearDown() override {
        unsetenv("XDG_STATE_HOME");
        std::filesystem::remove_all(home_);
    }
    std::filesystem::path home_;
};

TEST_F(SettingsRecordFile, KeepsWhatToRestoreUntilItIsEmptied) {
    const std::vector<GpuSettings> settings{published("0000:15:00.0")};
    {
        const auto record = SettingsRecord::open();
        ASSERT_TRUE(record);
        EXPECT_TRUE(record->left().empty());
        record->write(settings);
    }
    {
        const auto record = SettingsRecord::open();
        EXPECT_EQ(record->left(), settings);
        record->write({});
    }
    EXPECT_TRUE(SettingsRecord::open()->left().empty());
}

TEST_F(SettingsRecordFile, BelongsToOneRunAtATime) {
    const auto record = SettingsRecord::open();
    EXPECT_TRUE(record);
    EXPECT_FALSE(SettingsRecord::open());
    record->write({published("0000:15:00.0")});
    EXPECT_TRUE(restore_left_settings().empty());  // the other run still needs them
}

TEST_F(SettingsRecordFile, RefusesAFolderThatOthersCanWrite) {
    std::filesystem::create_directory(home_ / "voltpile");
    chmod((home_ / "voltpile").c_str(), 0777);
    EXPECT_THROW(SettingsRecord::open(), FileError);
}

TEST_F(SettingsRecordFile, KeepsTheRecordOfWhatCannotBeRestored) {
    StandInNode stand_in;
    stand_in.gpu(0)["settable"] = true;
    stand_in.use();
    GpuSettings other = published("0000:16:00.0");
    SettingsRecord::open()->write({published("0000:15:00.0"), other});
    const auto restored = restore_left_settings();
    ASSERT_EQ(restored.size(), 2u);
    EXPECT_TRUE(restored[0].restored);
    EXPECT_EQ(
        restored[1].text,
        "GPU 0000:16:00.0: cannot restore what a killed run had changed: application clock 1005 MHz: not "
        "permitted");
    EXPECT_EQ(SettingsRecord::open()->left(), std::vector<GpuSettings>{other});
}
