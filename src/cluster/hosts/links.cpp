#include "cluster/hosts/links.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_process.h"
#include "cluster/hosts/access.h"
#include "cluster/hosts/agent_lines.h"
#include "cluster/hosts/mpirun.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kMpirunStartLimit = 30s;  // mpirun has to start a daemon on every host
constexpr auto stall_limit = 10s;        // between two steps; the longest takes a second on a slow link
constexpr auto end_limit = 10s;

// Adopts and kills the processes that a killed mpirun leaves behind, such as its ssh to an unresponsive host.
class OrphanKeeper {
  public:
    OrphanKeeper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
    OrphanKeeper(const OrphanKeeper&) = delete;
    OrphanKeeper& operator=(const OrphanKeeper&) = delete;
    ~OrphanKeeper() {
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        std::ifstream children(fmt::format("/proc/self/task/{}/children", getpid()));
        for (pid_t child; children >> child;) {
            kill(child, SIGKILL);
            waitpid(child, nullptr, 0);
        }
    }
};

std::vector<std::string> mpirun_command(const std::string& host_file, std::size_t count,
                                        const LinkOptions& options) {
    std::vector<std::string> command{"mpirun",
                                     "--hostfile",
                                     host_file,
                                     "-np",
                                     std::to_string(count),
                                     "--map-by",
                                     "ppr:1:node",
                                     "--wdir",
                                     "/",  // exists on every host
                                     options.program,
                                     "hosts",
                                     "--probe",
                                     fmt::format("{:.3f}", seconds_per_pair(count))};
    command.insert(command.end(), options.probe_flags.begin(), options.probe_flags.end());
    return command;
}

void prepare(std::span<const HostEntry> hosts, LinkSurvey& survey) {
    for (const HostEntry& host : hosts) survey.hosts.push_back(host.name);
    survey.latency_us.assign(hosts.size(), std::vector<double>(hosts.size(), 0));
    survey.bytes_per_s = survey.latency_us;
}

// Returns the messages of mpirun and the ranks without frames and empty lines, shortened.
std::string told(const std::string& errors) {
    std::string text;
    for (std::size_t begin = 0; begin < errors.size();) {
        const auto end = std::min(errors.find('\n', begin), errors.size());
        const std::string line = errors.substr(begin, end - begin);
        if (line.find_first_not_of("-=* \t\r") != std::string::npos)
            text += (text.empty() ? "" : "\n") + line;
        begin = end + 1;
    }
    constexpr std::size_t enough = 1200;
    return text.size() <= enough ? text : text.substr(0, enough) + " ...";
}

std::string why_it_stopped(const LineProcess& mpirun, bool timed_out) {
    const std::string text = told(mpirun.errors);
    const std::string what = timed_out ? "mpirun stopped responding and was ended"
                                       : fmt::format("mpirun ended with exit code {}", mpirun.exit_code());
    return text.empty() ? what : fmt::format("{}:\n{}", what, text);
}

int rank_of(const json& value, const LinkSurvey& survey) {
    const int rank = value.get<int>();
    if (rank < 0 || rank >= static_cast<int>(survey.hosts.size()))
        throw CommError("the probe reported a rank that was not started");
    return rank;
}

}  // namespace

double seconds_per_pair(std::size_t hosts) {
    const double pairs = std::max<double>(1, static_cast<double>(hosts * (hosts - 1)) / 2);
    return std::clamp(10 / pairs, 0.012, 0.2);
}

bool take_in(const std::string& line, LinkSurvey& survey) {
    if (!line.starts_with(answer_prefix)) return false;
    const json said = json::parse(line.substr(answer_prefix.size()), nullptr, false);
    if (!said.is_object()) return false;
    if (said.contains("ring_us")) survey.ring_hop_us = said["ring_us"];
    if (said.contains("begin")) {
        survey.stuck = {rank_of(said["begin"][0], survey), rank_of(said["begin"][1], survey)};
        survey.small_messages_pass = false;
    }
    if (survey.stuck) {
        const auto a = static_cast<std::size_t>(survey.stuck->first),
                   b = static_cast<std::size_t>(survey.stuck->second);
        if (said.contains("latency_us")) {
            double& best = survey.latency_us[a][b];
            best = best > 0 ? std::min<double>(best, said["latency_us"]) : said["latency_us"].get<double>();
            survey.latency_us[b][a] = best;
            survey.small_messages_pass = true;
        }
        if (said.contains("bytes_per_s")) {
            survey.bytes_per_s[a][b] = std::max<double>(survey.bytes_per_s[a][b], said["bytes_per_s"][0]);
            survey.bytes_per_s[b][a] = std::max<double>(survey.bytes_per_s[b][a], said["bytes_per_s"][1]);
            survey.stuck.reset();
        }
    }
    if (!said.contains("ends")) return false;
    for (const json& end : said["ends"])
        survey.ends.push_back(
            {end.value("hostname", ""), end.value("transport", ""), end.value("device", "")});
    return true;
}

LinkSurvey measure_hosts(std::span<const HostEntry> hosts, const LinkOptions& options) {
    LinkSurvey survey;
    prepare(hosts, survey);
    std::vector<HostEntry> once(hosts.begin(), hosts.end());
    for (HostEntry& host : once) host.slots = 1;
    const MpirunHosts host_file(once);
    const OrphanKeeper keeper;
    LineProcess mpirun(mpirun_command(host_file.path(), hosts.size(), options),
                       mpirun_settings({.ranks_share_cores = true}));  // the host may run a job

    const std::size_t pairs = hosts.size() * (hosts.size() - 1) / 2;
    std::size_t done = 0;
    bool last = false;
    auto until = Clock::now() + kMpirunStartLimit;
    options.progress("starting mpirun");
    while (Clock::now() < until) {
        const std::array<LineProcess*, 1> one{&mpirun};
        LineProcess::pump(one, 200ms);
        for (; !mpirun.lines.empty(); mpirun.lines.pop_front()) {
            const bool was_stuck = survey.stuck.has_value();
            last = take_in(mpirun.lines.front(), survey) || last;
            if (was_stuck && !survey.stuck) ++done;
            until = Clock::now() + (last ? end_limit : stall_limit);
        }
        if (!mpirun.running()) break;
        options.progress(done < pairs ? fmt::format("measuring the links: {} of {} pairs", done, pairs)
                                      : "measuring slow links again");
    }
    const bool timed_out = mpirun.running();
    if (timed_out) mpirun.terminate(5s);
    if (!last || (!timed_out && mpirun.exit_code() != 0)) survey.failure = why_it_stopped(mpirun, timed_out);
    return survey;
}

}  // namespace voltpile
