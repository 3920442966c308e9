// voltpile-keeper: runs one program and ends its whole process tree, whatever happens to the rank that wants
// it.
//
//   voltpile-keeper GRACE_MS CORES FOLDER PROGRAM [ARGUMENT ...]
//
// stdin comes from the rank. Its end (the rank wants it or is dead) or SIGTERM ends the program: SIGTERM
// to its process group, and after GRACE_MS SIGKILL to every process that descends from it, also those
// with a session of their own: they become children of the keeper when their parents end
// (PR_SET_CHILD_SUBREAPER). What the program leaves behind when it ends by itself is ended the same way.
//
// The keeper is two processes, so that one of them may be killed: a guard and its child, which does all of
// this. If the child is killed, the kernel kills the program (PR_SET_PDEATHSIG), and the guard inherits what
// is left of the tree, suspended or not, and kills it. If the guard is killed, its child ends the tree. Each
// has a process group of its own, so that no signal to the group of the rank, or to one of them, reaches
// both.
//
// A byte N on stdin lets the whole tree rest N percent of the time from then on: it is suspended so long of
// each 0.3 seconds, and its GPUs have nothing to do.
//
// File descriptor 3 gets one line: "exit N", "signal N", "folder ERRNO" or "start ERRNO". CORES: the hardware
// threads for the program, "0,2,4", or "-" for any.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int report_fd = 3;
// What a program that has ended by itself leaves running gets at most this long after SIGTERM.
constexpr milliseconds remainder_grace{2000};
// Processes that hang in the kernel are left behind after this.
constexpr milliseconds kill_patience{2000};
// The time over which the power guard averages (src/machine/power_meter.cpp), so that each of its readings
// covers a rest. Shorter rests would not reach GPUs, for which programs queue work ahead.
constexpr milliseconds rest_period{300};
constexpr int most_rest = 95;  // percent

[[noreturn]] void report(const char* what, int number) {
    dprintf(report_fd, "%s %d\n", what, number);
    _exit(0);
}

struct Process {
    pid_t pid, parent;
};

std::vector<Process> all_processes() {
    std::vector<Process> found;
    DIR* const folder = opendir("/proc");
    if (!folder) return found;
    while (const dirent* entry = readdir(folder)) {
        const int pid = std::atoi(entry->d_name);
        if (pid <= 0) continue;
        const std::string path = std::string("/proc/") + entry->d_name + "/stat";
        std::FILE* const file = std::fopen(path.c_str(), "re");
        if (!file) continue;
        char text[512];
        const std::size_t size = std::fread(text, 1, sizeof text - 1, file);
        std::fclose(file);
        text[size] = 0;
        // The name in parentheses may contain anything; state and parent follow the last one.
        const std::string stat(text);
        const std::size_t after_name = stat.rfind(')');
        int parent = 0;
        if (after_name != std::string::npos &&
            std::sscanf(stat.c_str() + after_name, ") %*c %d", &parent) == 1)
            found.push_back({pid, parent});
    }
    closedir(folder);
    return found;
}

// Returns the processes whose parent this is.
std::vector<pid_t> children() {
    std::vector<pid_t> found;
    for (const Process& each : all_processes())
        if (each.parent == getpid()) found.push_back(each.pid);
    return found;
}

// Returns the processes that descend from this one, parents first.
std::vector<pid_t> descendants() {
    const std::vector<Process> all = all_processes();
    std::vector<pid_t> found{getpid()};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const Process& each : all)
            if (each.parent == found[i]) found.push_back(each.pid);
    found.erase(found.begin());
    return found;
}

void reset_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE}) std::signal(number, SIG_DFL);
}

class Keeper {
  public:
    Keeper(pid_t program, int signals, milliseconds grace)
        : program_(program), signals_(signals), grace_(grace) {}

    // Returns the wait status of the program once nothing of its tree is left.
    int run() {
        bool asked = false;
        while (!ended_ && !asked) {
            take_turn();
            asked = wait(until_turn());
        }
        if (resting_) signal_tree(SIGCONT);
        if (ended_) {
            if (!alone()) end_tree(remainder_grace);
            return status_;
        }
        end_tree(grace_);
        return ended_ ? status_ : SIGKILL;
    }

  private:
    // Waits for a signal or the rank's word, at most this long (negative: forever). Returns whether the tree
    // is to end.
    bool wait(milliseconds at_most) {
        pollfd events[2] = {{signals_, POLLIN, 0}, {input_, POLLIN, 0}};
        poll(events, 2, static_cast<int>(at_most.count()));
        bool asked = false;
        signalfd_siginfo info;
        while (read(signals_, &info, sizeof info) == sizeof info) asked = asked || info.ssi_signo == SIGTERM;
        unsigned char percent = 0;
        if (events[1].revents != 0) {
            if (read(input_, &percent, 1) == 1) {
                rest_ = std::min<int>(percent, most_rest);
            } else {
                asked = true;
                input_ = -1;  // poll() ignores it from now on
            }
        }
        reap();
        return asked;
    }

    // Suspends the tree or lets it go on, if it is time.
    void take_turn() {
        const auto now = Clock::now();
        if ((rest_ == 0 && !resting_) || now < turn_at_) return;
        resting_ = !resting_ && rest_ > 0;
        signal_tree(resting_ ? SIGSTOP : SIGCONT);
        turn_at_ = now + rest_period * (resting_ ? rest_ : 100 - rest_) / 100;
    }

    // Negative: forever.
    milliseconds until_turn() const {
        if (rest_ == 0 && !resting_) return milliseconds(-1);
        return std::max(std::chrono::ceil<milliseconds>(turn_at_ - Clock::now()), milliseconds(0));
    }

    void signal_tree(int number) const {
        kill(-program_, number);
        for (const pid_t each : descendants()) kill(each, number);
    }

    void reap() {
        int status = 0;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid != program_) continue;
            ended_ = true;
            status_ = status;
        }
        alone_ = pid < 0 && errno == ECHILD;
    }

    bool alone() {
        reap();
        return alone_;
    }

    void end_tree(milliseconds grace) {
        kill(-program_, SIGTERM);
        if (ended_)
            for (const pid_t child : children()) kill(child, SIGTERM);
        await(Clock::now() + grace, [] {});
        // Children of killed processes become ours, so this reaches all of them.
        await(Clock::now() + kill_patience, [this] {
            if (!ended_) kill(-program_, SIGKILL);
            for (const pid_t child : children()) kill(child, SIGKILL);
        });
    }

    template <class Act>
    void await(Clock::time_point until, const Act& act) {
        while (!alone() && Clock::now() < until) {
            act();
            wait(milliseconds(20));
        }
    }

    pid_t program_;
    int signals_;
    int input_ = STDIN_FILENO;
    milliseconds grace_;
    bool ended_ = false;
    bool alone_ = false;
    int status_ = 0;
    int rest_ = 0;  // percent of the time
    bool resting_ = false;
    Clock::time_point turn_at_;
};

void keep_to_cores(const char* list) {
    if (list[0] == '-') return;
    const std::size_t most = 8192;
    cpu_set_t* const set = CPU_ALLOC(most);
    CPU_ZERO_S(CPU_ALLOC_SIZE(most), set);
    for (const char* at = list; *at;) {
        char* end = nullptr;
        const unsigned long core = std::strtoul(at, &end, 10);
        if (end == at) break;
        CPU_SET_S(core, CPU_ALLOC_SIZE(most), set);
        at = *end == ',' ? end + 1 : end;
    }
    sched_setaffinity(0, CPU_ALLOC_SIZE(most), set);  // a hint: a program that ignores it still runs
    CPU_FREE(set);
}

[[noreturn]] void become_program(char** arguments, const sigset_t& nothing, pid_t keeper) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(0);
    setpgid(0, 0);
    keep_to_cores(arguments[2]);
    reset_signals();
    sigprocmask(SIG_SETMASK, &nothing, nullptr);
    const int null = open("/dev/null", O_RDONLY);
    if (null >= 0) dup2(null, STDIN_FILENO);
    if (arguments[3][0] != 0 && chdir(arguments[3]) != 0) report("folder", errno);
    execvp(arguments[4], arguments + 4);
    report("start", errno);
}

// Waits for the keeper. If it was killed, kills what it leaves. The rank sees the end of the report when both
// have ended.
[[noreturn]] void guard(pid_t keeper) {
    int status = 0;
    while (waitpid(keeper, &status, 0) < 0 && errno == EINTR) {
    }
    const auto until = Clock::now() + kill_patience;
    while (WIFSIGNALED(status) && Clock::now() < until) {
        for (const pid_t child : children()) kill(child, SIGKILL);
        pid_t ended;
        while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
        }
        if (ended < 0) break;  // no child is left
        poll(nullptr, 0, 5);
    }
    _exit(0);
}

[[noreturn]] void keep(char** argv) {
    sigset_t nothing, watched;
    sigemptyset(&nothing);
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGCHLD);
    sigprocmask(SIG_SETMASK, &watched, nullptr);
    const int signals = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    const pid_t keeper = getpid();
    const pid_t program = fork();
    if (program < 0) report("start", errno);
    if (program == 0) become_program(argv, nothing, keeper);
    setpgid(program, program);  // also here: whoever comes first
    const int status = Keeper(program, signals, milliseconds(std::atol(argv[1]))).run();
    if (WIFSIGNALED(status)) report("signal", WTERMSIG(status));
    report("exit", WEXITSTATUS(status));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fputs("voltpile-keeper is started by voltpile\n", stderr);
        return 2;
    }
    fcntl(report_fd, F_SETFD, FD_CLOEXEC);
    setpgid(0, 0);
    // The rank decides when to stop, and SIGTERM is for the keeper.
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t guarding = getpid();
    const pid_t keeper = fork();
    if (keeper < 0) report("start", errno);
    if (keeper > 0) guard(keeper);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // children do not inherit it
    std::signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guarding) _exit(0);
    keep(argv);
}
