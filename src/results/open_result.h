// A run's way to its result: what is there already, whether it may be touched, and the part folder to go on
// with.
#pragma once

#include <filesystem>
#include <memory>

#include "results/parts/part_folder.h"

namespace voltpile {

// Whether the result is there, and not waiting to be replaced by its parts (--fresh).
bool is_complete(const std::filesystem::path& result, const ResultLayout& layout);

// Opens the part folder of `result`, or returns nothing if the result is complete already; parts that were
// left beside it are then removed. fresh: what there is of this or another job shall be replaced. Throws
// JobError, FileError.
std::unique_ptr<PartFolder> open_result(const std::filesystem::path& result, const ResultLayout& layout,
                                        bool fresh, const Claim& claim);

// After a run that was killed between giving the result its name and removing the parts. Only warns.
void remove_left_over_parts(const std::filesystem::path& result, const ResultLayout& layout);

// Puts the result together once the parts of all shards are there, which only the last of them to finish
// finds; then the part folder is removed.
enum class ShardEnd {
    OthersToCome,    // parts of other shards are missing yet
    OtherIsWriting,  // another shard is putting the result together
    ResultIsThere,   // by this run, or by another shard in the meantime
};
// The shard's own parts are all committed. Throws FileError; then all parts are kept.
ShardEnd finish_shard(PartFolder& folder, const std::filesystem::path& result, const ResultLayout& layout,
                      const Provenance& provenance);

}  // namespace voltpile
