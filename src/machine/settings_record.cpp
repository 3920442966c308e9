#include "machine/settings_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file_text.h"
#include "base/host_name.h"
#include "machine/probe.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

// Creates the folder for this user alone. Others could otherwise make a run set what they like.
void make_private_folder(const fs::path& folder) {
    std::error_code ignored;
    fs::create_directories(folder.parent_path(), ignored);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        throw FileError("create", folder.string(), errno);
    struct stat about {};
    if (::lstat(folder.c_str(), &about) != 0) throw FileError("open", folder.string(), errno);
    if (!S_ISDIR(about.st_mode) || about.st_uid != ::geteuid() || (about.st_mode & 022) != 0)
        throw FileError(folder.string() + " is not a folder that only this user can write");
}

void write_whole(const fs::path& path, const std::string& text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) throw FileError("create", path.string(), errno);
    const bool written =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
    const int problem = errno;
    ::close(file);
    if (!written) throw FileError("write", path.string(), problem);
}

}  // namespace

fs::path state_folder() {
    const char* home = std::getenv("XDG_STATE_HOME");
    if (home && *home == '/') return fs::path(home) / "voltpile";
    return fmt::format("/var/tmp/voltpile-{}", ::geteuid());
}

std::optional<SettingsRecord> SettingsRecord::open() {
    const fs::path folder = state_folder();
    make_private_folder(folder);
    const fs::path lock = folder / ("gpus-" + host_name() + ".lock");
    const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) throw FileError("create", lock.string(), errno);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int problem = errno;
        ::close(fd);
        if (problem == EWOULDBLOCK) return std::nullopt;
        throw FileError("lock", lock.string(), problem);
    }
    return SettingsRecord(folder / ("gpus-" + host_name() + ".json"), fd);
}

SettingsRecord::~SettingsRecord() {
    if (lock_ >= 0) ::close(lock_);
}

SettingsRecord::SettingsRecord(SettingsRecord&& other) noexcept
    : file_(std::move(other.file_)), lock_(std::exchange(other.lock_, -1)) {}

SettingsRecord& SettingsRecord::operator=(SettingsRecord&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(lock_, other.lock_);
    return *this;
}

std::vector<GpuSettings> SettingsRecord::left() const {
    const auto record = nlohmann::json::parse(file_text(file_), nullptr, false);
    if (!record.is_object() || record.value("host", "") != host_identity() || !record.contains("restore"))
        return {};
    return settings_from_json(record["restore"].dump());
}

void SettingsRecord::write(const std::vector<GpuSettings>& to_restore) const {
    if (to_restore.empty()) {
        ::unlink(file_.c_str());
        return;
    }
    const nlohmann::json record{{"host", host_identity()},
                                {"restore", nlohmann::json::parse(to_json(to_restore))}};
    const fs::path temporary = file_.string() + ".tmp";
    write_whole(temporary, record.dump() + "\n");
    if (::rename(temporary.c_str(), file_.c_str()) != 0) throw FileError("rename", file_.string(), errno);
}

std::vector<RestoredGpu> restore_left_settings() {
    std::error_code error;
    if (!fs::exists(state_folder(), error)) return {};
    const std::optional<SettingsRecord> record = SettingsRecord::open();
    if (!record) return {};
    const std::vector<GpuSettings> left = record->left();
    if (left.empty()) return {};
    std::vector<RestoredGpu> gpus;
    std::vector<GpuSettings> still_left;
    const std::vector<SettingsOutcome> outcomes = change_gpus(left, kProbeDeadline);
    for (std::size_t i = 0; i < left.size() && i < outcomes.size(); ++i) {
        const SettingsOutcome& outcome = outcomes[i];
        const bool restored = outcome.problems.empty() && outcome.not_permitted.empty();
        if (!restored) still_left.push_back(left[i]);
        std::string text = fmt::format("GPU {}: {} what a killed run had changed: {}", left[i].bus_id,
                                       restored ? "restored" : "cannot restore", to_text(left[i]));
        if (!restored)
            text += outcome.problems.empty() ? ": not permitted"
                                             : fmt::format(": {}", fmt::join(outcome.problems, "; "));
        gpus.push_back({restored, std::move(text)});
    }
    record->write(still_left);
    return gpus;
}

}  // namespace voltpile
