// Runs other programs (scontrol, sbatch, ...) with a deadline and captures their output.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace voltpile {

using Environment = std::map<std::string, std::string>;  // values by name

struct ProcessRequest {
    std::vector<std::string> command;  // program and arguments, without a shell; PATH is searched
    std::string input;                 // contents of stdin
    Environment environment;           // replaces and adds to the variables of this process
    std::chrono::milliseconds timeout{30'000};
};

// A program that prints more is ended: what it prints is kept in memory.
inline constexpr std::int64_t kMostPrintedBytes = 64 << 20;

struct ProcessResult {
    int exit_code = 0;  // 128 + N if signal N ended it
    bool timed_out = false;
    bool flooded = false;  // printed more than kMostPrintedBytes; `out` is empty, and `err` says so
    std::string out, err;

    bool succeeded() const { return exit_code == 0 && !timed_out && !flooded; }
};

// Returns the argv or envp array for exec and posix_spawn: pointers into `words`, then nullptr. Valid while
// `words` is unchanged.
std::vector<char*> pointers_to(std::vector<std::string>& words);

// Returns the variables of this process as "NAME=value", replaced and extended by `changes`.
std::vector<std::string> environment_with(const Environment& changes);

// A running program; several can run at the same time. It stays in this process's group, so that Ctrl-C
// reaches it too. Its output goes to files in memory rather than pipes, so that a grandchild that outlives it
// cannot block the reader.
class Process {
  public:
    // Throws MachineError if the program cannot be started ("cannot start sbatch: No such file or
    // directory").
    explicit Process(const ProcessRequest& request);
    // Ends the program with SIGTERM, then SIGKILL, if it still runs. Takes at most four seconds: one that
    // hangs in the kernel is left behind.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    // Waits for the end of the program; ends it when its timeout, counted from its start, expires, and when
    // it prints more than kMostPrintedBytes. Call it once.
    ProcessResult wait();

  private:
    bool ended_within(std::chrono::milliseconds time);
    bool ended_or_flooded_within(std::chrono::milliseconds time);
    bool flooded() const;
    void terminate();

    pid_t pid_ = -1;
    int pid_fd_ = -1;
    int out_fd_ = -1;
    int err_fd_ = -1;
    bool reaped_ = false;
    int status_ = 0;
    std::chrono::steady_clock::time_point deadline_;
};

// Starts a program and waits for it.
ProcessResult run_process(const ProcessRequest& request);

// Returns the path of an executable in PATH, or nothing.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace voltpile
