// The journal of lives in a part folder: one line of JSON for each run that has taken part, kept when
// resuming and gone with the folder. A file for the runs of the whole sweep, one for those of each shard.
#pragma once

#include <filesystem>
#include <vector>

#include "results/parts/life.h"

namespace voltpile {

std::string journal_name(const Shard& shard);  // "lives.jsonl", "lives-2of4.jsonl"
bool is_journal_name(const std::string& file_name);

// In the order of their starts. Lines that cannot be read are left out, as are files.
std::vector<LifeRecord> read_journal(const std::filesystem::path& parts, const Shard& shard);

// Of the whole sweep and of all shards.
std::vector<LifeRecord> read_lives(const std::filesystem::path& parts);

// Who holds the locks of a part folder, by what the locks say; whether they are alive it does not ask.
std::vector<LifeRecord> read_holders(const std::filesystem::path& parts);

void append_life(const Life& life, const Shard& shard, const LifeRecord& record);  // throws FileError

// A batch system starts a failing job again and again. Throws Error (Failed) if the last three lives in
// `journal` were of this batch job, and each began with as many points committed as there are now.
void check_progress(const std::filesystem::path& result, const std::vector<LifeRecord>& journal,
                    const RunIdentity& run, std::int64_t points);

}  // namespace voltpile
