#include "run/agreement.h"

namespace voltpile {

std::string decide_on_root(const Communicator& world, const std::function<std::string()>& decide) {
    std::string bytes;
    if (world.rank() == 0) {
        try {
            bytes = static_cast<char>(ExitCode::Done) + decide();
        } catch (const Error& error) {
            bytes = static_cast<char>(error.exit_code()) + std::string(error.what());
        } catch (const std::exception& error) {
            bytes = static_cast<char>(ExitCode::Failed) + std::string(error.what());
        }
    }
    bytes = world.broadcast(bytes, 0);
    const auto code = static_cast<ExitCode>(bytes.front());
    if (code != ExitCode::Done) throw AgreedError(code, bytes.substr(1));
    return bytes.substr(1);
}

std::vector<std::string> all_agree(const Communicator& world, const std::function<std::string()>& body) {
    std::string mine;
    try {
        mine = static_cast<char>(ExitCode::Done) + body();
    } catch (const Error& error) {
        mine = static_cast<char>(error.exit_code()) + std::string(error.what());
    } catch (const std::exception& error) {
        mine = static_cast<char>(ExitCode::Failed) + std::string(error.what());
    }
    std::vector<std::string> all = world.all_gather(mine);
    for (std::string& each : all) {
        const auto code = static_cast<ExitCode>(each.front());
        each.erase(0, 1);
        if (code != ExitCode::Done) throw AgreedError(code, each);
    }
    return all;
}

}  // namespace voltpile
