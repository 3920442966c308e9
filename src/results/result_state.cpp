#include "results/result_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "results/hdf5/attribute.h"
#include "results/hdf5/layout_file.h"
#include "results/hdf5/result_check.h"
#include "results/parts/durable_file.h"

namespace voltpile {
namespace {

constexpr std::uintmax_t most_bytes_read = 256 << 20;  // read at every start of a run: a fraction of a second

bool begins_like_hdf5(const std::filesystem::path& path) {
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    std::array<char, signature.size()> bytes{};
    return ::pread(fd.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
           std::string_view(bytes.data(), bytes.size()) == signature;
}

std::uint64_t number_at(const char* bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes, sizeof number);
    return number;
}

// Walks the objects of a global heap collection, in which HDF5 keeps texts of variable length. HDF5 itself
// never returns from one with an object of no size, which a block of zeros looks like.
void check_heap_collection(int fd, std::uint64_t begin, std::uint64_t size) {
    constexpr std::uint64_t header = 16, alignment = 8;
    for (std::uint64_t at = begin + header; at + header <= begin + size;) {
        std::array<char, header> object{};
        if (::pread(fd, object.data(), object.size(), static_cast<off_t>(at)) != std::ssize(object))
            throw FileError("a collection of texts is cut off");
        std::uint16_t index = 0;
        std::memcpy(&index, object.data(), sizeof index);
        const std::uint64_t bytes = number_at(object.data() + 8);
        const std::uint64_t step =
            index == 0 ? bytes : header + (bytes + alignment - 1) / alignment * alignment;
        if (step == 0 || bytes > size || at + step > begin + size)
            throw FileError("a collection of texts is damaged");
        at += step;
    }
}

// Checks the global heap collections that begin in the range, found by their signature.
void check_heaps(int fd, std::uint64_t begin, std::uint64_t end) {
    constexpr std::string_view signature("GCOL\1\0\0\0", 8);
    std::vector<char> bytes(4 << 20);
    for (std::uint64_t at = begin; at < end;) {
        const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (count < 16) return;
        const std::string_view block(bytes.data(), static_cast<std::size_t>(count));
        for (auto i = block.find(signature); i != std::string_view::npos && i + 16 <= block.size();
             i = block.find(signature, i + 1))
            check_heap_collection(fd, at + i, number_at(bytes.data() + i + 8));
        at += block.size() - 15;  // a signature and its size may lie across two blocks
    }
}

void check_heaps(const std::filesystem::path& path) {
    const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::uint64_t size = std::filesystem::file_size(path);
    constexpr std::uint64_t ends = 32
                                   << 20;  // the attributes of larger files are in their first and last part
    if (size <= most_bytes_read) return check_heaps(fd.get(), 0, size);
    check_heaps(fd.get(), 0, ends);
    check_heaps(fd.get(), size - ends, size);
}

// What is wrong, without the path, which the reader of the message knows.
std::string problem_text(const FileError& error, const std::filesystem::path& path) {
    std::string text = error.what();
    const std::string name = " " + path.string();
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name))
        text.erase(at, name.size());
    return text;
}

void read_open_file(const Hdf5File& file, ResultFile& found) {
    if (!has_attribute(file.get(), "fingerprint") || read_provenance(file.get()).software != software_name) {
        found.state = ResultState::NotOurs;
        return;
    }
    found.fingerprint = read_text(file.get(), "fingerprint");
    if (const std::int64_t format = read_result_format(file.get()); format > result_format) {
        found.state = ResultState::Newer;
        found.problem =
            fmt::format("format {}, and this program reads formats up to {}", format, result_format);
        return;
    }
    if (read_integer(file.get(), "complete") != 1) throw FileError("it was never completed");
    found.inputs = read_checked_layout(file.get()).inputs;
    found.state = ResultState::Complete;
}

}  // namespace

ResultFile read_result_file(const std::filesystem::path& result, CheckDepth depth) {
    ResultFile found;
    {
        const FileDescriptor fd(::open(result.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (fd.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return found;
        if (fd.get() < 0) throw FileError("open", result.string(), errno, ExitCode::BadInput);
    }
    found.state = ResultState::NotOurs;
    if (!std::filesystem::is_regular_file(result)) return found;
    Hdf5Guard guard;
    try {
        if (begins_like_hdf5(result)) check_heaps(result);
        const Hdf5File file = open_hdf5(result.string());
        read_open_file(file, found);
        if (found.state == ResultState::Complete && depth == CheckDepth::SmallValues &&
            std::filesystem::file_size(result) <= most_bytes_read) {
            const ResultLayout layout = read_layout(file.get());
            std::vector<Damage> damage = damaged_axes(file.get(), layout);
            for (const FieldSpec& field : layout.fields)
                if (damage.empty()) damage = damaged_field(file.get(), field, layout.whole());
            if (!damage.empty()) throw FileError(damage.front().problem);
        }
    } catch (const FileError& error) {
        found.state = begins_like_hdf5(result) ? ResultState::Damaged : ResultState::NotOurs;
        found.problem = problem_text(error, result);
    }
    return found;
}

ResultState inspect_result(const std::filesystem::path& result, const std::string& fingerprint) {
    const ResultFile file = read_result_file(result, CheckDepth::Structure);
    return file.state == ResultState::Complete && file.fingerprint != fingerprint ? ResultState::OtherJob
                                                                                  : file.state;
}

}  // namespace voltpile
