// Opens a result for a run, and completes the result of a sharded run.
#pragma once

#include <filesystem>
#include <memory>

#include "results/parts/part_folder.h"
#include "results/plan_record.h"

namespace voltpile {

// Whether the result is complete and no parts are to replace it (--fresh). Checks the structure of the file,
// not its values.
bool is_complete(const std::filesystem::path& result, const ResultLayout& layout);

// Opens the part folder of `result` for a run. Returns nothing if the result is complete; then it removes
// parts that were left beside it. fresh: replace what earlier runs of this or another job have left. Throws
// JobError, MachineError (results/admission.h), FileError.
std::unique_ptr<PartFolder> open_result(const std::filesystem::path& result, const ResultLayout& layout,
                                        bool fresh, const Claim& claim);

// Removes the parts that a run left which was killed between giving the result its name and removing the
// parts. Only warns if it cannot.
void remove_left_over_parts(const std::filesystem::path& result, const ResultLayout& layout);

// What finish_shard() found or did.
enum class ShardEnd {
    OthersToCome,     // parts of other shards are missing
    OtherIsWriting,   // another shard is writing the result
    OtherHasWritten,  // another shard has written the result
    ResultWritten,    // by this run
};
// Writes the result if the parts of all shards are committed, and removes the part folder. Call it when all
// parts of this shard are committed. Throws FileError; all parts stay.
ShardEnd finish_shard(PartFolder& folder, const std::filesystem::path& result, const ResultLayout& layout,
                      const Provenance& provenance, const PlanRecord* plan = nullptr);

}  // namespace voltpile
