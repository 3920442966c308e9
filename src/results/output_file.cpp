#include "results/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

// Compares paths too, because neither file needs to exist yet.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code error;
    const auto whole = [&](const std::filesystem::path& path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
    };
    return std::filesystem::equivalent(a, b, error) || whole(a) == whole(b);
}

}  // namespace

void check_output_place(const std::filesystem::path& path, std::string_view option,
                        const std::vector<std::filesystem::path>& kept) {
    std::error_code error;
    const auto folder = folder_of(std::filesystem::absolute(path));
    if (!std::filesystem::is_directory(folder, error))
        throw JobError(fmt::format("{}: there is no folder {}", option, folder.string()));
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw JobError(fmt::format("{}: cannot write to the folder {}: {}", option, folder.string(),
                                   std::generic_category().message(errno)));
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw JobError(fmt::format("{}: {} exists and is not a regular file", option, path.string()));
    for (const auto& other : kept)
        if (is_same_file(path, other))
            throw JobError(fmt::format("{}: {} would replace {}, which is needed", option, path.string(),
                                       other.string()));
}

void check_output_file(const std::filesystem::path& path, std::string_view option, const OutputKind& kind,
                       const std::vector<std::filesystem::path>& kept) {
    check_output_place(path, option, kept);
    std::error_code error;
    if (std::filesystem::exists(path, error) && !kind.recognizes(path))
        throw JobError(
            fmt::format("{}: {} exists and was not written by {}: it stays as it is; choose another {}",
                        option, path.string(), kind.writer, option));
}

}  // namespace voltpile
