// What lies in a part folder, also for those who only look at it while somebody else may be writing there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/parts/part_folder.h"

namespace voltpile {

inline constexpr const char* manifest_name = "layout.h5";
inline constexpr const char* probe_prefix = "probe-";
// Its presence says that these parts shall replace a result that is there already (--fresh).
inline constexpr const char* replaces_name = "replaces";

// The folder's entries, sorted. Throws FileError.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

bool is_part(const std::filesystem::path& path);      // "part-*.h5", whatever is in it
bool is_rejected(const std::filesystem::path& path);  // "part-*.rejected"
bool is_probe(const std::filesystem::path& path);     // made to see who sees it (make_probe)
bool is_record(const std::filesystem::path& path);    // a lock or a journal of lives
bool is_life(const std::filesystem::path& path);      // a life's folder

bool is_ours(const std::filesystem::path& path);  // any of these, the manifest or the mark, by its name

// The layout of the job that a part folder belongs to; nothing if the folder has no manifest. Throws JobError
// if the manifest cannot be read.
std::optional<ResultLayout> read_manifest(const std::filesystem::path& folder);
Provenance read_manifest_provenance(const std::filesystem::path& folder);

// keep: leave one alone that is there already, and return false.
bool write_manifest(const Life& life, const ResultLayout& layout, bool keep);

// The parts that look usable from their headers; touches nothing, so a run may be writing at the same time.
std::vector<PartInfo> list_parts(const std::filesystem::path& folder, const ResultLayout& layout);

}  // namespace voltpile
