#include "run/find_stores.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/error.h"
#include "results/parts/durable_file.h"
#include "results/parts/life.h"
#include "results/parts/part_listing.h"
#include "run/agreement.h"

namespace voltpile {
namespace {

// Ranks see the same folder if one makes a file in it and the others find it. The file's name was never used
// or looked for before, because network file systems remember for a while what did not exist.
std::string make_probe(const std::filesystem::path& folder) {
    create_folders(folder);
    const std::string name = probe_prefix + random_nonce();
    const FileDescriptor probe(
        ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (probe.get() < 0) throw FileError("write to the folder", folder.string(), errno, ExitCode::CannotRun);
    return name;
}

bool sees(const std::filesystem::path& folder, const std::string& name) {
    struct stat found {};
    return ::lstat((folder / name).c_str(), &found) == 0;
}

void remove_probe(const std::filesystem::path& folder, const std::string& probe) noexcept {
    ::unlink((folder / probe).c_str());
}

// The probe files of this rank. The destructor removes them.
class Probes {
  public:
    explicit Probes(const std::filesystem::path& parts) : parts_(parts) {}
    ~Probes() {
        for (const std::string& name : names_) remove_probe(parts_, name);
    }
    Probes(const Probes&) = delete;
    Probes& operator=(const Probes&) = delete;

    std::string make() { return names_.emplace_back(make_probe(parts_)); }

  private:
    const std::filesystem::path& parts_;
    std::vector<std::string> names_;
};

class Finder {
  public:
    Finder(const Communicator& world, const std::vector<std::string>& hosts,
           const std::filesystem::path& parts, const std::string& seen_by)
        : world_(world), hosts_(hosts), parts_(parts), probes_(parts) {
        map_.stores.push_back({0, hosts.front(), seen_by});
    }

    StoreMap find() {
        while (!all_see_one()) make_probes();
        choose_leaders();
        name_hosts_apart();
        return std::move(map_);
    }

  private:
    // Finds which store each rank sees, the first if several, -1 for none.
    bool all_see_one() {
        int mine = -1;
        for (std::size_t s = 0; s < map_.stores.size() && mine < 0; ++s)
            if (sees(parts_, map_.stores[s].seen_by)) mine = static_cast<int>(s);
        seen_.clear();
        for (const std::string& each : world_.all_gather(std::to_string(mine)))
            seen_.push_back(std::stoi(each));
        return std::none_of(seen_.begin(), seen_.end(), [](int store) { return store < 0; });
    }

    // One rank of each host that sees nothing yet makes a store for that host.
    void make_probes() {
        std::set<std::string> hosts_before;
        const int me = world_.rank();
        bool is_mine = false;
        for (int r = 0; r <= me; ++r)
            is_mine = seen_[rank(r)] < 0 && hosts_before.insert(hosts_[rank(r)]).second;
        const std::vector<std::string> made =
            all_agree(world_, [&] { return is_mine ? probe_unless_seen() : std::string(); });
        for (int r = 0; r < world_.size(); ++r)
            if (!made[rank(r)].empty()) map_.stores.push_back({r, hosts_[rank(r)], made[rank(r)]});
    }

    std::string probe_unless_seen() {
        try {
            create_folders(parts_);
            // Making the folder fails if one was there unseen.
            for (const PartStore& store : map_.stores)
                if (sees(parts_, store.seen_by)) return "";
            return probes_.make();
        } catch (const Error& error) {
            throw MachineError(fmt::format("{} does not see {} of {}, and cannot keep parts itself: {}",
                                           hosts_[rank(world_.rank())], parts_.string(), hosts_[0],
                                           error.what()));
        }
    }

    // Two stores in one folder count as the first.
    void choose_leaders() {
        map_.store_of.assign(seen_.begin(), seen_.end());
        for (int r = world_.size() - 1; r >= 0; --r) map_.stores[map_.store_of[rank(r)]].leader = r;
    }

    void name_hosts_apart() {
        std::set<std::pair<std::string, std::size_t>> named;
        std::set<std::string> names{hosts_[0]};
        for (int r = 0; r < world_.size(); ++r) {
            const std::size_t store = map_.store_of[rank(r)];
            const std::string& host = hosts_[rank(r)];
            if (store == 0 || !named.insert({host, store}).second) continue;
            map_.hosts_apart.push_back(names.insert(host).second ? host
                                                                 : fmt::format("{} (rank {})", host, r));
        }
    }

    static std::size_t rank(int number) { return static_cast<std::size_t>(number); }

    const Communicator& world_;
    const std::vector<std::string>& hosts_;
    const std::filesystem::path& parts_;
    Probes probes_;
    StoreMap map_;
    std::vector<int> seen_;  // by rank
};

}  // namespace

StoreMap find_stores(const Communicator& world, const std::vector<std::string>& hosts,
                     const std::filesystem::path& parts, const std::string& seen_by) {
    return Finder(world, hosts, parts, seen_by).find();
}

bool first_of_other_folder(const Communicator& world, const std::filesystem::path& parts) {
    Probes own(parts);
    std::string mine;
    std::error_code error;
    try {
        if (std::filesystem::is_directory(parts, error)) mine = own.make();
    } catch (const Error& problem) {
        spdlog::debug("{}", problem.what());  // a folder that cannot be written to cannot be tidied up either
    }
    const std::vector<std::string> probes = world.all_gather(mine);
    bool first = world.rank() > 0 && !mine.empty();
    for (int r = 0; r < world.rank() && first; ++r) {
        const std::string& other = probes[static_cast<std::size_t>(r)];
        first = other.empty() || !sees(parts, other);
    }
    world.all_gather("");  // all have looked before the probes go
    return first;
}

}  // namespace voltpile
