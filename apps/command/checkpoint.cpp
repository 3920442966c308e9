#include "command/checkpoint.h"

#include <glob.h>
#include <sys/stat.h>

#include <ctime>

#include "base/unix_time.h"
#include "results/parts/lives_journal.h"
#include "results/parts/part_folder.h"

namespace voltpile::command {

std::vector<std::filesystem::path> paths_that_match(const std::string& pattern) {
    glob_t found{};
    std::vector<std::filesystem::path> paths;
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
        for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    globfree(&found);
    return paths;
}

std::optional<Checkpoint> newest_checkpoint(const std::string& pattern, double begin_s) {
    std::optional<Checkpoint> newest;
    for (const std::filesystem::path& path : paths_that_match(pattern)) {
        struct stat found {};
        if (stat(path.c_str(), &found) != 0) continue;
        const double changed_s =
            static_cast<double>(found.st_mtim.tv_sec) + 1e-9 * static_cast<double>(found.st_mtim.tv_nsec);
        if (changed_s >= (newest ? newest->changed_s : begin_s)) newest = Checkpoint{path, changed_s};
    }
    return newest;
}

double begin_of_job(const std::filesystem::path& result) {
    for (const LifeRecord& life : read_lives(parts_path(result))) {
        std::tm utc{};
        if (strptime(life.date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc)) return static_cast<double>(timegm(&utc));
    }
    return unix_time();
}

}  // namespace voltpile::command
