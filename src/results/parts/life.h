// The fence around a result: each run of a job ("life") has a folder of its own,
// `<result>.parts/life-<n>-...`, for all its temporary files, and whatever it changes among the results is
// one rename out of that folder (to commit) or into it (to take something away). A successor removes the
// folder. From then on nothing that the predecessor still tries can succeed, be it stopped in the middle of a
// commit or alive on a node that has been cut off: the kernel, or the server of a network file system,
// refuses the rename.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "results/parts/life_record.h"
#include "work/shard.h"

namespace voltpile {

// Thrown by all below once the life's folder is gone: "another run has taken over results/x.h5 (life 4, job
// 123 on node2): ...".
class TakenOverError : public FileError {
  public:
    explicit TakenOverError(const std::string& message) : FileError(message, ExitCode::Failed) {}
};

// One life, as any rank of the run knows it: just names.
struct Life {
    std::filesystem::path result;  // what it writes, as named in messages and in the end
    std::filesystem::path parts;   // the part folder
    std::string name;              // of this life's folder in it

    std::filesystem::path folder() const { return parts / name; }
};

// "life-7-<16 hexadecimal digits>", of a shard "life-2of4-7-<...>". The digits are random, so that no life
// ever has the name of an earlier one, and nobody has looked for it before (network file systems remember
// what was not there).
struct LifeName {
    Shard shard;
    std::int64_t number = 0;
    std::string nonce;

    std::string text() const;
    static std::optional<LifeName> parse(const std::string& text);
    // Of two runs that start at once, both with the right to take over, the later one in this order stays.
    friend auto operator<=>(const LifeName& a, const LifeName& b) {
        return std::pair(a.number, a.nonce) <=> std::pair(b.number, b.nonce);
    }
    friend bool operator==(const LifeName&, const LifeName&) = default;
};

std::string random_nonce();  // 16 hexadecimal digits

// A name in the life's folder that no other process or thread uses, on any host.
std::filesystem::path temporary_in(const Life& life, const std::string& file_name);

// Gives a file in the life's folder its final name for good: fsync, rename, fsync of the folder. Throws
// FileError; then `temporary` is gone.
void publish_in(const Life& life, const std::filesystem::path& temporary,
                const std::filesystem::path& target);

enum class Flush { Now, Later };  // Later: whoever calls sees to it (sync_file_system)
void write_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes,
              Flush flush = Flush::Now);

// As write_in, but never in the place of another file: false if there is one.
bool create_in(const Life& life, const std::filesystem::path& target, std::span<const std::byte> bytes);

// Takes a file out of the part folder and removes it. Fine if it is not there.
void withdraw_in(const Life& life, const std::filesystem::path& path);

// Renames a file of the part folder.
void rename_in(const Life& life, const std::filesystem::path& from, const std::filesystem::path& to);

// Throws TakenOverError if this life has been ended by another run.
void check_not_taken_over(const Life& life);

[[noreturn]] void throw_taken_over(const Life& life);  // says by whom

}  // namespace voltpile
