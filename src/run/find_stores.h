// Finds out which ranks keep their parts in the same folder: all ranks of a job on a shared file system, the
// ranks of one host where each host has its own disk at the same path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"

namespace voltpile {

struct PartStore {
    int leader = 0;  // the first rank that uses the folder; it holds it
    std::string host;
    std::string seen_by;  // the name in the folder by which ranks recognize it
};

struct StoreMap {
    std::vector<PartStore> stores;         // the first one is rank 0's
    std::vector<std::size_t> store_of;     // by rank
    std::vector<std::string> hosts_apart;  // those that do not see rank 0's folder

    const PartStore& of(int rank) const { return stores[store_of[static_cast<std::size_t>(rank)]]; }
};

// Collective: every rank calls. hosts: the ranks' host names. seen_by: the name of the file that rank 0 has
// put into its folder. A rank that does not see rank 0's folder makes one at the same path. Throws
// AgreedError (CannotRun) if a host can do neither.
StoreMap find_stores(const Communicator& world, const std::vector<std::string>& hosts,
                     const std::filesystem::path& parts, const std::string& seen_by);

// Collective: every rank calls. Returns true on the first rank that sees a folder at `parts` other than the
// one rank 0 sees.
bool first_of_other_folder(const Communicator& world, const std::filesystem::path& parts);

}  // namespace voltpile
