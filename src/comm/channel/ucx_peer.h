// Another rank: the connection to it, its channels, and the signs of life. One connection serves all channels
// between two ranks, so they fail together. All calls come with the lock held.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "comm/channel/endpoint.h"
#include "comm/channel/path.h"
#include "comm/channel/ucx_direction.h"

namespace voltpile {

class UcxPeer;

class UcxChannel : public ChannelEndpoint {
  public:
    UcxChannel(ChannelEngine& engine, UcxPeer& peer, int id);

    int peer() const override;

    bool progress();  // an error fails the peer
    UcxDirection& sends() { return sends_; }
    UcxDirection& receives() { return receives_; }
    // The peer has received this many transfers.
    void credited(std::int64_t received) { received_there_ = received; }

  protected:
    void accept_send(std::shared_ptr<TransferState> transfer) override;
    void accept_receive(std::shared_ptr<TransferState> transfer) override;
    const std::string& failure() const override;
    void give_up(const std::string& why) override;
    int unreceived_sends() const override { return static_cast<int>(sends_.accepted() - received_there_); }
    std::size_t unfinished_bytes() const override { return sends_.unfinished_bytes(); }

  private:
    UcxPeer& peer_;
    int id_;
    UcxDirection sends_, receives_;
    std::int64_t received_there_ = 0;
    std::int64_t told_ = 0;  // transfers received here, as far as the peer knows
};

class UcxPeer {
  public:
    // Connects. Throws CommError if no transport leads there.
    UcxPeer(UcxWorker& worker, const ChannelOptions& options, ChannelGpu* gpu, const ChannelMember& self,
            const ChannelMember& peer, const std::string& address);
    ~UcxPeer();
    UcxPeer(const UcxPeer&) = delete;
    UcxPeer& operator=(const UcxPeer&) = delete;

    UcxChannel& channel(ChannelEngine& engine, int id);
    std::string path() const;

    bool progress(ChannelClock::time_point now);
    bool busy() const;   // it has transfers, or a failure to complete
    bool polls() const;  // it waits for the GPU
    bool gpu_memory_with_ucx() const;
    ChannelClock::time_point next_look() const { return next_look_; }

    // Fails all transfers, current and future, and informs the peer unless the peer informed this rank.
    void fail(const std::string& why, bool tells = true);
    const std::string& failure() const { return failure_; }

    void end() { ending_ = true; }  // goodbye follows the last send
    bool ended() const { return !failure_.empty() || (goodbye_sent_ && outgoing_.empty() && goodbye_came_); }
    void close();
    bool closed() const { return connection_->closed() && (fast_ == nullptr || fast_->closed()); }
    void disconnect();  // before the worker ends

  private:
    friend class UcxChannel;
    enum class Control : std::uint32_t { Alive, Received, Goodbye, Failed };
    struct Notice {
        Control control;
        std::uint32_t channel;
        std::int64_t count;
        char why[112];  // of Failed
    };
    struct OutgoingNotice {
        Notice notice;
        UcxOperation operation;
    };

    std::string connection_error() const;  // empty: no error
    void tell(Control control, int channel = 0, std::int64_t count = 0, const std::string& why = "");
    bool take_notice();
    void await_notice();
    bool transfers_under_way() const;
    bool look_after_time(ChannelClock::time_point now);
    UcxDirection::Route route(int channel, bool sends);

    UcxWorker& worker_;
    const ChannelOptions& options_;
    ChannelGpu* gpu_;
    ChannelMember self_, peer_;
    GpuPath gpu_path_;
    std::unique_ptr<UcxConnection> connection_, fast_;  // fast_: nullptr if it would be no faster
    std::map<int, std::unique_ptr<UcxChannel>> channels_;
    std::string failure_;
    std::optional<ChannelClock::time_point> failed_at_;
    bool released_ = false;  // nothing of the failed transfers is left

    Notice incoming_{};
    std::unique_ptr<UcxOperation> incoming_operation_;
    std::deque<std::unique_ptr<OutgoingNotice>> outgoing_;
    ChannelClock::time_point now_{}, last_sign_{}, next_look_{}, next_alive_{};
    bool ending_ = false, closing_ = false, goodbye_sent_ = false, goodbye_came_ = false;
};

}  // namespace voltpile
