#include "base/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace voltpile {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds grace{2'000};  // between SIGTERM and SIGKILL
constexpr milliseconds kLook{50};     // between looks at how much it has printed

int memory_file(const char* name) {
    const int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) throw FileError("create", std::string("a memory file for ") + name, errno);
    return fd;
}

int memory_file_with(const std::string& text) {
    const int fd = memory_file("stdin");
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) {
            const int error = errno;
            close(fd);
            throw FileError("write", "a memory file for stdin", error);
        }
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

std::int64_t bytes_in(int fd) {
    struct stat about {};
    return fstat(fd, &about) == 0 ? about.st_size : 0;
}

std::string captured_text(int fd) {
    std::string text;
    char buffer[65536];
    for (off_t at = 0;;) {
        const ssize_t n = pread(fd, buffer, sizeof buffer, at);
        if (n <= 0) return text;
        text.append(buffer, static_cast<std::size_t>(n));
        at += n;
    }
}

// Returns the error number of posix_spawnp. Resets blocked and ignored signals to their defaults.
int spawn(pid_t& pid, const ProcessRequest& request, int in_fd, int out_fd, int err_fd) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err_fd, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);  // connections of MPI above all
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> words = request.command, environment = environment_with(request.environment);
    const int error = posix_spawnp(&pid, words.front().c_str(), &files, &attributes,
                                   pointers_to(words).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

}  // namespace

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environment_with(const Environment& changes) {
    std::vector<std::string> all;
    for (const auto& [name, value] : changes) all.push_back(fmt::format("{}={}", name, value));
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!changes.contains(text.substr(0, text.find('=')))) all.push_back(text);
    }
    return all;
}

Process::Process(const ProcessRequest& request) : deadline_(steady_clock::now() + request.timeout) {
    const int in_fd = memory_file_with(request.input);
    out_fd_ = memory_file("stdout");
    err_fd_ = memory_file("stderr");
    const int error = spawn(pid_, request, in_fd, out_fd_, err_fd_);
    close(in_fd);
    if (error != 0) {
        close(out_fd_);
        close(err_fd_);
        throw MachineError(fmt::format("cannot start {}: {}", request.command.front(), std::strerror(error)));
    }
    pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));  // glibc 2.36 declares its own for C only
}

Process::~Process() {
    if (!reaped_) terminate();
    if (pid_fd_ >= 0) close(pid_fd_);
    close(out_fd_);
    close(err_fd_);
}

bool Process::ended_within(milliseconds time) {
    const auto until = steady_clock::now() + std::max(time, milliseconds{0});
    for (;;) {
        const pid_t ended = waitpid(pid_, &status_, WNOHANG);
        if (ended == pid_) return reaped_ = true;
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
        if (left <= 0) return false;
        // Without pidfd (Linux 5.2 and older) poll every few milliseconds.
        pollfd event{pid_fd_, POLLIN, 0};
        const auto step = pid_fd_ >= 0 ? left : std::min<std::int64_t>(left, 5);
        poll(&event, 1, static_cast<int>(std::min<std::int64_t>(step, 1'000'000)));
    }
}

bool Process::flooded() const {
    return bytes_in(out_fd_) + bytes_in(err_fd_) > kMostPrintedBytes;
}

bool Process::ended_or_flooded_within(milliseconds time) {
    const auto until = steady_clock::now() + time;
    for (;;) {
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
        if (ended_within(std::min(left, kLook)) || flooded()) return true;
        if (left <= kLook) return false;
    }
}

void Process::terminate() {
    kill(pid_, SIGTERM);
    if (ended_within(grace)) return;
    kill(pid_, SIGKILL);
    if (ended_within(grace)) return;
    // It hangs in the kernel, in a driver for instance, and ends when that call returns, if ever.
    reaped_ = true;
    status_ = SIGKILL;
}

ProcessResult Process::wait() {
    ProcessResult result;
    result.timed_out =
        !ended_or_flooded_within(std::chrono::ceil<milliseconds>(deadline_ - steady_clock::now()));
    if (!reaped_) terminate();
    result.exit_code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
    result.flooded = flooded();
    if (result.flooded) {
        result.err = fmt::format("it was ended because it printed more than {} MiB", kMostPrintedBytes >> 20);
        return result;
    }
    result.out = captured_text(out_fd_);
    result.err = captured_text(err_fd_);
    return result;
}

ProcessResult run_process(const ProcessRequest& request) {
    return Process(request).wait();
}

std::optional<std::filesystem::path> find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const std::filesystem::path candidate =
            std::filesystem::path(folders.substr(begin, end - begin)) / name;
        std::error_code error;
        if (std::filesystem::is_regular_file(candidate, error) && access(candidate.c_str(), X_OK) == 0)
            return candidate;
        begin = end + 1;
    }
    return std::nullopt;
}

}  // namespace voltpile
