#include "cli/process_rank.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace voltpile::cli {

std::optional<int> launcher_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        if (const char* value = std::getenv(name)) return std::atoi(value);
    return std::nullopt;
}

void settle_stdout() {
    constexpr std::chrono::milliseconds on_its_way{50};  // a launcher forwards output within a few ms
    std::fflush(stdout);
    if (launcher_rank()) std::this_thread::sleep_for(on_its_way);
}

}  // namespace voltpile::cli
