// What all channels share: it checks arguments, makes transfers, and waits for a full channel. Derived
// classes complete the transfers.
#pragma once

#include "comm/channel/channel.h"
#include "comm/channel/engine.h"

namespace voltpile {

class ChannelEndpoint : public Channel {
  public:
    ChannelEndpoint(ChannelEngine& engine, ChannelGpu* gpu, const ChannelOptions& options)
        : engine_(engine), gpu_(gpu), options_(options) {}

    Transfer send(ConstMemory memory, const Stream* after) final;
    std::optional<Transfer> try_send(ConstMemory memory, const Stream* after) final;
    Transfer receive(Memory memory, const Stream* after,
                     std::optional<std::chrono::milliseconds> limit) final;
    int in_flight() const final;

  protected:
    const ChannelOptions& options() const { return options_; }

    // Call these with the lock held.
    virtual void accept_send(std::shared_ptr<TransferState> transfer) = 0;
    virtual void accept_receive(std::shared_ptr<TransferState> transfer) = 0;
    virtual const std::string& failure() const = 0;    // empty: no failure
    virtual void give_up(const std::string& why) = 0;  // fails the channel
    virtual int unreceived_sends() const = 0;
    virtual std::size_t unfinished_bytes() const = 0;  // of sends

  private:
    std::shared_ptr<TransferState> make(std::size_t bytes, MemoryKind kind, const Stream* after) const;
    bool has_room(std::size_t bytes) const;
    void check() const;

    ChannelEngine& engine_;
    ChannelGpu* gpu_;
    const ChannelOptions& options_;
};

}  // namespace voltpile
