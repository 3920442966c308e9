// A program with which this one talks in lines (ssh to a host, mpirun), one of many at the same time.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace voltpile {

class LineProcess {
  public:
    using Environment = std::map<std::string, std::string>;

    // Starts it in a process group of its own, which also ends if this process dies. environment: added to
    // this process's. A program that cannot be started ends with 127 and says why on stderr. Throws
    // FileError.
    explicit LineProcess(const std::vector<std::string>& command, const Environment& environment = {});

    ~LineProcess();  // terminate()
    LineProcess(const LineProcess&) = delete;
    LineProcess& operator=(const LineProcess&) = delete;

    void send(const std::string& line);  // never waits: what does not go at once is kept
    void close_input();                  // once all is sent

    // Ends its whole group: by the end of its input and SIGTERM, and after the grace by SIGKILL.
    void terminate(std::chrono::milliseconds grace = std::chrono::milliseconds(1500));

    bool running() const { return !ended_; }
    int exit_code() const { return exit_code_; }  // once it has ended; 128 + N if signal N did it

    // Whole lines of its stdout that nobody has taken yet.
    std::deque<std::string> lines;
    // The end of what it wrote to stderr.
    std::string errors;

    // Waits until one of them has said something or has ended, at most so long, and takes in what they say.
    static void pump(std::span<LineProcess* const> processes, std::chrono::milliseconds at_most);

  private:
    void write_pending();
    void read_all();
    bool read_into(int& fd, std::string& text);
    void reap(bool wait_for_it);
    void signal_group(int number) const;

    pid_t pid_ = -1;
    int in_ = -1, out_ = -1, err_ = -1;
    std::string pending_, partial_;
    bool close_when_sent_ = false;
    bool ended_ = false;
    int exit_code_ = 0;
};

}  // namespace voltpile
