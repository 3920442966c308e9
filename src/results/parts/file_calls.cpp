#include "results/parts/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/fault.h"
#include "base/phase.h"

namespace voltpile {
namespace {

FileWatcher*& watcher_of_files() {
    static FileWatcher* watcher = nullptr;
    return watcher;
}

// Returns whether the call must fail, with errno set. What remains is an effect on the bytes.
bool fails(std::optional<FaultEffect> effect) {
    if (effect == FaultEffect::NoSpace) errno = ENOSPC;
    if (effect == FaultEffect::IoError) errno = EIO;
    return effect == FaultEffect::NoSpace || effect == FaultEffect::IoError;
}

int told(int returned, FileCall call, const std::filesystem::path& path,
         const std::filesystem::path& to = {}) {
    if (FileWatcher* watcher = watcher_of_files(); watcher && returned >= 0) watcher->after(call, path, to);
    return returned;
}

template <class SystemCall>
int perform(FileCall call, const std::filesystem::path& path, const std::filesystem::path& to,
            const SystemCall& system_call) {
    const InPhase writing(Phase::Commit);
    // A full or failing disk lets files go.
    if (fails(strike(FaultPlace::Write)) && call != FileCall::Unlink) return -1;
    return told(system_call(), call, path, to);
}

}  // namespace

void watch_files(FileWatcher* watcher) {
    watcher_of_files() = watcher;
}

int create_file(const std::filesystem::path& path, int flags) {
    const InPhase writing(Phase::Commit);
    return told(::open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0666), FileCall::Create, path);
}

ssize_t write_file(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
    const InPhase writing(Phase::Commit);
    const std::optional<FaultEffect> effect = strike(FaultPlace::Write);
    if (fails(effect)) return -1;
    std::vector<std::byte> changed;
    if (effect == FaultEffect::ShortWrite) bytes = bytes.first((bytes.size() + 1) / 2);
    if (effect == FaultEffect::Corrupt && !bytes.empty()) {
        changed.assign(bytes.begin(), bytes.end());
        constexpr std::size_t sector = 512;
        for (std::size_t at = std::min(changed.size(), sector) / 2; at < changed.size(); at += sector)
            changed[at] ^= std::byte{1};
        bytes = changed;
    }
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) told(0, FileCall::Write, path);
    return written;
}

int sync_file(int fd, const std::filesystem::path& path, FileCall call) {
    return perform(call, path, {},
                   [fd, call] { return call == FileCall::SyncAll ? ::syncfs(fd) : ::fsync(fd); });
}

int rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    return perform(FileCall::Rename, from, to, [&] { return std::rename(from.c_str(), to.c_str()); });
}

int link_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    return perform(FileCall::Link, from, to, [&] { return ::link(from.c_str(), to.c_str()); });
}

int unlink_file(const std::filesystem::path& path) {
    return perform(FileCall::Unlink, path, {}, [&] { return ::unlink(path.c_str()); });
}

int make_folder(const std::filesystem::path& path) {
    return perform(FileCall::MakeFolder, path, {}, [&] { return ::mkdir(path.c_str(), 0777); });
}

std::error_code remove_tree(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (!error) told(0, FileCall::RemoveAll, path);
    return error;
}

}  // namespace voltpile
