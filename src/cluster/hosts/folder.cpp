#include "cluster/hosts/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/file_text.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

}  // namespace

FolderProbe::~FolderProbe() {
    std::error_code error;
    for (const fs::path& path : written_) fs::remove(path, error);
}

std::string FolderProbe::write(const fs::path& file, const std::string& text) {
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return std::strerror(errno);
    written_.push_back(file);
    std::string problem;
    if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || fsync(fd) != 0)
        problem = std::strerror(errno);
    if (close(fd) != 0 && problem.empty()) problem = std::strerror(errno);
    return problem;
}

bool appears(const fs::path& file, const std::string& text, std::chrono::milliseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (file_text(file) != text) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

FolderView look_at_folder(const fs::path& folder, const std::string& seen, const std::string& own,
                          const std::string& text, FolderProbe& probe) {
    FolderView view;
    std::error_code error;
    view.exists = fs::is_directory(folder, error);
    if (!view.exists) return view;
    view.sees_probe = appears(folder / seen, text, 1000ms);
    view.error = probe.write(folder / own, text);
    view.writable = view.error.empty();
    const auto space = fs::space(folder, error);
    if (!error) view.free_bytes = static_cast<std::int64_t>(space.available);
    return view;
}

}  // namespace voltpile
