#include "base/shipped_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

bool has_jobs_and_clusters(const fs::path& top) {
    std::error_code error;
    return fs::is_directory(top / "jobs", error) && fs::is_directory(top / "data" / "clusters", error);
}

// The source tree that CMake notes in a build folder; empty in other folders.
fs::path source_of_build(const fs::path& folder) {
    constexpr std::string_view key = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream in(folder / "CMakeCache.txt");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(key)) return line.substr(key.size());
    return {};
}

// The files of `folder` and below whose name is `name`, with or without the extension.
std::vector<fs::path> files_named(const std::string& name, const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const fs::path& path = at->path();
        if (is_file(path) && (path.filename() == name || path.stem() == name)) found.push_back(path);
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

fs::path shipped_folder() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return {};
    return shipped_folder_of(program.parent_path());
}

fs::path shipped_folder_of(const fs::path& folder) {
    // PREFIX/bin/voltpile; build/release/voltpile, as the presets make it; build/voltpile; a build elsewhere.
    for (const fs::path& top :
         {folder.parent_path() / "share" / "voltpile", folder.parent_path().parent_path(),
          folder.parent_path(), source_of_build(folder)})
        if (has_jobs_and_clusters(top)) return top;
    return {};
}

std::string find_shipped(const std::string& name, const std::string& folder, const fs::path& top) {
    std::error_code error;
    if (name.empty() || top.empty() || fs::exists(name, error) || fs::path(name).is_absolute()) return name;
    if (is_file(top / name)) return (top / name).string();
    if (folder.empty()) return name;
    for (const fs::path& path : {top / folder / name, top / folder / (name + ".toml")})
        if (is_file(path)) return path.string();
    if (name.find('/') != std::string::npos) return name;
    const std::vector<fs::path> found = files_named(name, top / folder);
    if (found.size() > 1)
        throw JobError(
            fmt::format("{} names several files: {} and {}", name, found[0].string(), found[1].string()));
    return found.empty() ? name : found.front().string();
}

}  // namespace voltpile
