#include "results/result_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "results/parts/durable_file.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/layout_file.h"

namespace voltpile {
namespace {

bool begins_like_hdf5(const std::filesystem::path& path) {
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::array<char, signature.size()> bytes{};
    return ::pread(fd.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
           std::string_view(bytes.data(), bytes.size()) == signature;
}

}  // namespace

ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint) {
    {
        const FileDescriptor fd(::open(result.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return ResultState::Absent;
        if (fd.get() < 0) throw FileError("open", result.string(), errno, ExitCode::BadInput);
    }
    if (!std::filesystem::is_regular_file(result)) return ResultState::NotOurs;
    Hdf5Guard guard;
    try {
        Hdf5File file = open_hdf5(result.string());
        if (!has_attribute(file.get(), "fingerprint") ||
            read_provenance(file.get()).software != software_name) {
            return ResultState::NotOurs;
        }
        if (read_integer(file.get(), "complete") != 1) return ResultState::Damaged;
        return read_text(file.get(), "fingerprint") == fingerprint ? ResultState::Complete
                                                                   : ResultState::OtherJob;
    } catch (const FileError&) {
        return begins_like_hdf5(result) ? ResultState::Damaged : ResultState::NotOurs;
    }
}

std::vector<JobInput> inputs_of(const std::filesystem::path& result) {
    Hdf5Guard guard;
    return read_layout(open_hdf5(result.string()).get()).inputs;
}

}  // namespace voltpile
