// Which ranks keep their parts in the same folder: all of a job on a shared file system, those of one host
// where each has a disk of its own at the same path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "comm/mpi/communicator.h"

namespace voltpile {

struct PartStore {
    int leader = 0;  // the rank that holds the folder: the first one that uses it
    std::string host;
    std::string seen_by;  // the name in the folder by which ranks tell that they see it
};

struct StoreMap {
    std::vector<PartStore> stores;         // the first one is rank 0's
    std::vector<std::size_t> store_of;     // by rank
    std::vector<std::string> hosts_apart;  // that do not see rank 0's

    const PartStore& of(int rank) const { return stores[store_of[static_cast<std::size_t>(rank)]]; }
};

// Collective. hosts: the ranks' host names. seen_by: what rank 0 has put into its folder. Where rank 0's
// folder cannot be seen the same path is made. Throws AgreedError if a host can do neither (CannotRun).
StoreMap find_stores(const Communicator& world, const std::vector<std::string>& hosts,
                     const std::filesystem::path& parts, const std::string& seen_by);

// Collective. Whether there is a folder at `parts` that this rank is the first one to see, and that is not
// the one that rank 0 sees.
bool first_of_other_folder(const Communicator& world, const std::filesystem::path& parts);

}  // namespace voltpile
