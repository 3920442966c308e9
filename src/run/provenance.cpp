#include "run/provenance.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <ctime>
#include <map>

#include "base/build_info.h"
#include "results/parts/lives_journal.h"

namespace voltpile {
namespace {

std::string user_name() {
    const passwd* user = getpwuid(getuid());
    if (!user) return fmt::format("uid {}", getuid());
    const std::string full(user->pw_gecos ? user->pw_gecos : "");
    const std::string real = full.substr(0, full.find(','));
    return real.empty() || real == user->pw_name ? user->pw_name
                                                 : fmt::format("{} ({})", real, user->pw_name);
}

}  // namespace

std::string machine_text(const Plan& plan) {
    std::vector<std::string> names;
    for (const Host& host : plan.topology.hosts) names.push_back(host.name);
    std::map<std::string, std::size_t> processors;
    for (const RankPlan& rank : plan.ranks) {
        const Host& host = plan.host_of(rank);
        if (rank.gpu >= 0)
            ++processors[host.gpus[static_cast<std::size_t>(rank.gpu)].name];
        else
            processors[fmt::format("core of {}", host.cpu_name)] += rank.cores.size();
    }
    std::vector<std::string> counted;
    for (const auto& [name, count] : processors) counted.push_back(fmt::format("{}x {}", count, name));
    return fmt::format("{} host{} ({}): {}", names.size(), names.size() == 1 ? "" : "s",
                       fmt::join(names, ", "), fmt::join(counted, ", "));
}

Provenance make_provenance(const Plan& plan, const std::string& command_line) {
    const BuildInfo build = build_info();
    Provenance provenance;
    provenance.software = "voltpile";
    provenance.software_version = build.version;
    provenance.git_revision = build.git_revision;
    provenance.date =
        fmt::format("{:%Y-%m-%d %H:%M:%S %z}", fmt::localtime(std::time(nullptr)));  // openPMD's format
    provenance.machine = machine_text(plan);
    provenance.author = user_name();
    provenance.command_line = command_line;
    const RunIdentity run = this_run();
    provenance.batch_job = run.batch_job;
    provenance.restart_count = run.restart_count;
    return provenance;
}

}  // namespace voltpile
