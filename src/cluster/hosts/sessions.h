// Concurrent sessions with the agents on all hosts: over ssh or srun, and directly on this host.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
        std::vector<std::string> through;      // launcher and its options instead of ssh: srun ...
        std::unique_ptr<LineProcess> process;  // null after a failure, which visit.access describes
        std::optional<std::string> answer;     // to the last question: a JSON object
        std::deque<std::string> news;  // JSON objects that the agent sent unasked; the caller removes them
        Clock::time_point asked, answered, heard;

        bool alive() const { return process != nullptr; }
    };

    // The agent is `program arguments`. arguments: words for a shell.
    HostSessions(std::string program, std::string arguments, ProgressListener progress);

    // Adds a host. Call it before start().
    void add(HostVisit visit, const std::string& user, std::vector<std::string> through = {});

    // Starts the agent on every host where it does not run. Throws MachineError if ssh is not installed.
    void start(Clock::duration limit);

    // Sends question(i) to each live session i and waits for the answers. Sessions that do not answer within
    // `limit` fail. what: for progress.
    void ask(const std::string& what, Clock::duration limit,
             const std::function<std::string(std::size_t)>& question);

    // Sends a line that needs no answer to all live sessions.
    void tell(const std::string& line);

    // Waits until an agent sends news or ends, or until one of the others writes or ends; at most `at_most`.
    void listen(std::span<LineProcess* const> others, std::chrono::milliseconds at_most);

    // Ends a session. why: for visit.access_error.
    void give_up(Session& session, const std::string& why);

    // Ends all sessions; each agent removes its files before it exits.
    void end();

    std::vector<Session>& all() { return sessions_; }

  private:
    void collect(const std::string& what, Clock::duration limit);
    void take_in(Session& session);
    void note_end(Session& session);

    std::string program_, arguments_;
    ProgressListener progress_;
    std::vector<Session> sessions_;
};

}  // namespace voltpile
