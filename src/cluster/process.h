// Other programs (scontrol, sbatch, ssh, ...), run with a deadline and with all that they write captured.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

struct ProcessRequest {
    std::vector<std::string> command;      // a name without "/" is looked for in PATH; no shell is involved
    std::string input;                     // what it reads from stdin
    std::vector<std::string> environment;  // "NAME=value", replacing those of this process
    std::chrono::milliseconds timeout{30'000};
};

struct ProcessResult {
    int exit_code = 0;  // 128 + N if signal N ended it
    bool timed_out = false;
    std::string out, err;

    bool succeeded() const { return exit_code == 0 && !timed_out; }
};

// The argv or envp array that exec and posix_spawn take: pointers into `words`, then nullptr. Valid while
// `words` is unchanged.
std::vector<char*> pointers_to(std::vector<std::string>& words);

// One running program; several can run at the same time. It stays in this process's group, so that Ctrl-C
// reaches it too. Its output goes to memory files and not to pipes: a grandchild that outlives it cannot keep
// anybody waiting.
class Process {
  public:
    // Throws MachineError if it cannot be started ("cannot start sbatch: No such file or directory").
    explicit Process(const ProcessRequest& request);
    // Ends it (SIGTERM, a little later SIGKILL) if it still runs.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Once it has ended by itself, or been ended because its timeout, counted from its start, is over. Call
    // it once.
    ProcessResult wait();

  private:
    bool ended_within(std::chrono::milliseconds time);
    void terminate();

    pid_t pid_ = -1;
    int pid_fd_ = -1;
    int out_fd_ = -1;
    int err_fd_ = -1;
    bool reaped_ = false;
    int status_ = 0;
    std::chrono::steady_clock::time_point deadline_;
};

// Starts and waits.
ProcessResult run_process(const ProcessRequest& request);

// Where PATH has an executable file of this name; nothing if nowhere.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace voltpile
