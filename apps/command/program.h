// A program that runs under voltpile-keeper (apps/keeper/main.cpp), which ends its whole process tree when
// this process asks for it or is dead.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"

namespace voltpile::command {

struct ProgramRequest {
    std::vector<std::string> argv;            // PATH is searched
    Environment environment;                  // replaces and adds to the variables of this process
    std::string folder;                       // where it works; empty: here
    std::vector<int> pus;                     // hardware threads that it may use; empty: any
    std::filesystem::path out, err;           // appended to
    std::chrono::milliseconds grace{10'000};  // between SIGTERM and SIGKILL
};

class Program {
  public:
    // Starts the program. The variables of MPI's launcher are not passed on, so that it can start MPI itself.
    // Throws FileError, or MachineError if the keeper is not there.
    explicit Program(const ProgramRequest& request);
    ~Program();  // ends what is left
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // Waits until it has ended with all of its processes, at most this long. Returns whether it has. Throws
    // MachineError if the program could not be started, FileError if its folder could not be entered.
    bool ended_within(std::chrono::milliseconds at_most);

    // Asks the keeper to end it; ended_within() says when it has.
    void terminate();

    // Lets all its processes rest this share of the time from now on: they are suspended and go on in turn.
    void set_rest(double share);

    int exit_code() const { return exit_code_; }  // after its end; 128 + N if signal N ended it

  private:
    void read_report();

    ProgramRequest request_;
    pid_t keeper_ = -1;
    int control_ = -1;
    int report_ = -1;
    std::string text_;
    int exit_code_ = 0;
    int rest_percent_ = 0;
};

}  // namespace voltpile::command
