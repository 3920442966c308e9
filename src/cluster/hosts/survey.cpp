#include "cluster/hosts/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/host_name.h"
#include "cluster/hosts/folder.h"
#include "cluster/hosts/inventory.h"
#include "cluster/hosts/network.h"
#include "cluster/hosts/report_json.h"
#include "cluster/hosts/this_host.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Clock = HostSessions::Clock;
using Session = HostSessions::Session;

constexpr auto kSshStartLimit = 12s;  // ssh itself gives up connecting after 5 s
constexpr auto clock_limit = 3s;
constexpr auto report_limit = 15s;  // the CUDA driver may take seconds to initialize four GPUs
constexpr auto connect_limit = 8s;
constexpr int clock_questions = 5;

std::string random_word() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

bool has_address(const std::vector<HostInterface>& interfaces, const std::string& address) {
    return std::ranges::any_of(interfaces, [&](const HostInterface& interface) {
        return std::ranges::find(interface.addresses, address) != interface.addresses.end();
    });
}

// Returns an address by which `from` should reach `to`.
std::string address_between(const HostVisit& from, const HostVisit& to) {
    const auto& interfaces = to.report->interfaces;
    const std::string& seen = to.here ? from.report->reached_from : to.report->reached_at;
    if (has_address(interfaces, seen)) return seen;
    for (const HostInterface& interface : interfaces)
        if (!interface.is_virtual && !interface.addresses.empty()) return interface.addresses.front();
    return "";
}

class Survey {
  public:
    Survey(std::span<const HostEntry> entries, const SurveyOptions& options)
        : options_(options),
          word_(random_word()),
          sessions_(options.program, "hosts --report", options.progress) {
        const std::vector<bool> here = which_are_this_host(entries);
        HostVisit asker;
        asker.name = host_name();
        asker.here = true;
        asker.listed = false;
        bool is_listed = false;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            HostVisit visit;
            visit.name = entries[i].name;
            visit.slots = entries[i].slots;
            visit.here = here[i];
            is_listed = is_listed || visit.here;
            sessions_.add(std::move(visit), entries[i].user);
        }
        if (!is_listed) sessions_.add(std::move(asker), "");
    }

    HostSurvey run() {
        // If writing fails, this host's report says why.
        folder_.write(std::filesystem::path(options_.folder) / file_of_asker(), word_);
        sessions_.start(kSshStartLimit);
        ask_clocks();
        ask_reports();
        ask_connections();
        look_for_their_files();
        sessions_.end();
        HostSurvey survey{options_.program, options_.folder, {}};
        for (Session& session : sessions_.all()) survey.visits.push_back(std::move(session.visit));
        return survey;
    }

  private:
    std::string file_of(std::size_t index) const {
        return fmt::format(".voltpile-hosts-{}-{}", word_, index);
    }
    std::string file_of_asker() const { return fmt::format(".voltpile-hosts-{}", word_); }
    std::string greeting_of(std::size_t index) const { return fmt::format("voltpile {} {}\n", word_, index); }

    void ask_clocks() {
        for (int i = 0; i < clock_questions; ++i) {
            sessions_.ask("comparing clocks", clock_limit, [](std::size_t) { return R"({"do": "clock"})"; });
            const double wall =
                std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
            const auto steady = Clock::now();
            for (Session& session : sessions_.all()) {
                if (!session.answer) continue;
                const double half =
                    std::chrono::duration<double>(session.answered - session.asked).count() / 2;
                if (i > 0 && half >= session.visit.clock_uncertainty_s) continue;
                // Local time halfway between question and answer.
                const auto middle = session.asked + (session.answered - session.asked) / 2;
                const double here = wall - std::chrono::duration<double>(steady - middle).count();
                session.visit.clock_uncertainty_s = half;
                session.visit.clock_offset_s = json::parse(*session.answer).value("time", here) - here;
            }
        }
    }

    void ask_reports() {
        std::set<std::string> names;
        for (const Session& session : sessions_.all()) names.insert(session.visit.name);
        sessions_.ask("looking at the hosts", report_limit, [&](std::size_t i) {
            const json question{
                {"do", "report"},    {"names", names}, {"folder", options_.folder}, {"seen", file_of_asker()},
                {"own", file_of(i)}, {"text", word_},  {"greeting", greeting_of(i)}};
            return question.dump();
        });
        for (Session& session : sessions_.all())
            if (session.answer) session.visit.report = parse_host_report(json::parse(*session.answer));
    }

    json targets_of(std::size_t from) {
        const auto& all = sessions_.all();
        json targets = json::array();
        for (std::size_t to = 0; to < all.size(); ++to) {
            if (to == from || !all[to].visit.report || !all[from].visit.report) continue;
            const std::string address = address_between(all[from].visit, all[to].visit);
            if (address.empty()) continue;
            targets.push_back({{"host", all[to].visit.name},
                               {"address", address},
                               {"port", all[to].visit.report->port},
                               {"greeting", greeting_of(to)}});
        }
        return targets;
    }

    void ask_connections() {
        sessions_.ask("connecting each to each", connect_limit, [&](std::size_t from) {
            return json{{"do", "connect"}, {"targets", targets_of(from)}}.dump();
        });
        for (Session& session : sessions_.all()) {
            if (!session.answer) continue;
            for (const json& each : json::parse(*session.answer).value("attempts", json::array()))
                session.visit.connections.push_back(
                    {each.value("host", ""), each.value("address", ""), each.value("error", "")});
        }
    }

    void look_for_their_files() {
        const std::filesystem::path folder = options_.folder;
        const auto until = Clock::now() + 1s;  // for all files together
        for (std::size_t i = 0; i < sessions_.all().size(); ++i) {
            HostVisit& visit = sessions_.all()[i].visit;
            if (!visit.report || !visit.report->folder.writable) continue;
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
            visit.folder_seen_here = appears(folder / file_of(i), word_, std::max(left, 0ms));
        }
    }

    const SurveyOptions& options_;
    std::string word_;  // random; makes file names and greetings unique
    FolderProbe folder_;
    HostSessions sessions_;
};

}  // namespace

HostSurvey survey_hosts(std::span<const HostEntry> entries, const SurveyOptions& options) {
    return Survey(entries, options).run();
}

}  // namespace voltpile
