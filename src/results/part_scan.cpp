#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "results/durable_file.h"
#include "results/part_file.h"
#include "results/part_folder.h"
#include "results/part_listing.h"

namespace voltpile {
namespace {

void remove_temporary(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) throw FileError("remove", path.string(), error.value());
}

// Being unable to look at a part (no permission, no descriptors left) is no reason to throw it away.
void check_can_be_opened(const std::filesystem::path& path) {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) throw FileError("open", path.string(), errno);
}

// What is wrong with a part, without its name.
std::string reason_of(const FileError& problem, const std::filesystem::path& path) {
    std::string reason = problem.what();
    const std::string name = " " + path.string();
    const auto at = reason.find(name);
    return at == std::string::npos ? reason : reason.erase(at, name.size());
}

RejectedPart reject(const std::filesystem::path& path, const std::string& reason) {
    std::filesystem::path aside = path;
    aside += ".rejected";
    std::error_code error;
    std::filesystem::rename(path, aside, error);
    if (error) throw FileError("rename", path.string(), error.value());
    return {path, reason};
}

}  // namespace

PartScan scan_parts(const std::filesystem::path& folder, const ResultLayout& layout) {
    PartScan scan;
    std::vector<PartInfo> whole;
    for (const std::filesystem::path& path : list_folder(folder)) {
        if (is_temporary(path)) remove_temporary(path);
        if (!is_part(path)) continue;
        if (!std::filesystem::is_regular_file(path)) {  // a pipe, say, would keep whoever opens it waiting
            scan.rejected.push_back(reject(path, "not a regular file"));
            continue;
        }
        check_can_be_opened(path);
        Hdf5Guard guard;
        try {
            const PartFile part(path, layout);
            part.verify();
            whole.push_back({path, part.range()});
        } catch (const FileError& problem) {
            scan.rejected.push_back(reject(path, reason_of(problem, path)));
        }
    }
    // Of parts that overlap, the one that begins first stays, and of those the longest.
    std::sort(whole.begin(), whole.end(), [](const PartInfo& a, const PartInfo& b) {
        return a.range.begin != b.range.begin ? a.range.begin < b.range.begin : a.range.end > b.range.end;
    });
    for (const PartInfo& part : whole) {
        if (scan.completed.overlaps(part.range)) {
            const std::string other = scan.parts.back().path.filename().string();
            scan.rejected.push_back(reject(part.path, "overlaps " + other));
            continue;
        }
        scan.completed.insert(part.range);
        scan.parts.push_back(part);
    }
    return scan;
}

}  // namespace voltpile
