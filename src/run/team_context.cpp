#include "run/team_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace voltpile {
namespace {

const TeamPlace& place_of(const Communicator& world, const Plan& plan) {
    if (static_cast<std::size_t>(world.size()) != plan.teams.places.size())
        throw CommError(fmt::format("the plan is for {} ranks, but the job has {}", plan.teams.places.size(),
                                    world.size()));
    return plan.teams.places[static_cast<std::size_t>(world.rank())];
}

}  // namespace

TeamContext::TeamContext(const Communicator& world, const Plan& plan, const TeamOptions& options)
    : place_(place_of(world, plan)),
      stages_(plan.teams.pipeline),
      team_(world.split(idle() ? static_cast<int>(plan.teams.teams.size()) : place_.replica)),
      group_(team_.split(std::max(place_.stage, 0))) {
    if (idle()) return;
    // A split keeps the order of the world.
    const Team& mine = plan.teams.teams[static_cast<std::size_t>(place_.replica)];
    std::vector<int> members;
    for (const auto& stage : mine.stages) members.insert(members.end(), stage.begin(), stage.end());
    std::ranges::sort(members);
    for (const auto& stage : mine.stages) {
        const int peer = stage[static_cast<std::size_t>(place_.tensor_rank)];
        peers_.push_back(static_cast<int>(std::ranges::lower_bound(members, peer) - members.begin()));
    }
    const int device = plan.ranks[static_cast<std::size_t>(world.rank())].device;
    ChannelOptions channels = options.channels;
    channels.gpu = device;
    channels_ = std::make_unique<ChannelGroup>(team_, channels);
    tensor_ = make_stream_communicator(group_, device, options.collectives);
}

Channel& TeamContext::to_stage(int stage, int id) const {
    if (stage < 0 || stage >= static_cast<int>(peers_.size()))
        throw CommError(fmt::format("there is no pipeline stage {} in a team of {}", stage, peers_.size()));
    return channels_->channel(peers_[static_cast<std::size_t>(stage)], id);
}

void TeamContext::check() const {
    if (tensor_) tensor_->check();
}

void TeamContext::abort(const std::string& why) noexcept {
    if (tensor_) tensor_->abort();
    if (channels_) channels_->abort(why);
}

}  // namespace voltpile
