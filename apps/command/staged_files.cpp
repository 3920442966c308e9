#include "command/staged_files.h"

#include <fmt/format.h>
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

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

StagedFile read_staged(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    StagedFile file{path.filename().string(), {}, access(path.c_str(), X_OK) == 0};
    file.bytes.assign(std::istreambuf_iterator<char>(stream), {});
    if (!stream.is_open() || stream.bad()) throw FileError("read", path.string(), errno);
    return file;
}

}  // namespace

std::vector<StagedFile> read_staged_files(const JobSpec& job) {
    std::vector<StagedFile> files;
    std::size_t bytes = 0;
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
            StagedFile file = read_staged(path);
            if (std::ranges::find(files, file.name, &StagedFile::name) != files.end())
                refuse(fmt::format("two files are called {}", file.name));
            bytes += file.bytes.size();
            if (bytes > kMostBytes) refuse("the files are larger than 1 GiB together");
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
    }
    return files;
}

void write_staged_files(const std::vector<StagedFile>& files, const fs::path& folder) {
    for (const StagedFile& file : files) {
        const fs::path path = folder / file.name;
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
