// Concurrent sessions with the agents on all hosts: over ssh, and directly on this host.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/line_process.h"
#include "cluster/hosts/visit.h"

namespace voltpile {

// Receives a progress text several times a second. May throw to abort.
using ProgressListener = std::function<void(const std::string&)>;

class HostSessions {
  public:
    using Clock = std::chrono::steady_clock;

    struct Session {
        HostVisit visit;
        std::string user;                      // for ssh; empty: the caller
        std::unique_ptr<LineProcess> process;  // null after a failure, which visit.access describes
        std::optional<std::string> answer;     // to the last question: a JSON object
        Clock::time_point asked, answered;

        bool alive() const { return process != nullptr; }
    };

    HostSessions(std::string program, ProgressListener progress);

    // Adds a host. Call it before start().
    void add(HostVisit visit, const std::string& user);

    // Starts the agent on every host. Throws MachineError if ssh is not installed.
    void start(Clock::duration limit);

    // Sends question(i) to each live session i and waits for the answers. Sessions that do not answer within
    // `limit` fail. what: for progress.
    void ask(const std::string& what, Clock::duration limit,
             const std::function<std::string(std::size_t)>& question);

    // Ends all sessions; each agent removes its files before it exits.
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
