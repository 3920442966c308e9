// A node for the programs that a test starts: the stand-in NVML and its description.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace voltpile::testing {

class StandInNode {
  public:
    // Starts with a healthy T180-G20: four V100-SXM2-16GB, two NVLinks between each pair.
    StandInNode() {
        std::ifstream in(std::string(VOLTPILE_SOURCE_DIR) + "/tests/stand_in/t180.json");
        node = nlohmann::json::parse(in);
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::temp_directory_path() /
                ("voltpile-node-" + std::to_string(getpid()) + "-" + test->name() + ".json");
    }
    ~StandInNode() {
        unsetenv("VOLTPILE_NVML");
        unsetenv("VOLTPILE_STAND_IN_NODE");
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    StandInNode(const StandInNode&) = delete;
    StandInNode& operator=(const StandInNode&) = delete;

    nlohmann::json& gpu(int index) { return node["gpus"][static_cast<std::size_t>(index)]; }

    // Processes started from now on see the node as it is described now.
    void use() const {
        std::ofstream(path_) << node;
        setenv("VOLTPILE_NVML", VOLTPILE_STAND_IN, 1);
        setenv("VOLTPILE_STAND_IN_NODE", path_.c_str(), 1);
    }

    nlohmann::json node;

  private:
    std::filesystem::path path_;
};

}  // namespace voltpile::testing
