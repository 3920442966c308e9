#include "command/staged_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/host_name.h"
#include "base/message_bytes.h"
#include "command/checkpoint.h"
#include "command/placeholders.h"
#include "command/text_template.h"
#include "job/key_place.h"

namespace voltpile::command {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

std::uintmax_t size_of(const fs::path& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) throw FileError("read", path.string(), error.value());
    return size;
}

std::uint64_t inode_of(const fs::path& path) {
    struct stat found {};
    return stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

StagedFile read_staged(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    StagedFile file{path.filename().string(), {}, access(path.c_str(), X_OK) == 0};
    file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open() || stream.bad()) throw FileError("read", path.string(), errno);
    file.source = {fs::absolute(path).string(), host_identity(), inode_of(path)};
    return file;
}

// Whether the path is that of the source itself. On another node a file with the path of the source may be
// one of its own, an earlier copy; the number tells it from a source on a shared disk.
bool is_source(const StagedSource& source, const fs::path& path) {
    std::error_code error;
    return !source.path.empty() && fs::equivalent(source.path, path, error) && !error &&
           (source.host == host_identity() || source.inode == inode_of(path));
}

}  // namespace

std::vector<StagedFile> read_staged_files(const JobSpec& job) {
    std::vector<StagedFile> files;
    std::uintmax_t bytes = 0;
    const auto refuse = [&](const std::string& what) {
        throw JobError(fmt::format("{}: command.stage: {}", place_of_key(job, "command.stage"), what));
    };
    for (const std::string& text : job.texts("command.stage")) {
        const std::string pattern =
            TextTemplate(text).fill({{"job_folder", literal_pattern(job_folder(job))}});
        std::vector<fs::path> matches = paths_that_match(pattern);
        std::erase_if(matches, [](const fs::path& path) { return !fs::is_regular_file(path); });
        if (matches.empty()) refuse(fmt::format("{} has no file {}", host_name(), pattern));
        for (const fs::path& path : matches) {
            bytes += size_of(path);
            if (bytes > kMostBytes) refuse("the files are larger than 1 GiB together");
            StagedFile file = read_staged(path);
            if (std::ranges::find(files, file.name, &StagedFile::name) != files.end())
                refuse(fmt::format("two files are called {}", file.name));
            files.push_back(std::move(file));
        }
    }
    return files;
}

std::string to_bytes(const std::vector<StagedFile>& files) {
    MessageWriter to;
    to.value(files.size());
    for (const StagedFile& file : files) {
        to.text(file.name);
        to.text(file.bytes);
        to.value(file.executable);
        to.text(file.source.path);
        to.text(file.source.host);
        to.value(file.source.inode);
    }
    return to.take();
}

std::vector<StagedFile> staged_files_from(const std::string& bytes) {
    MessageReader from(bytes, "a message with staged files");
    std::vector<StagedFile> files(from.count(1));
    for (StagedFile& file : files) {
        file.name = from.text();
        file.bytes = from.text();
        file.executable = from.value<bool>();
        file.source.path = from.text();
        file.source.host = from.text();
        file.source.inode = from.value<std::uint64_t>();
    }
    return files;
}

void write_staged_files(const std::vector<StagedFile>& files, const fs::path& folder) {
    for (const StagedFile& file : files) {
        const fs::path path = folder / file.name;
        if (is_source(file.source, path)) continue;
        const fs::path written = folder / fmt::format(".{}.{}.{}", file.name, host_name(), getpid());
        std::ofstream stream(written, std::ios::binary | std::ios::trunc);
        stream << file.bytes;
        stream.close();
        if (!stream) throw FileError("write", written.string(), errno);
        std::error_code error;
        if (file.executable)
            fs::permissions(written, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                            fs::perm_options::add, error);
        fs::rename(written, path, error);
        if (error) throw FileError("create", path.string(), error.value());
    }
}

}  // namespace voltpile::command
