// A rank's channel to itself: the n-th receive() takes the n-th send() by a copy.
#pragma once

#include <deque>

#include "comm/channel/endpoint.h"

namespace voltpile {

class LocalChannel : public ChannelEndpoint {
  public:
    LocalChannel(ChannelEngine& engine, ChannelGpu* gpu, const ChannelOptions& options, int rank);

    int peer() const override { return rank_; }

    // Call these with the lock held.
    bool progress(ChannelClock::time_point now);  // true: something moved
    bool busy() const { return !sends_.empty() || !receives_.empty(); }
    bool polls() const;  // true while it waits for a stream's work or a copy
    void give_up(const std::string& why) override;

  protected:
    void accept_send(std::shared_ptr<TransferState> transfer) override;
    void accept_receive(std::shared_ptr<TransferState> transfer) override;
    const std::string& failure() const override { return failure_; }
    int unreceived_sends() const override { return static_cast<int>(sends_.size()); }
    std::size_t unfinished_bytes() const override { return unfinished_bytes_; }

  private:
    bool move();
    bool advance();  // by one transfer, or one step of it
    void check_limit(std::deque<std::shared_ptr<TransferState>>& transfers, ChannelClock::time_point now,
                     const char* what_is_missing);

    ChannelGpu* gpu_;
    int rank_;
    std::string failure_;
    std::deque<std::shared_ptr<TransferState>> sends_, receives_;  // unfinished, in order
    std::unique_ptr<GpuMark> copy_;                                // of the first send to the first receive
    std::size_t unfinished_bytes_ = 0;
};

}  // namespace voltpile
