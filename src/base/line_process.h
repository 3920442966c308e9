// A child process that exchanges lines with this one (ssh to a host, mpirun). Many can run at the same time.
#pragma once

#include <chrono>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/process.h"

namespace voltpile {

class LineProcess {
  public:
    // Starts the program in a process group of its own, which ends when the calling thread does. environment:
    // added to this process's environment. If the program cannot be started, the child exits with 127 and a
    // message on stderr. Throws FileError.
    explicit LineProcess(const std::vector<std::string>& command, const Environment& environment = {});

    ~LineProcess();  // terminate()
    LineProcess(const LineProcess&) = delete;
    LineProcess& operator=(const LineProcess&) = delete;

    void send(const std::string& line);  // never blocks: queues what the pipe does not take
    void close_input();                  // after everything queued is sent

    // Ends the whole group: closes stdin and sends SIGTERM, then SIGKILL after `grace`. A program that hangs
    // in the kernel two seconds later is left behind.
    void terminate(std::chrono::milliseconds grace = std::chrono::milliseconds(1500));

    void signal(int number) const;  // to the program alone, if it runs

    bool running() const { return !ended_; }
    int exit_code() const { return exit_code_; }  // valid after the end; 128 + N if signal N ended it

    // Complete lines of its stdout; the caller removes them.
    std::deque<std::string> lines;
    // The last part of its stderr.
    std::string errors;

    // Waits until one of them writes or ends, at most `at_most`, and reads what they wrote. patrol: looks
    // this often whether one has ended whose orphans keep its pipes open, such as an ssh in the background.
    // wake: a descriptor that ends the wait when it can be read; -1: none.
    static void pump(std::span<LineProcess* const> processes, std::chrono::milliseconds at_most,
                     std::chrono::milliseconds patrol = std::chrono::milliseconds(20), int wake = -1);

  private:
    void write_pending();
    void read_all();
    bool read_into(int& fd, std::string& text);
    void reap();
    void signal_group(int number) const;

    pid_t pid_ = -1;
    int in_ = -1, out_ = -1, err_ = -1;
    std::string pending_, partial_;
    bool close_when_sent_ = false;
    bool ended_ = false;
    int exit_code_ = 0;
};

}  // namespace voltpile
