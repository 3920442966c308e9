#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/standard_streams.h"
#include "cli/command.h"
#include "cluster/hosts/agent.h"
#include "cluster/hosts/findings.h"
#include "cluster/hosts/host_file.h"
#include "cluster/hosts/link_probe.h"
#include "cluster/hosts/links.h"
#include "cluster/hosts/report_json.h"
#include "cluster/hosts/report_text.h"
#include "cluster/hosts/survey.h"
#include "comm/mpi/transport.h"
#include "run/stop_signals.h"

namespace voltpile::cli {
namespace {

struct HostsArguments {
    std::string file;
    std::string list;
    std::string folder;
    std::string transport = "auto";
    std::string network;
    bool json = false;
    bool report = false;       // internal: report on this host to another one
    double probe_seconds = 0;  // internal: measure the links under mpirun
};

// A line of progress on stderr that overwrites itself; shown on a terminal only.
class StatusLine {
  public:
    StatusLine() : shown_(isatty(STDERR_FILENO) == 1) {}
    ~StatusLine() { clear(); }
    void show(const std::string& text) {
        if (shown_) print_stderr("\r\033[K" + text);
    }
    void clear() {
        if (shown_) print_stderr("\r\033[K");
    }

  private:
    bool shown_;
};

std::vector<HostEntry> read_hosts(const HostsArguments& args) {
    if (args.file.empty() == args.list.empty())
        throw JobError(
            "no hosts given: voltpile hosts HOSTS (a host file as for mpirun --hostfile), or --host "
            "node1,node2");
    return args.file.empty() ? parse_host_list(args.list) : load_host_file(args.file);
}

std::vector<std::string> probe_flags(const HostsArguments& args) {
    std::vector<std::string> flags{"--transport", args.transport};
    if (!args.network.empty()) flags.insert(flags.end(), {"--network", args.network});
    return flags;
}

ExitCode check_hosts(const HostsArguments& args) {
    const std::vector<HostEntry> hosts = read_hosts(args);
    StopSignals signals;
    StatusLine status;
    const ProgressListener progress = [&](const std::string& text) {
        if (signals.received() > 0) throw Error(ExitCode::Stopped, "stopped");
        status.show(text);
    };
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const std::string folder = args.folder.empty()
                                   ? std::filesystem::current_path()
                                   : std::filesystem::absolute(args.folder).lexically_normal();

    const HostSurvey survey = survey_hosts(hosts, {program, folder, progress});
    std::vector<Finding> findings = judge_hosts(survey);
    std::optional<LinkSurvey> links;
    const bool measure = !any_must_fix(findings) && hosts.size() > 1;
    if (measure) {
        links = measure_hosts(hosts, {program, probe_flags(args), progress});
        std::vector<Finding> more = judge_links(*links, survey);
        findings.insert(findings.end(), more.begin(), more.end());
        std::ranges::stable_partition(findings, [](const Finding& finding) { return finding.must_fix; });
    }
    status.clear();

    const bool well = !any_must_fix(findings);
    if (args.json) {
        fmt::print("{}\n", survey_json(survey, links, findings)
                               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
        const bool color = isatty(STDOUT_FILENO) == 1 && !std::getenv("NO_COLOR");
        fmt::print("{}\n", host_table(survey, findings, color));
        if (links && links->complete()) fmt::print("{}\n", link_text(*links, survey));
        if (const std::string text = finding_text(findings, color); !text.empty()) fmt::print("{}\n", text);
        if (!measure && !well)
            fmt::print("The links have not been measured: fix the problems above first.\n");
        if (well) fmt::print("All is well: {} host{}.\n", hosts.size(), hosts.size() == 1 ? "" : "s");
    }
    return well ? ExitCode::Done : ExitCode::CannotRun;
}

ExitCode probe(const HostsArguments& args, const Invocation& invocation) {
    const Transport transport = args.transport == "tcp"   ? Transport::Tcp
                                : args.transport == "ucx" ? Transport::Ucx
                                                          : Transport::Auto;
    apply(transport_settings({transport, args.network}, network_interfaces(), active_rdma_ports()));
    return with_mpi(invocation, [&](const MpiSession& mpi) {
        run_link_probe(mpi, args.probe_seconds);
        return ExitCode::Done;
    });
}

}  // namespace

void add_hosts(CLI::App& cli, Action& action) {
    CLI::App* hosts = cli.add_subcommand("hosts", "test the nodes of a cluster and say what to fix");
    auto args = std::make_shared<HostsArguments>();
    hosts
        ->add_option("HOSTS", args->file,
                     "host file, as for mpirun --hostfile: a name and slots=N on each line")
        ->check(some_name());
    hosts->add_option("--host", args->list, "hosts instead of a file, such as node1:4,node2:4")
        ->type_name("LIST");
    hosts
        ->add_option("--folder", args->folder,
                     "folder for results, tested on every host [the current folder]")
        ->type_name("FOLDER")
        ->check(some_name());
    hosts->add_option("--transport", args->transport, "how MPI connects the hosts: auto, tcp or ucx")
        ->check(CLI::IsMember({"auto", "tcp", "ucx"}))
        ->capture_default_str();
    hosts
        ->add_option("--network", args->network,
                     "network interface or RDMA device to use, such as eth0 or mlx5_0")
        ->type_name("DEVICE");
    hosts->add_flag("--json", args->json, "print the report as JSON");
    hosts->add_flag("--report", args->report)->group("");
    hosts->add_option("--probe", args->probe_seconds)->group("");
    hosts->footer(
        "Visits all hosts by ssh: tests names, connections, clocks and the folder, compares programs and\n"
        "libraries, then measures the links between all pairs. Exit code 0: all is well; 3: something must "
        "be\n"
        "fixed; 2: the host file or the arguments are wrong.\n"
        "example: voltpile hosts HOSTS --folder /shared/results");
    hosts->callback([args, &action] {
        if (args->report)
            action = [](const Invocation&) { return static_cast<ExitCode>(run_host_agent()); };
        else if (args->probe_seconds > 0)
            action = [args](const Invocation& invocation) { return probe(*args, invocation); };
        else
            action = on_first_rank([args](const Invocation&) { return check_hosts(*args); });
    });
}

}  // namespace voltpile::cli
