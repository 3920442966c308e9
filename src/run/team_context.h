// A rank's place in its team, and what connects it with the others: collectives with its tensor-parallel
// group, channels to the other pipeline stages.
#pragma once

#include <memory>

#include "comm/channel/group.h"
#include "comm/collective/stream_communicator.h"
#include "plan/plan.h"

namespace voltpile {

struct TeamOptions {
    StreamOptions collectives;
    ChannelOptions channels;  // gpu is set from the plan
};

class TeamContext {
  public:
    // Collective: every rank of `world` calls, from its main thread, and destroys. The plan must be the same
    // on all. Throws CommError on all ranks of a team if they cannot be connected.
    TeamContext(const Communicator& world, const Plan& plan, const TeamOptions& options = {});

    const TeamPlace& place() const { return place_; }
    bool idle() const { return place_.replica < 0; }  // in no team: nothing of the following is to be had
    int replica() const { return place_.replica; }
    int stages() const { return stages_; }
    bool first_stage() const { return place_.stage == 0; }
    bool last_stage() const { return place_.stage == stages_ - 1; }

    // Of this rank's stage; its ranks are the tensor ranks.
    StreamCommunicator& tensor() const { return *tensor_; }

    // To the same tensor rank of another stage, also from the last one back to the first; to the own stage it
    // leads back to this rank. Both ends name the channel by the same id.
    Channel& to_stage(int stage, int id = 0) const;
    Channel& previous(int id = 0) const { return to_stage(place_.stage - 1, id); }  // not of the first stage
    Channel& next(int id = 0) const { return to_stage(place_.stage + 1, id); }      // not of the last stage

    // For host data: all ranks of the team, in the order of the world.
    const Communicator& team() const { return team_; }
    const ChannelGroup& channels() const { return *channels_; }

    // Gives the communicators of the team to the thread that calls next (comm/mpi/communicator.h).
    void hand_over() const { team_.hand_over(); }

    // Hook of the watchdog: throws CommError if the tensor-parallel group has failed.
    void check() const;
    // Calls off what is under way, here at once; the others of the team find out.
    void abort(const std::string& why) noexcept;

  private:
    TeamPlace place_;
    int stages_ = 1;
    std::vector<int> peers_;  // of the same tensor rank: rank in team_, by stage
    Communicator team_;
    Communicator group_;
    std::unique_ptr<ChannelGroup> channels_;
    std::unique_ptr<StreamCommunicator> tensor_;
};

}  // namespace voltpile
