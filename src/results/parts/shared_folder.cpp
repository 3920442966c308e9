#include "results/parts/shared_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "results/parts/durable_file.h"
#include "results/parts/life.h"
#include "results/parts/part_listing.h"

namespace voltpile {

std::string make_probe(const std::filesystem::path& folder) {
    create_folders(folder);
    const std::string name = probe_prefix + random_nonce();
    const FileDescriptor probe(
        ::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (probe.get() < 0) throw FileError("write to the folder", folder.string(), errno, ExitCode::CannotRun);
    return name;
}

bool sees(const std::filesystem::path& folder, const std::string& name) {
    struct stat found{};
    return ::lstat((folder / name).c_str(), &found) == 0;
}

void remove_probe(const std::filesystem::path& folder, const std::string& probe) noexcept {
    ::unlink((folder / probe).c_str());
}

}  // namespace voltpile
