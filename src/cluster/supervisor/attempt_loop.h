// Runs a job again and again until it is done: the decisions, without the processes and nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace voltpile {

struct ExcludedNode {
    std::string name;
    std::string why;  // "cannot be reached: ..."

    bool operator==(const ExcludedNode&) const = default;
};

// What the nodes can do now.
struct NodeRoll {
    std::vector<std::string> usable;  // in the order of the host file
    std::vector<ExcludedNode> excluded;
};

// How an attempt ended.
struct AttemptEnd {
    int exit_code = 0;        // of the launcher; those of `voltpile run` where the ranks ended by themselves
    bool stopped = false;     // a signal to the launch stopped it
    bool progressed = false;  // it committed work, or served
    bool is_final = false;    // another attempt would fail in the same way
    double seconds = 0;
    std::string what;          // "ended with exit code 137; 1,200 points are committed"
    std::string verdict = {};  // "node2 GPU 1 fell off the bus (Xid 79) ..."; empty: the job did not die
};

// What the loop needs of the world.
class AttemptRunner {
  public:
    virtual ~AttemptRunner() = default;

    // Checks all nodes. Called before each attempt.
    virtual NodeRoll check() = 0;

    // Runs the job on these nodes until it ends, and ends everything that is left of it. attempt: counts
    // from 1.
    virtual AttemptEnd run(int attempt, const std::vector<std::string>& nodes) = 0;

    // Waits before the nodes are checked again. Returns false if a signal has stopped the launch meanwhile.
    virtual bool pause() = 0;
};

struct AttemptRecord {
    std::vector<std::string> nodes;
    AttemptEnd end;
};

struct LaunchSummary {
    ExitCode code = ExitCode::Failed;
    std::string why;  // the job is not done: why the loop gave up
    std::vector<AttemptRecord> attempts;
    std::vector<ExcludedNode> excluded;  // at the end
};

// Repeats until the job is done, stopped or refused, until it fails finally, or until `patience` attempts in
// a row make no progress. A check that leaves no usable node counts as an attempt without progress. say:
// takes a line of news.
LaunchSummary supervise(AttemptRunner& runner, int patience,
                        const std::function<void(const std::string&)>& say);

}  // namespace voltpile
