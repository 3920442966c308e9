#include "cluster/supervisor/launch_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/format.h"
#include "cluster/hosts/findings.h"
#include "cluster/hosts/report_text.h"
#include "cluster/hosts/this_host.h"
#include "health/node_report.h"
#include "machine/node_json.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using WatchClock = HostSessions::Clock;

constexpr auto kStartLimit = 12s;  // ssh itself gives up connecting after 5 s
constexpr auto kDescribeLimit = 10s;
constexpr auto kGuardLimit = 15s;  // ending processes takes at most four seconds
constexpr auto kCheckLimit = 30s;  // the driver of a node with eight GPUs may take seconds to answer
constexpr auto kFreeMemoryLimit = 60s;
constexpr double kMemoryMargin = 512e6;    // bytes that the driver may keep
constexpr std::size_t kSamplesKept = 240;  // two minutes
constexpr auto kSilence = 15s;             // of an agent, which sends news every second
constexpr auto kTellPeriod = 5s;
constexpr auto kLook = 200ms;
constexpr auto kSuspended = 2s;  // between two looks: this process itself was suspended

HostSessions make_sessions(const LaunchNodesRequest& request) {
    return {request.program, "agent", request.progress};
}

}  // namespace

LaunchNodes::LaunchNodes(const LaunchNodesRequest& request)
    : by_slurm_(request.by_slurm),
      program_(request.program),
      mark_(request.mark),
      sessions_(make_sessions(request)) {
    const std::vector<bool> here = which_are_this_host(request.hosts);
    for (std::size_t i = 0; i < request.hosts.size(); ++i) {
        const HostEntry& host = request.hosts[i];
        HostVisit visit;
        visit.name = host.name;
        visit.slots = host.slots;
        visit.here = here[i];
        nodes_.push_back({host, here[i], 0});
        sessions_.add(std::move(visit), host.user,
                      by_slurm_ ? srun_to_node(host.name) : std::vector<std::string>());
    }
}

NodeRoll LaunchNodes::check() {
    sessions_.start(kStartLimit);
    if (first_ && !by_slurm_) refuse_unreachable();
    describe();
    if (first_) refuse_twins();
    std::map<std::string, std::string> problems = check_health();
    first_ = false;
    NodeRoll roll;
    for (Session& session : sessions_.all()) {
        const std::string& name = session.visit.name;
        if (!session.alive()) problems[name] = "cannot be reached: " + session.visit.access_error;
        if (const auto problem = problems.find(name); problem != problems.end())
            roll.excluded.push_back({name, problem->second});
        else
            roll.usable.push_back(name);
    }
    return roll;
}

void LaunchNodes::refuse_unreachable() {
    HostSurvey survey;
    survey.program = program_;
    for (const Session& session : sessions_.all())
        if (!session.alive()) survey.visits.push_back(session.visit);
    if (survey.visits.empty()) return;
    sessions_.end();
    throw MachineError("nothing was started:\n" + finding_text(judge_hosts(survey), false));
}

void LaunchNodes::refuse_twins() {
    std::map<std::string, std::string> names;
    for (const Session& session : sessions_.all()) {
        if (!session.answer) continue;
        const std::string identity = json::parse(*session.answer).value("identity", "");
        const auto [first, is_new] = names.emplace(identity, session.visit.name);
        if (is_new) continue;
        sessions_.end();
        throw JobError(fmt::format("{} and {} are the same host: list it once, with all its slots",
                                   first->second, session.visit.name));
    }
}

void LaunchNodes::describe() {
    sessions_.ask("asking the nodes", kDescribeLimit, [](std::size_t) { return R"({"do": "describe"})"; });
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (const auto& answer = sessions_.all()[i].answer)
            nodes_[i].cores = json::parse(*answer).value("cores", 0);
}

// Returns the problems of nodes that must not be used, by their names.
std::map<std::string, std::string> LaunchNodes::check_health() {
    std::map<std::string, std::string> problems;
    const auto note = [&](const std::string& node, const std::string& problem) {
        problems.emplace(node, problem);
    };
    sessions_.ask("ending what is left", kGuardLimit, [&](std::size_t) {
        return json{{"do", "guard"}, {"mark", mark_}}.dump();
    });
    for (const Session& session : sessions_.all()) {
        if (!session.answer) continue;
        unconfirmed_.erase(session.visit.name);
        for (const json& process : json::parse(*session.answer).at("left")) {
            unconfirmed_.insert(session.visit.name);
            note(session.visit.name,
                 fmt::format("process {} ({}) hangs in the kernel and cannot be ended",
                             process.at("pid").get<int>(), process.at("name").get<std::string>()));
        }
    }
    for (const auto until = WatchClock::now() + kFreeMemoryLimit;; std::this_thread::sleep_for(1s)) {
        std::map<std::string, std::string> full;
        sessions_.ask("checking the nodes", kCheckLimit, [](std::size_t) { return R"({"do": "check"})"; });
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const Session& session = sessions_.all()[i];
            if (!session.answer) continue;
            const json answer = json::parse(*session.answer);
            const NodeReport report = report_from(answer.at("report"));
            findings_[session.visit.name] = report.findings;
            for (const NodeFinding& finding : report.findings)
                if (finding.health == Health::Bad) note(session.visit.name, finding.text);
            if (nodes_[i].host.slots == 0)
                nodes_[i].host.slots = std::max(1, static_cast<int>(answer.at("gpus").size()));
            const std::string problem = memory_problem(session.visit.name, answer.at("gpus").dump());
            if (!problem.empty()) full.emplace(session.visit.name, problem);
        }
        if (full.empty()) return problems;
        if (WatchClock::now() < until) continue;
        problems.merge(full);
        return problems;
    }
}

// Returns which GPU has more memory in use than before the first attempt, or "".
std::string LaunchNodes::memory_problem(const std::string& node, const std::string& gpus_json) {
    std::map<std::string, double>& before = memory_before_[node];
    for (const json& gpu : json::parse(gpus_json)) {
        const double used = gpu.at("memory_used_bytes");
        const auto [known, is_new] = before.emplace(gpu.at("bus_id"), used);
        known->second = std::min(known->second, used);
        if (used > known->second + kMemoryMargin)
            return fmt::format("{} of the memory of GPU {} are still in use",
                               bytes_text(used - known->second), known->first);
    }
    return "";
}

std::vector<StartNode> LaunchNodes::start_nodes(const std::vector<std::string>& names) const {
    std::vector<StartNode> nodes;
    for (const StartNode& node : nodes_)
        if (std::ranges::find(names, node.host.name) != names.end()) nodes.push_back(node);
    if (!by_slurm_ || nodes.empty()) return nodes;
    const auto by_slots = [](const StartNode& node) { return node.host.slots; };
    const int least = std::ranges::min(nodes, {}, by_slots).host.slots;
    for (StartNode& node : nodes) node.host.slots = least;  // srun takes one number for all nodes
    return nodes;
}

void LaunchNodes::begin_watch() {
    lost_.clear();
    told_ = WatchClock::now();
    hear_all();
}

void LaunchNodes::hear_all() {
    looked_ = WatchClock::now();
    for (Session& session : sessions_.all()) session.heard = looked_;
}

void LaunchNodes::take_news(Session& session) {
    std::deque<NodeSample>& kept = samples_[session.visit.name];
    for (; !session.news.empty(); session.news.pop_front()) {
        try {
            const json news = json::parse(session.news.front());
            for (const json& sample : news.at("samples")) kept.push_back(sample_from_json(sample));
        } catch (const std::exception&) {
            continue;  // evidence may have gaps; the job must not end for it
        }
    }
    while (kept.size() > kSamplesKept) kept.pop_front();
}

bool LaunchNodes::watch(LineProcess& launcher, const std::vector<std::string>& names) {
    const std::array<LineProcess*, 1> others{&launcher};
    sessions_.listen(others, kLook);
    const auto now = WatchClock::now();
    if (now - looked_ > kSuspended) hear_all();
    looked_ = now;
    if (now - told_ >= kTellPeriod) {
        sessions_.tell(R"({"do": "alive"})");
        told_ = now;
    }
    for (Session& session : sessions_.all()) {
        if (session.alive() && now - session.heard > kSilence)
            sessions_.give_up(session, fmt::format("no sign of life for {} s", kSilence.count()));
        take_news(session);
    }
    return !note_lost(names).empty();
}

std::string LaunchNodes::note_lost(const std::vector<std::string>& names) {
    std::string lost;
    for (const Session& session : sessions_.all()) {
        const std::string& name = session.visit.name;
        if (session.alive() || std::ranges::find(names, name) == names.end()) continue;
        unconfirmed_.insert(name);
        lost_[name] = session.visit.access_error;
        lost += fmt::format("{}lost {} ({})", lost.empty() ? "" : ", ", name, session.visit.access_error);
    }
    return lost;
}

std::string LaunchNodes::end_processes(const std::vector<std::string>& names) {
    sessions_.ask("ending the job", kGuardLimit, [](std::size_t) { return R"({"do": "end"})"; });
    return note_lost(names);
}

std::vector<NodeEvidence> LaunchNodes::evidence(const std::vector<std::string>& names, double begin_s) {
    sessions_.ask("reading kernel logs", kDescribeLimit, [&](std::size_t) {
        return json{{"do", "log"}, {"since_s", begin_s}}.dump();
    });
    std::vector<NodeEvidence> all;
    for (Session& session : sessions_.all()) {
        const std::string& name = session.visit.name;
        if (std::ranges::find(names, name) == names.end()) continue;
        take_news(session);
        NodeEvidence node{name, lost_[name], samples_[name], {}, {}};
        if (session.answer) {
            node.findings = findings_[name];
            for (const json& event : json::parse(*session.answer).at("kernel"))
                node.kernel.push_back({event.at("time_s"), event.at("text")});
        }
        all.push_back(std::move(node));
    }
    return all;
}

std::map<std::string, std::int64_t> LaunchNodes::committed(const std::string& result) {
    std::map<std::string, std::int64_t> points;
    sessions_.ask("counting what is done", kDescribeLimit, [&](std::size_t) {
        return json{{"do", "count"}, {"result", result}}.dump();
    });
    for (const Session& session : sessions_.all())
        if (session.answer) points[session.visit.name] = json::parse(*session.answer).at("points");
    return points;
}

}  // namespace voltpile
