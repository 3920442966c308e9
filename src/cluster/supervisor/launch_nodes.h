// The nodes of a launch and the agents on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cluster/hosts/sessions.h"
#include "cluster/supervisor/attempt_loop.h"
#include "cluster/supervisor/evidence.h"
#include "cluster/supervisor/start_command.h"

namespace voltpile {

struct LaunchNodesRequest {
    std::vector<HostEntry> hosts;  // slots 0: a rank for each GPU, or one
    bool by_slurm = false;         // reach them by srun instead of ssh
    std::string program;           // absolute path of this program, the same on every node
    std::string mark;              // cluster/supervisor/marked_processes.h
    ProgressListener progress;     // may throw to abort a check
};

class LaunchNodes {
  public:
    explicit LaunchNodes(const LaunchNodesRequest& request);

    // Starts agents where none runs, ends what earlier attempts have left, checks every node, and waits until
    // the GPUs' memory is free again. The first call throws MachineError that names all hosts that cannot be
    // reached or that are one host twice; nothing has started on any of them then. (In a Slurm allocation
    // such nodes are excluded.)
    NodeRoll check();

    std::size_t count() const { return nodes_.size(); }  // usable or not

    // Returns these nodes for start_command().
    std::vector<StartNode> start_nodes(const std::vector<std::string>& names) const;

    // While an attempt runs: waits for output of the launcher or for the loss of a node, a few times a
    // second. Returns whether a node of the attempt is lost.
    bool watch(LineProcess& launcher, const std::vector<std::string>& names);
    void begin_watch();

    // Ends the processes of the launch on all nodes that answer. Returns which nodes of the attempt are lost
    // and why, or "": the launcher may have ended before watch() noticed it.
    std::string end_processes(const std::vector<std::string>& names);

    // Returns what is known about these nodes after an attempt that began at begin_s (seconds since 1970):
    // call it after check().
    std::vector<NodeEvidence> evidence(const std::vector<std::string>& names, double begin_s);

    // Returns the points of the result that are committed, as each node sees them.
    std::map<std::string, std::int64_t> committed(const std::string& result);

    // Whether processes of an earlier attempt may still run on a node that does not answer.
    bool may_have_left_some() const { return !unconfirmed_.empty(); }

  private:
    using Session = HostSessions::Session;

    void refuse_unreachable();
    void refuse_twins();
    void describe();
    std::map<std::string, std::string> check_health();
    void take_news(Session& session);
    void hear_all();
    std::string note_lost(const std::vector<std::string>& names);
    std::string memory_problem(const std::string& node, const std::string& gpus_json);

    bool by_slurm_;
    bool first_ = true;
    std::string program_, mark_;
    HostSessions sessions_;
    std::vector<StartNode> nodes_;                                        // in the order of the sessions
    std::map<std::string, std::map<std::string, double>> memory_before_;  // by node and bus id: used bytes
    std::set<std::string> unconfirmed_;
    // By node.
    std::map<std::string, std::deque<NodeSample>> samples_;     // of the last minutes
    std::map<std::string, std::vector<NodeFinding>> findings_;  // of the last check
    std::map<std::string, std::string> lost_;                   // in the last attempt: why
    HostSessions::Clock::time_point looked_, told_;
};

}  // namespace voltpile
