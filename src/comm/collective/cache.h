// Keeps measured tables in files, so that a machine is measured once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "comm/collective/table.h"

namespace voltpile {

// What a measurement holds for.
struct CollectiveCacheKey {
    std::string gpu;     // "NVIDIA H200"
    std::string driver;  // "580.159.04"
    std::string nccl;    // "2.28.9"; empty: without
    int ranks = 1;
    std::string links;  // "nvlink", "pcie", "none"
};

// $XDG_CACHE_HOME/voltpile, else ~/.cache/voltpile; empty if neither is set.
std::filesystem::path default_cache_folder();

// "collectives-NVIDIA-H200-x4-nvlink.json" in the folder.
std::filesystem::path cache_file(const std::filesystem::path& folder, const CollectiveCacheKey& key);

// Nothing if there is no such file, or if it is damaged or was measured with another key or other kernels.
std::optional<CollectiveTable> load_table(const std::filesystem::path& file, const CollectiveCacheKey& key);

// Replaces the file at once, so that nobody ever reads half of it. What cannot be written is left: false.
bool save_table(const std::filesystem::path& file, const CollectiveCacheKey& key,
                const CollectiveTable& table);

// The table as text and back, for the other ranks.
std::string to_json(const CollectiveCacheKey& key, const CollectiveTable& table);
std::optional<CollectiveTable> table_from_json(const std::string& text, const CollectiveCacheKey& key);

}  // namespace voltpile
