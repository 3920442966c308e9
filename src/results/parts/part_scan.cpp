#include "results/parts/part_scan.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "results/parts/durable_file.h"
#include "results/parts/part_file.h"
#include "results/parts/part_listing.h"
#include "results/parts/part_seal.h"

namespace voltpile {
namespace {

// A part that cannot be opened (no permission, no descriptors left) may still be whole.
void check_can_be_opened(const std::filesystem::path& path) {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) throw FileError("open", path.string(), errno);
}

// Returns the message without the part's name.
std::string reason_of(const FileError& problem, const std::filesystem::path& path) {
    std::string reason = problem.what();
    for (const std::string& name : {" of " + path.string(), " " + path.string()})
        if (const auto at = reason.find(name); at != std::string::npos) return reason.erase(at, name.size());
    return reason;
}

struct FoundPart {
    std::filesystem::path path;
    std::optional<WorkRange> range;  // by its name
    bool sealed = false;             // and exactly as it was sealed
};

// Reading waits for disks and servers, so there are more threads than cores.
void check_seals(std::vector<FoundPart>& parts, const ResultLayout& layout) {
    constexpr std::size_t most_threads = 16, parts_per_thread = 64;
    const PartSealer sealer(layout);
    std::atomic<std::size_t> next{0};
    const auto look = [&] {
        for (std::size_t i = next++; i < parts.size(); i = next++)
            if (parts[i].range) parts[i].sealed = sealer.is_intact(parts[i].path, *parts[i].range);
    };
    std::vector<std::jthread> others;
    try {
        while (others.size() + 1 < std::min(most_threads, parts.size() / parts_per_thread))
            others.emplace_back(look);
    } catch (const std::system_error&) {
        // As many as there may be.
    }
    look();
}

class Scanner {
  public:
    Scanner(const Life& life, const ResultLayout& layout, WorkRange interval)
        : life_(life), layout_(layout), interval_(interval), all_(interval == layout.whole()) {}

    PartScan scan() {
        std::vector<FoundPart> found;
        for (const std::filesystem::path& path : list_folder(life_.parts)) {
            if (!is_part(path)) continue;
            const std::optional<WorkRange> range = parse_part_name(path.filename().string());
            if (all_ || (range && range->overlaps(interval_))) found.push_back({path, range});
        }
        check_seals(found, layout_);
        for (const FoundPart& part : found) look_at(part);
        choose();
        scan_.completed = scan_.completed.within(interval_);
        return std::move(scan_);
    }

  private:
    void look_at(const FoundPart& part) {
        const auto& [path, range, sealed] = part;
        std::optional<std::string> problem;
        try {
            if (!sealed) problem = part_problem(path, layout_);
        } catch (const std::exception&) {
            if (!is_own(range)) return;   // another shard may be renaming it at this moment
            check_not_taken_over(life_);  // a run that has completed the result removes the parts
            throw;
        }
        if (!problem)
            whole_.push_back({path, *range});
        else if (is_own(range))
            reject(path, *problem);
    }

    // Chooses among parts that overlap the one that begins first, and of those the longest.
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

    // Each part belongs to the shard in which it begins.
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
    // Opening a pipe, for example, would block.
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
