#include "llm/replica/same_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "run/agreement.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t kMostNamed = 4;  // ranks named for each model

// The outcome of one rank's work.
struct Answer {
    std::string host;
    ExitCode code = ExitCode::Done;
    std::string text;
};

// Calls `work` on each rank and returns every rank's answer. Collective.
std::vector<Answer> answers(const Communicator& world, const std::function<std::string()>& work) {
    Answer mine{host_name(), ExitCode::Done, {}};
    try {
        mine.text = work();
    } catch (const std::exception& error) {
        mine.code = exit_code_of(error);
        mine.text = error.what();
    }
    world.wait_asleep();
    const nlohmann::json line{mine.host, static_cast<int>(mine.code), mine.text};
    std::vector<Answer> all;
    for (const std::string& bytes :
         world.all_gather(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
        const auto answer = nlohmann::json::parse(bytes);
        all.push_back({answer[0], static_cast<ExitCode>(answer[1].get<int>()), answer[2]});
    }
    return all;
}

}  // namespace

void all_do(const Communicator& world, const std::function<void()>& work) {
    const std::vector<Answer> all = answers(world, [&] {
        work();
        return std::string();
    });
    const auto failed = [](const Answer& answer) { return answer.code != ExitCode::Done; };
    const auto first = std::ranges::find_if(all, failed);
    if (first == all.end()) return;
    const bool alike = std::ranges::all_of(
        all, [&](const Answer& each) { return failed(each) && each.text == first->text; });
    throw_agreed(first->code,
                 alike ? first->text
                       : fmt::format("rank {} on {}: {}", first - all.begin(), first->host, first->text));
}

void check_same_model(const Communicator& world, const ModelSource& model) {
    std::map<std::string, std::vector<std::string>> ranks_of;  // by fingerprint
    const std::vector<Answer> all = answers(world, [&] { return model.fingerprint_with_adapters(); });
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].code != ExitCode::Done)
            throw_agreed(all[rank].code,
                         fmt::format("rank {} on {}: {}", rank, all[rank].host, all[rank].text));
        ranks_of[all[rank].text].push_back(fmt::format("rank {} on {}", rank, all[rank].host));
    }
    if (ranks_of.size() == 1) return;
    std::string text = "the ranks do not all see the same model:\n";
    for (auto& [fingerprint, ranks] : ranks_of) {
        const std::size_t count = ranks.size();
        ranks.resize(std::min(count, kMostNamed));
        text += fmt::format("  fingerprint {}: {}{}\n", fingerprint, fmt::join(ranks, ", "),
                            count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "");
    }
    throw_agreed(ExitCode::CannotRun, text + "copy one model to all nodes, or keep it in a shared folder");
}

}  // namespace voltpile::llm
