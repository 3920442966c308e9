#include "results/parts/life_claim.h"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "results/parts/durable_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

LifeName next_name(const std::filesystem::path& parts, const Shard& shard, std::int64_t after) {
    for (const LifeName& each : list_lives(parts))
        if (each.shard == shard) after = std::max(after, each.number);
    return {shard, after + 1, random_nonce()};
}

// What a process of this host has open on a network file system cannot be removed ("silly rename" to
// .nfs...), but nor can that process reach anything by the old path any more.
void remove_ended(const std::filesystem::path& folder) {
    try {
        remove_entry(folder);
    } catch (const FileError& error) {
        spdlog::debug("{}", error.what());
        for (const std::filesystem::path& entry : list_folder(folder))
            if (!entry.filename().string().starts_with(".nfs")) remove_entry(entry);
    }
}

}  // namespace

std::vector<LifeName> list_lives(const std::filesystem::path& parts) {
    std::vector<LifeName> lives;
    for (const std::filesystem::path& entry : list_folder(parts))
        if (auto life = LifeName::parse(entry.filename().string())) lives.push_back(std::move(*life));
    return lives;
}

ClaimedLife::ClaimedLife(const std::filesystem::path& result, const std::filesystem::path& parts,
                         const Shard& shard, std::int64_t after,
                         const std::function<void(const Life&)>& check)
    : name_(next_name(parts, shard, after)), life_{result, parts, name_.text()} {
    if (::mkdir(life_.folder().c_str(), 0777) != 0)
        throw FileError("create the folder", life_.folder().string(), errno);
    try {
        check(life_);
        end_predecessors();
    } catch (...) {
        std::error_code ignored;
        std::filesystem::remove_all(life_.folder(), ignored);
        throw;
    }
}

ClaimedLife::~ClaimedLife() {
    std::error_code error;
    std::filesystem::remove_all(life_.folder(), error);
    if (error) spdlog::debug("removing {}: {}", life_.folder().string(), error.message());
}

// Listed after our own folder was made: of two runs that claim at once, at least one sees the other, and they
// agree on who prevails.
void ClaimedLife::end_predecessors() const {
    for (const LifeName& other : list_lives(life_.parts)) {
        if (other == name_) continue;
        if (other.shard == name_.shard && other > name_)
            throw TakenOverError("another run has taken over " + life_.result.string() + " at this moment (" +
                                 other.text() + "): this one ends");
        const bool beside = other.shard.count == name_.shard.count && other.shard != name_.shard;
        if (!beside) end_other(other);
    }
}

void ClaimedLife::end_all_others() const {
    for (const LifeName& other : list_lives(life_.parts))
        if (other != name_) end_other(other);
}

// Moved away in one step, so that no path leads there any more; then emptied and removed until that succeeds,
// because a host elsewhere may still hold a handle by which it puts new files in.
void ClaimedLife::end_other(const LifeName& other) const {
    const std::filesystem::path from = life_.parts / other.text();
    const std::filesystem::path away = life_.folder() / other.text();
    if (::rename(from.c_str(), away.c_str()) != 0) {
        const int why = errno;
        check_not_taken_over(life_);
        if (why == ENOENT) return;  // it has just ended by itself
        throw FileError("remove", from.string(), why);
    }
    remove_ended(away);
}

}  // namespace voltpile
