#include "base/line_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t errors_kept = 16 << 10;

class Pipe {
  public:
    Pipe() {
        if (pipe2(ends_.data(), O_CLOEXEC) != 0) throw FileError("open", "a pipe", errno);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (const int fd : ends_)
            if (fd >= 0) close(fd);
    }
    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }
    // Releases one end in non-blocking mode.
    int take(int end) {
        const int fd = std::exchange(ends_[static_cast<std::size_t>(end)], -1);
        fcntl(fd, F_SETFL, O_NONBLOCK);
        return fd;
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

// Calls only functions that are safe between fork and exec.
[[noreturn]] void become(const std::vector<char*>& words, char** environment, int in, int out, int err,
                         pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);  // the parent died before prctl
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);  // connections of MPI; Linux 5.9
    execvpe(words.front(), words.data(), environment);
    const char* reason = strerrordesc_np(errno);
    for (const char* text : {"cannot start ", static_cast<const char*>(words.front()), ": ", reason, "\n"})
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
    _exit(127);
}

}  // namespace

LineProcess::LineProcess(const std::vector<std::string>& command, const Environment& environment) {
    Pipe in, out, err;
    std::vector<std::string> words = command, variables = environment_with(environment);
    const std::vector<char*> word_pointers = pointers_to(words);
    std::vector<char*> variable_pointers = pointers_to(variables);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw FileError("start", command.front(), errno);
    if (pid_ == 0)
        become(word_pointers, variable_pointers.data(), in.reading(), out.writing(), err.writing(), parent);
    setpgid(pid_, pid_);  // parent and child both do this: the group must exist before it gets signals
    in_ = in.take(1);
    out_ = out.take(0);
    err_ = err.take(0);
}

LineProcess::~LineProcess() {
    terminate();
    for (const int fd : {out_, err_})
        if (fd >= 0) close(fd);
}

void LineProcess::terminate(std::chrono::milliseconds grace) {
    if (in_ >= 0) close(std::exchange(in_, -1));
    if (!ended_) {
        signal_group(SIGTERM);
        for (const auto until = Clock::now() + grace; !ended_ && Clock::now() < until;) {
            read_all();  // keeps it from blocking on a full pipe
            reap();
            if (!ended_) std::this_thread::sleep_for(5ms);
        }
    }
    if (!ended_) signal_group(SIGKILL);
    for (const auto until = Clock::now() + 2s; !ended_ && Clock::now() < until;) {
        reap();
        if (!ended_) std::this_thread::sleep_for(5ms);
    }
    if (!ended_) {  // it hangs in the kernel, in a driver for instance
        ended_ = true;
        exit_code_ = 128 + SIGKILL;
    }
    read_all();
}

void LineProcess::signal_group(int number) const {
    kill(-pid_, number);
}

void LineProcess::signal(int number) const {
    if (!ended_) kill(pid_, number);
}

void LineProcess::send(const std::string& line) {
    pending_ += line + "\n";
    write_pending();
}

void LineProcess::close_input() {
    close_when_sent_ = true;
    write_pending();
}

void LineProcess::write_pending() {
    // A dead program must cause EPIPE, not a signal that would end this process.
    struct sigaction ignore {};
    struct sigaction before {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    while (in_ >= 0 && !pending_.empty()) {
        const ssize_t n = write(in_, pending_.data(), pending_.size());
        if (n >= 0) {
            pending_.erase(0, static_cast<std::size_t>(n));
        } else if (errno != EINTR) {
            if (errno == EAGAIN) break;
            pending_.clear();
            close_when_sent_ = true;
        }
    }
    sigaction(SIGPIPE, &before, nullptr);
    if (close_when_sent_ && pending_.empty() && in_ >= 0) close(std::exchange(in_, -1));
}

bool LineProcess::read_into(int& fd, std::string& text) {
    std::array<char, 16384> buffer;
    while (fd >= 0) {
        const ssize_t n = read(fd, buffer.data(), buffer.size());
        if (n > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(n));
        } else if (n == 0) {
            close(std::exchange(fd, -1));
        } else if (errno != EINTR) {
            return errno == EAGAIN;
        }
    }
    return true;
}

void LineProcess::read_all() {
    read_into(out_, partial_);
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
        lines.push_back(partial_.substr(0, end));
        partial_.erase(0, end + 1);
    }
    read_into(err_, errors);
    if (errors.size() > errors_kept) errors.erase(0, errors.size() - errors_kept);
}

void LineProcess::reap() {
    if (ended_) return;
    siginfo_t info{};
    int failed = 0;
    do {
        failed = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG);
    } while (failed && errno == EINTR);
    if (!failed && info.si_pid == 0) return;
    signal_group(SIGKILL);  // its orphans; the group's id stays taken until waitpid
    waitpid(pid_, nullptr, 0);
    ended_ = true;
    exit_code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void LineProcess::pump(std::span<LineProcess* const> processes, std::chrono::milliseconds at_most,
                       std::chrono::milliseconds patrol, int wake) {
    const auto until = Clock::now() + at_most;
    while (true) {
        bool news = false;
        std::vector<pollfd> fds;
        for (LineProcess* process : processes) {
            const auto lines_before = process->lines.size();
            const bool ran = process->running();
            process->reap();
            process->read_all();  // after reap(): everything it wrote is available
            news = news || process->lines.size() > lines_before || (ran && !process->running());
            if (process->out_ >= 0) fds.push_back({process->out_, POLLIN, 0});
            if (process->err_ >= 0) fds.push_back({process->err_, POLLIN, 0});
            if (process->in_ >= 0 && !process->pending_.empty()) fds.push_back({process->in_, POLLOUT, 0});
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        if (news || left <= 0ms) return;
        fds.push_back({wake, POLLIN, 0});  // poll() skips -1
        poll(fds.data(), fds.size(), static_cast<int>(std::min(left, patrol).count()));
        for (LineProcess* process : processes) process->write_pending();
        if (fds.back().revents) return;
    }
}

}  // namespace voltpile
