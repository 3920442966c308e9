// Keeps measured tables in files, so that each machine is measured once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "comm/collective/table.h"

namespace voltpile {

// What a measurement depends on.
struct CollectiveCacheKey {
    std::string gpu;     // "NVIDIA H200"
    std::string driver;  // "580.159.04"
    std::string nccl;    // "2.28.9"; empty: no NCCL
    int ranks = 1;
    std::string links;  // "nvlink", "pcie", "none"
};

// Returns "collectives-NVIDIA-H200-x4-nvlink.json" in the folder.
std::filesystem::path cache_file(const std::filesystem::path& folder, const CollectiveCacheKey& key);

// Returns nothing if the file is missing or damaged, or was measured with another key or other kernels.
std::optional<CollectiveTable> load_table(const std::filesystem::path& file, const CollectiveCacheKey& key);

// Replaces the file atomically, so that no reader sees half of it. Returns false if it cannot be written.
bool save_table(const std::filesystem::path& file, const CollectiveCacheKey& key,
                const CollectiveTable& table);

// Converts the table to text and back, for the other ranks.
std::string to_json(const CollectiveCacheKey& key, const CollectiveTable& table);
std::optional<CollectiveTable> table_from_json(const std::string& text, const CollectiveCacheKey& key);

}  // namespace voltpile
