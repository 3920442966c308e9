// The channels of a rank over UCX, and what they share: network, memory registrations, the thread that keeps
// transfers moving. Without UCX in the build a rank only has channels to itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel/channel.h"
#include "comm/channel/gpu.h"

namespace voltpile {

class Communicator;

// Returns everybody's text, by rank. Collective: every rank calls.
using TextGather = std::function<std::vector<std::string>(const std::string&)>;

class ChannelGroup {
  public:
    // Collective: every rank calls. Throws CommError on every rank if one cannot join, naming it.
    ChannelGroup(const Communicator& communicator, const ChannelOptions& options);

    // The same without MPI: ranks are numbered in the order in which `gather` returns their texts. gpu:
    // replaces the CUDA device of options.gpu (tests); nullptr: that device.
    ChannelGroup(int rank, const TextGather& gather, const ChannelOptions& options,
                 std::unique_ptr<ChannelGpu> gpu = nullptr);

    // Waits for unfinished sends and for the peers to end their groups, at most 5 s in total, so that nothing
    // sent is lost; not after abort() and not for lost peers. Unfinished transfers fail. Never throws.
    ~ChannelGroup();
    ChannelGroup(const ChannelGroup&) = delete;
    ChannelGroup& operator=(const ChannelGroup&) = delete;

    // Returns the channel `id` (0 .. 4095) to a rank, which may be this one. Both ends name it by the same
    // id. Not collective: what arrives before the other end asks for the channel waits there. Valid as long
    // as the group. Throws CommError if no network leads there.
    Channel& channel(int peer, int id = 0);

    // One line per rank with a channel: the path to it, also for GPU buffers, and why it is not a better one.
    std::vector<std::string> paths() const;

    // Fails all transfers, current and future, here at once and soon on the peers. Never throws or waits.
    void abort(const std::string& why) noexcept;

  private:
    class Members;
    std::unique_ptr<Members> members_;
};

}  // namespace voltpile
