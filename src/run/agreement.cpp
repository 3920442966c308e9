#include "run/agreement.h"

#include <spdlog/spdlog.h>

#include "run/final_failure.h"

namespace voltpile {

void throw_agreed(ExitCode exit_code, const std::string& message) {
    throw AgreedError(exit_code, message);
}

ExitCode exit_code_of(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    return known != nullptr ? known->exit_code() : ExitCode::Failed;
}

void end_all_ranks(const MpiSession& session, const std::exception& error) {
    if (dynamic_cast<const PrintedError*>(&error) == nullptr) spdlog::error("{}", error.what());
    session.abort(static_cast<int>(process_exit_code(exit_code_of(error))));
}

std::string decide_on_root(const Communicator& world, const std::function<std::string()>& decide) {
    std::string bytes;
    if (world.rank() == 0) {
        try {
            bytes = static_cast<char>(ExitCode::Done) + decide();
        } catch (const std::exception& error) {
            bytes = static_cast<char>(exit_code_of(error)) + std::string(error.what());
        }
    }
    bytes = world.broadcast(bytes, 0);
    const auto code = static_cast<ExitCode>(bytes.front());
    if (code != ExitCode::Done) throw_agreed(code, bytes.substr(1));
    return bytes.substr(1);
}

std::vector<std::string> all_agree(const Communicator& world, const std::function<std::string()>& body) {
    std::string mine;
    try {
        mine = static_cast<char>(ExitCode::Done) + body();
    } catch (const std::exception& error) {
        mine = static_cast<char>(exit_code_of(error)) + std::string(error.what());
    }
    std::vector<std::string> all = world.all_gather(mine);
    for (std::string& each : all) {
        const auto code = static_cast<ExitCode>(each.front());
        each.erase(0, 1);
        if (code != ExitCode::Done) throw_agreed(code, each);
    }
    return all;
}

}  // namespace voltpile
