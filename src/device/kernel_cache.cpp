#include "device/kernel_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cache_folder.h"
#include "base/host_name.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace voltpile {

namespace fs = std::filesystem;

namespace {

std::string hash_of(std::string_view text) {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Everything that the code depends on.
std::string key_of(const Nvrtc& compiler, const KernelSource& source, int capability) {
    std::string all = fmt::format("{} {} {}\n{}", compiler.version(), capability, source.kernel, source.text);
    for (const SourceHeader& header : source.headers)
        all += fmt::format("\n{}\n{}", header.name, header.text);
    return hash_of(all);
}

// A file is a line with the hash of its key and of what follows it, a line with the kernel's name, and the
// image.
std::string file_text(const std::string& key, const CompiledKernel& kernel) {
    const std::string body = kernel.name + '\n' + kernel.image;
    return hash_of(key + '\n' + body) + '\n' + body;
}

// Code of other users must not run in this process.
bool is_private(const fs::path& file) {
    struct stat about {};
    return ::lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<CompiledKernel> kernel_in(const std::string& key, const fs::path& file) {
    if (!is_private(file)) return std::nullopt;
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::size_t first = text.find('\n');
    if (!stream || first == std::string::npos) return std::nullopt;
    const std::string body = text.substr(first + 1);
    const std::size_t second = body.find('\n');
    if (second == std::string::npos || text.substr(0, first) != hash_of(key + '\n' + body))
        return std::nullopt;
    return CompiledKernel{body.substr(0, second), body.substr(second + 1)};
}

// Removes the older half of the kernels in a folder that has too many. Another process may do the same.
void thin_out(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    std::error_code error;
    for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
        const fs::file_time_type time = i->last_write_time(error);
        if (!error) files.emplace_back(time, i->path());
    }
    if (files.size() <= kMostKernels) return;
    std::ranges::sort(files);
    files.resize(files.size() / 2);
    for (const auto& [time, file] : files) fs::remove(file, error);
}

void leave(const std::string& key, const fs::path& file, const CompiledKernel& kernel) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    const fs::path unfinished = fmt::format("{}.{}.{}.tmp", file.string(), host_name(), ::getpid());
    bool written = false;
    {
        std::ofstream stream(unfinished, std::ios::binary);
        stream << file_text(key, kernel);
        written = static_cast<bool>(stream.flush());
    }
    fs::permissions(unfinished, fs::perms::owner_read | fs::perms::owner_write, error);
    if (written) fs::rename(unfinished, file, error);
    if (!written || error) fs::remove(unfinished, error);
    thin_out(file.parent_path());
}

}  // namespace

CompiledKernel compile_once(const Nvrtc& compiler, const KernelSource& source, int capability,
                            const fs::path& folder) {
    const std::string key = key_of(compiler, source, capability);
    const fs::path file = folder / (key + ".kernel");
    if (!folder.empty())
        if (auto kernel = kernel_in(key, file)) return *kernel;
    const CompiledKernel kernel = compiler.compile(source, capability);
    if (!folder.empty()) leave(key, file, kernel);
    return kernel;
}

fs::path kernel_cache_folder() {
    const fs::path folder = default_cache_folder();
    return folder.empty() ? folder : folder / "kernels";
}

}  // namespace voltpile
