// The channels of a rank, over UCX: what they share (network, memory registrations, the thread that keeps
// transfers moving). Without UCX in the build only a rank's channels to itself can be had.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel/channel.h"
#include "comm/channel/gpu.h"

namespace voltpile {

class Communicator;

// Everybody's text, by rank. Collective.
using TextGather = std::function<std::vector<std::string>(const std::string&)>;

class ChannelGroup {
  public:
    // Collective. Throws CommError on every rank if one cannot join, naming it.
    ChannelGroup(const Communicator& communicator, const ChannelOptions& options);

    // The same where there is no MPI: ranks are known by the order in which `gather` returns their texts.
    // gpu: stands in for the CUDA device of options.gpu (tests); nullptr: that device.
    ChannelGroup(int rank, const TextGather& gather, const ChannelOptions& options,
                 std::unique_ptr<ChannelGpu> gpu = nullptr);

    // Waits for unfinished sends and for the peers to end their groups as well, together at most 5 s, so that
    // nothing sent is lost; not after abort() and not for lost peers. Unfinished transfers fail. Never
    // throws.
    ~ChannelGroup();
    ChannelGroup(const ChannelGroup&) = delete;
    ChannelGroup& operator=(const ChannelGroup&) = delete;

    // The channel `id` (0 .. 4095) to a rank, which may be this one. Both ends name it by the same id. Not
    // collective: what arrives before the other end asks for the channel waits there. Valid as long as the
    // group. Throws CommError if no network leads there.
    Channel& channel(int peer, int id = 0);

    // One line for each rank there is a channel to: the way to it, for GPU buffers as well, and why not a
    // better one.
    std::vector<std::string> paths() const;

    // Fails everything under way and to come, here at once and soon on the peers. Never throws nor waits.
    void abort(const std::string& why) noexcept;

  private:
    class Members;
    std::unique_ptr<Members> members_;
};

}  // namespace voltpile
