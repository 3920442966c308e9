#include "command/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/companion_program.h"
#include "base/error.h"
#include "run/watchdog.h"

namespace voltpile::command {
namespace {

// What MPI's launchers and `voltpile launch` set for this rank alone. A program that starts MPI, or voltpile,
// would take it for its own.
bool is_of_launcher(std::string_view variable) {
    if (variable.starts_with("OMPI_ALLOW_RUN_AS_ROOT")) return false;
    if (variable.starts_with(std::string(kLogFolderVariable) + "=")) return true;
    for (const std::string_view prefix : {"OMPI_", "PMIX_", "PMI_", "PRTE_", "ORTE_"})
        if (variable.starts_with(prefix)) return true;
    return false;
}

int open_log(const std::filesystem::path& path) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) throw FileError("open", path.string(), errno);
    return fd;
}

// Closes its file when it goes.
class OpenFile {
  public:
    explicit OpenFile(int fd) : fd_(fd) {}
    ~OpenFile() {
        if (fd_ >= 0) close(fd_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    int fd() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        // A socket, because writing to a pipe that nobody reads would end this process (SIGPIPE).
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            throw FileError("create", "a socket", errno);
        reader = ends[0];
        writer = ends[1];
    }
    int reader, writer;
};

int spawn_keeper(pid_t& pid, std::vector<std::string> words, std::vector<std::string> environment,
                 const std::array<int, 4>& files) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int number = 0; number < 4; ++number)
        posix_spawn_file_actions_adddup2(&actions, files[static_cast<std::size_t>(number)], number);
    posix_spawn_file_actions_addclosefrom_np(&actions, 4);  // connections of MPI above all
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD})
        sigaddset(&defaults, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawn(&pid, words.front().c_str(), &actions, &attributes,
                                  pointers_to(words).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

}  // namespace

Program::Program(const ProgramRequest& request) : request_(request) {
    const OpenFile out(open_log(request.out)), err(open_log(request.err));
    const Pipe control, report;
    OpenFile control_reader(control.reader), control_writer(control.writer);
    OpenFile report_reader(report.reader), report_writer(report.writer);

    std::vector<std::string> words{
        companion_program("voltpile-keeper").string(), std::to_string(request.grace.count()),
        request.pus.empty() ? "-" : fmt::format("{}", fmt::join(request.pus, ",")), request.folder};
    words.insert(words.end(), request.argv.begin(), request.argv.end());
    std::vector<std::string> environment = environment_with(request.environment);
    std::erase_if(environment, [&](const std::string& variable) {
        return is_of_launcher(variable) &&
               !request.environment.contains(variable.substr(0, variable.find('=')));
    });
    // The copies must not land on a number that is still to be copied.
    const int above = 10;
    const OpenFile in(fcntl(control_reader.fd(), F_DUPFD_CLOEXEC, above));
    const OpenFile reporting(fcntl(report_writer.fd(), F_DUPFD_CLOEXEC, above));
    const OpenFile printing(fcntl(out.fd(), F_DUPFD_CLOEXEC, above));
    const OpenFile complaining(fcntl(err.fd(), F_DUPFD_CLOEXEC, above));
    const std::string keeper = words.front();
    const int error = spawn_keeper(keeper_, std::move(words), std::move(environment),
                                   {in.fd(), printing.fd(), complaining.fd(), reporting.fd()});
    if (error != 0) throw MachineError(fmt::format("cannot start {}: {}", keeper, std::strerror(error)));
    control_ = control_writer.release();
    report_ = report_reader.release();
}

Program::~Program() {
    if (control_ >= 0) close(control_);  // the keeper ends the program now
    // Until the keeper has ended: it gives up on processes that hang in the kernel.
    if (report_ >= 0) {
        pollfd event{report_, POLLIN, 0};
        char ignored[64];
        while (poll(&event, 1, -1) >= 0 || errno == EINTR) {
            if (event.revents != 0 && read(report_, ignored, sizeof ignored) <= 0) break;
        }
        close(report_);
    }
    if (keeper_ > 0) waitpid(keeper_, nullptr, 0);
}

bool Program::ended_within(std::chrono::milliseconds at_most) {
    if (report_ < 0) return true;
    const auto until = std::chrono::steady_clock::now() + at_most;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
        pollfd event{report_, POLLIN, 0};
        if (poll(&event, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) <= 0) {
            if (left <= 0) return false;
            continue;
        }
        char bytes[256];
        const ssize_t size = read(report_, bytes, sizeof bytes);
        if (size > 0) {
            text_.append(bytes, static_cast<std::size_t>(size));
            continue;
        }
        if (size < 0 && errno == EINTR) continue;
        close(report_);
        report_ = -1;
        read_report();
        return true;
    }
}

void Program::terminate() {
    if (control_ >= 0) close(control_);
    control_ = -1;
}

void Program::set_rest(double share) {
    const int percent = static_cast<int>(std::lround(100 * share));
    if (control_ < 0 || percent == rest_percent_) return;
    const auto byte = static_cast<unsigned char>(percent);
    if (send(control_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) rest_percent_ = percent;
}

// Interprets the keeper's first line; see apps/keeper/main.cpp.
void Program::read_report() {
    char what[16] = "";
    int number = 0;
    const std::string& program = request_.argv.front();
    if (std::sscanf(text_.c_str(), "%15s %d", what, &number) != 2) {
        exit_code_ = 128 + SIGKILL;  // the keeper was killed, and the kernel killed the program
        return;
    }
    const std::string_view how(what);
    if (how == "folder") throw FileError("enter", request_.folder, number);
    if (how == "start")
        throw MachineError(fmt::format("cannot start {}: {}", program, std::strerror(number)));
    exit_code_ = how == "signal" ? 128 + number : number;
}

}  // namespace voltpile::command
