#include "machine/disk_check.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <system_error>

#include "base/format.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSharedMemory = "/dev/shm";
constexpr double kNeededBytes = 1e9;
constexpr double kNeededFiles = 1000;

fs::path temporary_folder() {
    const char* folder = std::getenv("TMPDIR");
    return folder && *folder == '/' ? folder : "/tmp";
}

}  // namespace

std::vector<NodeFinding> check_disk(const fs::path& folder, double needed) {
    struct statvfs space {};
    if (::statvfs(folder.c_str(), &space) != 0)
        return {{Health::Bad, fmt::format("{}: {}", folder.string(), std::generic_category().message(errno)),
                 "mount it, or create it"}};
    if (space.f_flag & ST_RDONLY)
        return {{Health::Degraded, fmt::format("{} is mounted read-only", folder.string()),
                 "dmesg shows why; mount it for writing"}};
    const char* const advice =
        folder == kSharedMemory ? "mount it with size=50%; containers: --shm-size=8g" : "free some space";
    const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
    if (free < needed)
        return {{Health::Degraded, fmt::format("{} has {} left", folder.string(), bytes_text(free)), advice}};
    // File systems without a table of files say that it has 0 entries.
    if (space.f_files > 0 && static_cast<double>(space.f_favail) < kNeededFiles)
        return {{Health::Degraded,
                 fmt::format("{} has room for {} more files", folder.string(), space.f_favail),
                 "delete files that nobody needs"}};
    return {};
}

std::vector<NodeFinding> check_disks(const std::vector<fs::path>& folders) {
    std::vector<fs::path> all{kSharedMemory, temporary_folder()};
    all.insert(all.end(), folders.begin(), folders.end());
    std::set<dev_t> seen;
    std::vector<NodeFinding> findings;
    for (const fs::path& folder : all) {
        struct stat about {};
        if (::stat(folder.c_str(), &about) == 0 && !seen.insert(about.st_dev).second) continue;
        for (NodeFinding& finding : check_disk(folder, kNeededBytes)) findings.push_back(std::move(finding));
    }
    return findings;
}

}  // namespace voltpile
