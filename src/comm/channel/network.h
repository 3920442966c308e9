// The network under a group's channels. All calls but the first two come with the engine's lock held.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/channel/channel.h"
#include "comm/channel/engine.h"
#include "comm/channel/path.h"

namespace voltpile {

class ChannelNetwork {
  public:
    virtual ~ChannelNetwork() = default;

    // Completes what the others must know of this rank. Returns what connections to it need.
    virtual std::string describe(ChannelMember& self) = 0;
    // Everybody's, by rank, this rank included.
    virtual void join(const ChannelMember& self, std::vector<ChannelMember> members,
                      std::vector<std::string> addresses) = 0;

    // Returns the channel to another rank. Throws CommError if no network leads there.
    virtual Channel& channel(ChannelEngine& engine, int peer, int id) = 0;
    virtual std::vector<std::string> paths() const = 0;

    virtual bool progress(ChannelClock::time_point now) = 0;
    virtual EngineWork::Outlook outlook(ChannelClock::time_point now) const = 0;
    virtual int wake_fd() const = 0;
    virtual bool arm() = 0;

    virtual void fail(const std::string& why) = 0;  // fails everything, with all peers
    // Says goodbye once all sends are done. ended(): so have the peers, or they are lost.
    virtual void end() = 0;
    virtual bool ended() const = 0;
    // Starts closing the connections; unfinished transfers fail. closed() when done.
    virtual void close() = 0;
    virtual bool closed() const = 0;
};

// Returns nullptr if UCX is not built in. options and gpu (may be nullptr) must outlive it.
std::unique_ptr<ChannelNetwork> make_ucx_network(const ChannelOptions& options, ChannelGpu* gpu);

}  // namespace voltpile
