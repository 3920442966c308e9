// Lists a part folder. Safe while another run writes there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "results/parts/part_folder.h"

namespace voltpile {

inline constexpr const char* manifest_name = "layout.h5";
inline constexpr const char* probe_prefix = "probe-";
// A file of this name marks parts that are to replace an existing result (--fresh).
inline constexpr const char* replaces_name = "replaces";

// Returns the folder's entries, sorted. Throws FileError.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

bool is_part(const std::filesystem::path& path);      // "part-*.h5", whatever it contains
bool is_rejected(const std::filesystem::path& path);  // "part-*.rejected"
bool is_probe(const std::filesystem::path& path);     // a rank made it to find out who sees the folder
bool is_record(const std::filesystem::path& path);    // a lock or a journal of lives
bool is_life(const std::filesystem::path& path);      // a life's folder

bool is_ours(const std::filesystem::path& path);  // one of these, the manifest or the mark, by its name

// Returns the layout of the folder's job; nothing if the folder has no manifest. Throws JobError if the
// manifest cannot be read or is of a newer format.
std::optional<ResultLayout> read_manifest(const std::filesystem::path& folder);
Provenance read_manifest_provenance(const std::filesystem::path& folder);

// Writes the manifest. keep: returns false and changes nothing if there is one already. Throws FileError.
bool write_manifest(const Life& life, const ResultLayout& layout, bool keep);

// Returns the parts that are usable by their headers. Throws FileError.
std::vector<PartInfo> list_parts(const std::filesystem::path& folder, const ResultLayout& layout);

}  // namespace voltpile
