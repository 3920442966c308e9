// The fence around a result. Each run of a job ("life") has a folder of its own,
// `<result>.parts/life-<n>-...`, for all its temporary files. Every change to the results is one rename out
// of that folder (to commit) or into it (to remove). A run that takes over removes the folder. From then on
// nothing that its predecessor still tries can succeed, whether it was stopped in the middle of a commit or
// runs on a node that was cut off: the kernel, or the server of a network file system, rejects the rename.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "work/shard.h"

namespace voltpile {

// All functions below throw this once the life's folder is gone: "another run has taken over results/x.h5
// (life 4, job 123 on node2): ...".
class TakenOverError : public FileError {
  public:
    explicit TakenOverError(const std::string& message) : FileError(message, ExitCode::Failed) {}
};

// The names by which any rank of a run knows its life.
struct Life {
    std::filesystem::path result;  // the file that the run writes
    std::filesystem::path parts;   // the part folder
    std::string name;              // of the life's folder in the part folder

    std::filesystem::path folder() const { return parts / name; }
};

// The name of a life's folder: "life-7-<16 hexadecimal digits>", of a shard "life-2of4-7-<...>". The digits
// are random: no life has the name of an earlier one, and no client of a network file system remembers that
// the name did not exist.
struct LifeName {
    Shard shard;
    std::int64_t number = 0;
    std::string nonce;

    std::string text() const;
    static std::optional<LifeName> parse(const std::string& text);
    // If two runs start at once and both may take over, the later one in this order stays.
    friend auto operator<=>(const LifeName& a, const LifeName& b) {
        return std::pair(a.number, a.nonce) <=> std::pair(b.number, b.nonce);
    }
    friend bool operator==(const LifeName&, const LifeName&) = default;
};

std::string random_nonce();  // 16 hexadecimal digits

// Returns the names of the lives that have a folder in `parts`. Throws FileError.
std::vector<LifeName> list_lives(const std::filesystem::path& parts);

// Returns a path in the life's folder that no other process or thread uses, on any host.
std::filesystem::path temporary_in(const Life& life, const std::string& file_name);

// Gives a file in the life's folder its final name, durably: fsync, rename, fsync of the folder. Throws
// FileError after removing `temporary`.
void publish_in(const Life& life, const std::filesystem::path& temporary,
                const std::filesystem::path& target);

enum class Flush { Now, Later };  // Later: the caller flushes (sync_file_system)

// Writes a file in the life's folder and renames it to `target`. Throws FileError.
void write_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes,
              Flush flush = Flush::Now);

// Does what write_in does unless `target` exists, and then returns false. Throws FileError.
bool create_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes);

// Removes a file of the part folder, if it exists. Throws FileError.
void withdraw_in(const Life& life, const std::filesystem::path& path);

// Renames a file of the part folder. Throws FileError.
void rename_in(const Life& life, const std::filesystem::path& from, const std::filesystem::path& to);

// Throws TakenOverError if another run has ended this life.
void check_not_taken_over(const Life& life);

// Throws TakenOverError, which names the run that has taken over.
[[noreturn]] void throw_taken_over(const Life& life);

// A life that has begun: its folder exists and those of its predecessors do not. Private to src/results.
class ClaimedLife {
  public:
    // Begins a life of this shard, with a number greater than `after` (the greatest in the journal). Calls
    // `check` as soon as other runs can see the life; it throws if the life must not begin any more. Then
    // ends the earlier lives of the same shard and all lives that must not run beside it: those of the whole
    // sweep if this is a shard, those of shards if it is not, and those of shards of another count. Throws
    // TakenOverError if another run does the same at this moment and prevails, FileError.
    ClaimedLife(const std::filesystem::path& result, const std::filesystem::path& parts, const Shard& shard,
                std::int64_t after, const std::function<void(const Life&)>& check);
    ~ClaimedLife();  // ends it
    ClaimedLife(const ClaimedLife&) = delete;
    ClaimedLife& operator=(const ClaimedLife&) = delete;

    const Life& life() const { return life_; }
    std::int64_t number() const { return name_.number; }

    // Ends all other lives. Call it when the result is complete, so that they have nothing left to do.
    void end_all_others() const;

  private:
    void end_predecessors() const;
    void end_other(const LifeName& other) const;

    LifeName name_;
    Life life_;
};

}  // namespace voltpile
