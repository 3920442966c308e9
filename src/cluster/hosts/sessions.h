// The conversations with all hosts at the same time, by ssh, and with this host without.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/hosts/line_process.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

// Called with what is going on, several times a second; may throw to end it all.
using ProgressListener = std::function<void(const std::string&)>;

class HostSessions {
  public:
    using Clock = std::chrono::steady_clock;

    struct Session {
        HostVisit visit;
        std::string user;                      // for ssh; empty: the one who calls
        std::unique_ptr<LineProcess> process;  // none once it has failed; visit.access says why
        std::optional<std::string> answer;     // to the last question: a JSON object
        Clock::time_point asked, answered;

        bool alive() const { return process != nullptr; }
    };

    HostSessions(std::string program, ProgressListener progress);

    // Before start().
    void add(HostVisit visit, const std::string& user);

    // Starts the program on every host. Throws MachineError where there is no ssh.
    void start(Clock::duration limit);

    // Asks every session that is alive, and waits for the answers. Whoever does not answer in time has
    // failed.
    void ask(const std::string& what, Clock::duration limit,
             const std::function<std::string(std::size_t)>& question);

    // Ends the conversations in good order: each agent removes what it has written before it goes.
    void end();

    std::vector<Session>& all() { return sessions_; }

  private:
    void collect(const std::string& what, Clock::duration limit);
    void take_in(Session& session);
    void give_up(Session& session);

    std::string program_;
    ProgressListener progress_;
    std::vector<Session> sessions_;
};

}  // namespace voltpile
