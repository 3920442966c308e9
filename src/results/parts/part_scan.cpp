#include "results/parts/part_scan.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "results/parts/durable_file.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

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

class Scanner {
  public:
    Scanner(const Life& life, const ResultLayout& layout, WorkRange interval)
        : life_(life), layout_(layout), interval_(interval), all_(interval == layout.whole()) {}

    PartScan scan() {
        for (const std::filesystem::path& path : list_folder(life_.parts))
            if (is_part(path)) look_at(path);
        choose();
        scan_.completed = scan_.completed.within(interval_);
        return std::move(scan_);
    }

  private:
    void look_at(const std::filesystem::path& path) {
        const std::optional<WorkRange> range = parse_part_name(path.filename().string());
        if (!all_ && (!range || !range->overlaps(interval_))) return;
        std::optional<std::string> problem;
        try {
            problem = part_problem(path, layout_);
        } catch (const std::exception&) {
            if (!is_own(range)) return;   // another shard's, which may be moving it aside at this moment
            check_not_taken_over(life_);  // whoever has put the result together removes the parts
            throw;
        }
        if (!problem)
            whole_.push_back({path, *range});
        else if (is_own(range))
            reject(path, *problem);
    }

    // Of parts that overlap, the one that begins first stays, and of those the longest.
    void choose() {
        std::sort(whole_.begin(), whole_.end(), [](const PartInfo& a, const PartInfo& b) {
            return a.range.begin != b.range.begin ? a.range.begin < b.range.begin : a.range.end > b.range.end;
        });
        for (const PartInfo& part : whole_) {
            if (!scan_.completed.overlaps(part.range)) {
                scan_.completed.insert(part.range);
                scan_.parts.push_back(part);
            } else if (is_own(part.range)) {
                reject(part.path, "overlaps " + scan_.parts.back().path.filename().string());
            }
        }
    }

    // Each part is the business of one shard only.
    bool is_own(const std::optional<WorkRange>& range) const {
        return all_ || (range && interval_.contains(range->begin));
    }

    void reject(const std::filesystem::path& path, const std::string& reason) {
        rename_in(life_, path, path.string() + ".rejected");
        scan_.rejected.push_back({path, reason});
    }

    const Life& life_;
    const ResultLayout& layout_;
    WorkRange interval_;
    bool all_;
    std::vector<PartInfo> whole_;
    PartScan scan_;
};

}  // namespace

std::optional<std::string> part_problem(const std::filesystem::path& path, const ResultLayout& layout) {
    // A pipe, say, would keep whoever opens it waiting.
    if (!std::filesystem::is_regular_file(path)) return "not a regular file";
    check_can_be_opened(path);
    Hdf5Guard guard;
    try {
        PartFile(path, layout).verify();
        return std::nullopt;
    } catch (const FileError& problem) {
        return reason_of(problem, path);
    }
}

PartScan scan_parts(const Life& life, const ResultLayout& layout, WorkRange interval) {
    return Scanner(life, layout, interval).scan();
}

}  // namespace voltpile
