#include "cluster/hosts/agent.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/build_info.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/standard_streams.h"
#include "cluster/hosts/agent_lines.h"
#include "cluster/hosts/folder.h"
#include "cluster/hosts/inventory.h"
#include "cluster/hosts/network.h"
#include "cluster/hosts/report_json.h"
#include "run/same_build.h"

namespace voltpile {
namespace {

using nlohmann::json;

constexpr std::chrono::minutes kLongestSilence{2};
constexpr int resolving_seconds = 5, connecting_seconds = 3;

// Reads SSH_CONNECTION: client address, client port, server address, server port.
void describe_connection(HostReport& report) {
    const char* connection = std::getenv("SSH_CONNECTION");
    std::istringstream words(connection ? connection : "");
    std::string port;
    words >> report.reached_from >> port >> report.reached_at;
}

class Agent {
  public:
    json answer(const json& question) {
        const std::string what = question.value("do", "");
        if (what == "clock") return clock();
        if (what == "report") return report(question);
        if (what == "connect") return connect(question);
        throw CommError("unknown question: " + what);
    }

  private:
    static json clock() {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return {{"time", std::chrono::duration<double>(now).count()}};
    }

    json report(const json& question) {
        HostReport report;
        const BuildIdentity build = this_build();
        report.hostname = build.host;
        report.version = build.version;
        report.git_revision = build.git_revision;
        report.checksum = build.checksum;
        report.cuda = build_info().cuda;
        report.libraries = libraries_in_use();
        describe_hardware(report);
        describe_connection(report);
        report.names = resolve_names(question.at("names"), resolving_seconds);
        report.folder = look_at_folder(question.at("folder").get<std::string>(), question.at("seen"),
                                       question.at("own"), question.at("text"), folder_);
        listener_.emplace(question.at("greeting").get<std::string>());
        report.port = listener_->port();
        return to_json(report);
    }

    static json connect(const json& question) {
        std::vector<PortTarget> targets;
        for (const json& each : question.at("targets"))
            targets.push_back({each.at("host"), each.at("address"), each.at("port"), each.at("greeting")});
        json attempts = json::array();
        for (const PortAttempt& attempt : connect_to(targets, connecting_seconds))
            attempts.push_back(
                {{"host", attempt.host}, {"address", attempt.address}, {"error", attempt.error}});
        return {{"attempts", attempts}};
    }

    FolderProbe folder_;
    std::optional<PortListener> listener_;
};

}  // namespace

int run_host_agent() {
    int code = 0;
    {
        Agent agent;
        AgentInput questions;
        send_line(answer_prefix, {{"ready", true}});
        for (std::string line; questions.next(kLongestSilence, line) == AgentInput::Event::Line;) {
            try {
                send_line(answer_prefix, agent.answer(json::parse(line)));
            } catch (const std::exception& error) {
                print_error(error.what());
                code = static_cast<int>(ExitCode::Failed);
                break;
            }
        }
    }
    std::fflush(nullptr);
    std::_Exit(code);  // skips threads that still wait for the name service
}

}  // namespace voltpile
