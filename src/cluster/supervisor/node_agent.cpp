#include "cluster/supervisor/node_agent.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "base/standard_streams.h"
#include "cluster/hosts/agent_lines.h"
#include "cluster/supervisor/marked_processes.h"
#include "health/check_this_node.h"
#include "machine/kernel_events.h"
#include "machine/node_json.h"
#include "machine/node_watch.h"
#include "results/admission.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kNewsPeriod = 1s;
constexpr auto kSamplePeriod = 500ms;
constexpr auto kLongestQuiet = 60s;  // of the launch, which sends a line every few seconds
constexpr auto kGrace = 2s;          // for mpirun and its daemons to remove their files

json names_of(const std::vector<MarkedProcess>& processes) {
    json names = json::array();
    for (const MarkedProcess& process : processes)
        names.push_back({{"pid", process.pid}, {"name", process.name}});
    return names;
}

class NodeAgent {
  public:
    // Returns null for a line that needs no answer.
    json answer(const json& question) {
        const std::string what = question.at("do");
        if (what == "alive") return nullptr;
        if (what == "describe")
            return {{"host", host_name()},
                    {"identity", host_identity()},
                    {"cores", std::thread::hardware_concurrency()}};
        if (what == "check") return check();
        if (what == "guard") {
            mark_ = question.at("mark");
            if (!watch_) watch_ = std::make_unique<NodeWatch>(kSamplePeriod);
            return {{"left", end()}};
        }
        if (what == "end") return {{"left", end()}};
        if (what == "log") return log(question.at("since_s"));
        if (what == "count")
            return {
                {"points", look_at_result(question.at("result").get<std::string>(), {}).committed.size()}};
        throw CommError("unknown question: " + what);
    }

    bool guards() const { return !mark_.empty(); }

    // What the node did since the last news.
    json news() const {
        json samples = json::array();
        for (const NodeSample& sample : watch_->take()) samples.push_back(to_json(sample));
        return {{"samples", samples}};
    }

    json end() const { return guards() ? names_of(end_marked(mark_, kGrace)) : json::array(); }

  private:
    static json log(double since_s) {
        json events = json::array();
        for (const KernelEvent& event : kernel_events_since(since_s))
            events.push_back({{"time_s", event.time_s}, {"text", event.text}});
        return {{"kernel", events}};
    }

    static json check() {
        const CheckedNode node = check_this_node({});
        json gpus = json::array();
        for (const GpuSnapshot& gpu : node.gpus.gpus)
            gpus.push_back(
                {{"bus_id", gpu.bus_id}, {"memory_used_bytes", gpu.memory_used_bytes.value_or(0)}});
        return {{"report", report_json(node.report)}, {"gpus", gpus}};
    }

    std::string mark_;  // empty: guards nothing yet
    std::unique_ptr<NodeWatch> watch_;
};

void answer_questions(NodeAgent& agent) {
    AgentInput input;
    send_line(answer_prefix, {{"ready", true}});
    std::string line;
    for (auto heard = SteadyClock::now(); SteadyClock::now() < heard + kLongestQuiet;) {
        const AgentInput::Event event = input.next(kNewsPeriod, line);
        if (event == AgentInput::Event::End) return;
        if (agent.guards()) send_line(news_prefix, agent.news());
        if (event == AgentInput::Event::Silence) continue;
        if (const json answer = agent.answer(json::parse(line)); !answer.is_null())
            send_line(answer_prefix, answer);
        heard = SteadyClock::now();
    }
}

}  // namespace

int run_node_agent() {
    sigset_t kept;  // blocked, not ignored: programs that the agent starts do not inherit that
    sigemptyset(&kept);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&kept, number);
    sigprocmask(SIG_BLOCK, &kept, nullptr);
    NodeAgent agent;
    int code = 0;
    try {
        answer_questions(agent);
    } catch (const std::exception& error) {
        print_error(error.what());
        code = static_cast<int>(ExitCode::Failed);
    }
    agent.end();
    std::_Exit(code);
}

}  // namespace voltpile
