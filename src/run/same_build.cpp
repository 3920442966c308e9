#include "run/same_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/build_info.h"
#include "base/error.h"
#include "base/host_name.h"
#include "run/agreement.h"

namespace voltpile {

std::string file_checksum(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError("read", path, errno);
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
    XXH3_64bits_reset(state.get());
    std::vector<char> block(1 << 20);
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
        XXH3_64bits_update(state.get(), block.data(), static_cast<std::size_t>(file.gcount()));
    if (file.bad()) throw FileError("read", path, errno);
    return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

BuildIdentity this_build() {
    const BuildInfo info = build_info();
    return {host_name(), info.version, info.git_revision, file_checksum("/proc/self/exe")};
}

std::string mismatch_text(const std::vector<BuildIdentity>& builds) {
    std::map<std::string, std::set<std::string>> hosts_of;  // by build
    for (const BuildIdentity& build : builds)
        hosts_of[fmt::format("voltpile {} (git {}, checksum {})", build.version, build.git_revision,
                             build.checksum)]
            .insert(build.host);
    if (hosts_of.size() < 2) return "";
    std::string text = "the nodes do not all have the same program:\n";
    for (const auto& [build, hosts] : hosts_of)
        text += fmt::format("  {}: {}\n", fmt::join(hosts, ", "), build);
    return text + "copy one build to all of them, or keep it in a shared folder";
}

void check_same_build(const Communicator& world) {
    // A rank that fails here alone must not leave the others waiting for it.
    BuildIdentity mine;
    std::string problem;
    try {
        mine = this_build();
    } catch (const Error& error) {
        problem = fmt::format("{}: {}", host_name(), error.what());
    }
    const nlohmann::json line = {mine.host, mine.version, mine.git_revision, mine.checksum, problem};
    std::vector<BuildIdentity> builds;
    for (const std::string& bytes : world.all_gather(line.dump())) {
        const auto rank = nlohmann::json::parse(bytes);
        if (rank.size() < 5) throw CommError("a rank sent an incomplete description of its program");
        if (!rank[4].get<std::string>().empty())
            throw_agreed(ExitCode::CannotRun, rank[4].get<std::string>());
        builds.push_back({rank[0], rank[1], rank[2], rank[3]});
    }
    const std::string text = mismatch_text(builds);
    if (!text.empty()) throw_agreed(ExitCode::CannotRun, text);
}

}  // namespace voltpile
