// A rank's place in its team and its connections: collectives with its tensor-parallel group, channels to the
// other pipeline stages.
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
    // Collective: every rank of `world` constructs and destroys, from its main thread. The plan must be the
    // same on all. Throws CommError on all ranks of a team if they cannot be connected.
    TeamContext(const Communicator& world, const Plan& plan, const TeamOptions& options = {});

    const TeamPlace& place() const { return place_; }
    bool idle() const {
        return place_.replica < 0;
    }  // in no team: idle ranks must not call the methods below
    int replica() const { return place_.replica; }
    int stages() const { return stages_; }
    bool first_stage() const { return place_.stage == 0; }
    bool last_stage() const { return place_.stage == stages_ - 1; }

    // The tensor-parallel group of this rank's stage.
    StreamCommunicator& tensor() const { return *tensor_; }

    // Returns the channel to the same tensor rank of another stage, also from the last stage back to the
    // first. The channel to the own stage leads back to this rank. Both ends name a channel by the same id.
    Channel& to_stage(int stage, int id = 0) const;
    Channel& previous(int id = 0) const { return to_stage(place_.stage - 1, id); }  // not of the first stage
    Channel& next(int id = 0) const { return to_stage(place_.stage + 1, id); }      // not of the last stage

    // All ranks of the team, in the order of the world. For host data.
    const Communicator& team() const { return team_; }
    const ChannelGroup& channels() const { return *channels_; }

    // Gives the communicators of the team to the thread that calls next (comm/mpi/communicator.h).
    void hand_over() const { team_.hand_over(); }

    // Throws CommError if the tensor-parallel group has failed. The watchdog calls it.
    void check() const;
    // Cancels what is in flight: here at once, and the other ranks of the team find out.
    void abort(const std::string& why) noexcept;

  private:
    TeamPlace place_;
    int stages_ = 1;
    std::vector<int> peers_;  // rank in team_ of the same tensor rank, by stage
    Communicator team_;
    Communicator group_;
    std::unique_ptr<ChannelGroup> channels_;
    std::unique_ptr<StreamCommunicator> tensor_;
};

}  // namespace voltpile
