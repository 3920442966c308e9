#if VOLTPILE_UCX

#include "comm/channel/ucx_peer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "base/format.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;

// How long UCX may take to return the buffers of failed transfers before these are marked failed.
constexpr auto grace = 20ms;
constexpr auto longest_look = 1s;
constexpr const char* ended_text = "the other end has ended its channels";

// 63..60 kind, 59..48 channel, 47..28 rank of the sender, 27..0 sequence number.
constexpr std::uint64_t data_kind = 1, notice_kind = 2;
std::uint64_t tag_of(std::uint64_t kind, int channel, int sender) {
    return kind << 60 | static_cast<std::uint64_t>(channel) << 48 | static_cast<std::uint64_t>(sender) << 28;
}

bool has_rdma(const std::vector<std::string>& transports) {
    return std::any_of(transports.begin(), transports.end(), [](const std::string& each) {
        return each.starts_with("rc_") || each.starts_with("dc_") || each.starts_with("ud_");
    });
}

std::string text_of(ChannelClock::duration time) {
    return duration_text(std::chrono::duration<double>(time).count());
}

}  // namespace

UcxPeer::UcxPeer(UcxWorker& worker, const ChannelOptions& options, ChannelGpu* gpu, const ChannelMember& self,
                 const ChannelMember& peer, const std::string& address)
    : worker_(worker),
      options_(options),
      gpu_(gpu),
      self_(self),
      peer_(peer),
      gpu_path_(gpu_path(self, peer)),
      connection_(std::make_unique<UcxConnection>(worker, address, UcxConnection::Kind::Watched)) {
    if (!has_rdma(connection_->transports()))
        fast_ = std::make_unique<UcxConnection>(worker, address, UcxConnection::Kind::Fast);
    await_notice();
}

UcxPeer::~UcxPeer() = default;

UcxChannel& UcxPeer::channel(ChannelEngine& engine, int id) {
    auto& channel = channels_[id];
    if (channel == nullptr) {
        channel = std::make_unique<UcxChannel>(engine, *this, id);
        if (!failure_.empty()) {
            channel->sends().fail(failure_);
            channel->receives().fail(failure_);
        }
    }
    return *channel;
}

UcxDirection::Route UcxPeer::route(int channel, bool sends) {
    return {worker_,
            connection_.get(),
            fast_.get(),
            tag_of(data_kind, channel, sends ? self_.rank : peer_.rank),
            gpu_,
            gpu_path_.staged,
            gpu_path_.staged,
            gpu_path_.rdma,
            options_.staging_bytes,
            std::max(options_.max_in_flight, 8)};
}

std::string UcxPeer::path() const {
    return fmt::format("rank {} ({}) <-> rank {} ({}): host memory by {}; {}", self_.rank, self_.host,
                       peer_.rank, peer_.host, fmt::join(connection_->transports(), ", "), gpu_path_.text);
}

bool UcxPeer::busy() const {
    return failure_.empty() ? transfers_under_way() : !released_;
}

bool UcxPeer::transfers_under_way() const {
    return std::any_of(channels_.begin(), channels_.end(), [](const auto& each) {
        return each.second->sends().busy() || each.second->receives().busy();
    });
}

bool UcxPeer::polls() const {
    return std::any_of(channels_.begin(), channels_.end(), [](const auto& each) {
        return each.second->sends().polls() || each.second->receives().polls();
    });
}

bool UcxPeer::gpu_memory_with_ucx() const {
    return std::any_of(channels_.begin(), channels_.end(), [](const auto& each) {
        return each.second->sends().gpu_memory_with_ucx() || each.second->receives().gpu_memory_with_ucx();
    });
}

bool UcxPeer::progress(ChannelClock::time_point now) {
    now_ = now;
    if (last_sign_ == ChannelClock::time_point{}) last_sign_ = now;
    bool moved = take_notice();
    while (!outgoing_.empty() && outgoing_.front()->operation.done) outgoing_.pop_front();
    for (const auto& [id, channel] : channels_) moved |= channel->progress();
    if (failure_.empty() && !connection_error().empty()) {
        fail(goodbye_came_ ? ended_text : "connection lost: " + connection_error(), false);
        moved = true;
    }
    if (!failure_.empty()) {
        if (!failed_at_) failed_at_ = now;
        if (!released_ && (!transfers_under_way() || now - *failed_at_ > grace)) {
            for (const auto& [id, channel] : channels_) {
                channel->sends().release();
                channel->receives().release();
            }
            released_ = moved = true;
        }
        next_look_ = now + (released_ ? ChannelClock::duration(longest_look) : ChannelClock::duration(1ms));
        return moved;
    }
    return look_after_time(now) || moved;
}

// Handles deadlines, signs of life and the goodbye. Returns true if something was failed or sent.
bool UcxPeer::look_after_time(ChannelClock::time_point now) {
    const auto sending = [](const auto& each) { return each.second->sends().busy(); };
    if (ending_ && !goodbye_sent_ && std::none_of(channels_.begin(), channels_.end(), sending)) {
        goodbye_sent_ = true;
        tell(Control::Goodbye);
        return true;
    }
    if (now < next_look_) return false;
    const auto interval = std::clamp<ChannelClock::duration>(options_.deadline / 20, 5ms, longest_look);
    next_look_ = now + interval;
    if (now >= next_alive_ && !goodbye_sent_) {
        next_alive_ = now + 2 * interval;
        // No second sign while one is unsent, else they pile up in front of a silent peer.
        if (outgoing_.empty()) tell(Control::Alive);
    }
    std::size_t bytes = 0;
    for (const auto& [id, channel] : channels_) {
        bytes += channel->sends().unfinished_bytes() + channel->receives().unfinished_bytes();
        for (UcxDirection* direction : {&channel->sends(), &channel->receives()}) {
            const TransferState* late = direction->overdue(now, interval);  // next time would be too late
            if (late == nullptr) continue;
            const char* what = direction == &channel->sends() ? "did not go through" : "did not come";
            fail(fmt::format("{} {} within {} (the last sign of life came {} ago)", voltpile::text_of(*late),
                             what, text_of(now - *late->next_in_order_since), text_of(now - last_sign_)));
            return true;
        }
    }
    // Everything that the other end sent arrived before its goodbye and has been received.
    if (goodbye_came_ && transfers_under_way() && !polls()) {
        fail(ended_text);
        return true;
    }
    // Signs of life may have to wait behind data.
    const std::chrono::duration<double> behind_data(static_cast<double>(bytes) / 20e6);
    if (!goodbye_came_ && now + interval - last_sign_ > options_.deadline + behind_data) {
        fail(fmt::format("no sign of life for {}", text_of(now - last_sign_)));
        return true;
    }
    return false;
}

void UcxPeer::fail(const std::string& why, bool tells) {
    if (!failure_.empty()) return;
    // Through shared memory it would not notice that the connection is closed.
    if (tells) tell(Control::Failed, 0, 0, why);
    failure_ = fmt::format("channel between {} and {}: {}", name_of(self_), name_of(peer_), why);
    for (const auto& [id, channel] : channels_) {
        channel->sends().fail(failure_);
        channel->receives().fail(failure_);
    }
    connection_->close(true);
    if (fast_ != nullptr) fast_->close(true);
}

void UcxPeer::disconnect() {
    connection_.reset();
    fast_.reset();
}

std::string UcxPeer::connection_error() const {
    return fast_ == nullptr || !connection_->error().empty() ? connection_->error() : fast_->error();
}

void UcxPeer::close() {
    closing_ = true;
    worker_.cancel(*incoming_operation_);
    connection_->close(!failure_.empty());
    if (fast_ != nullptr) fast_->close(!failure_.empty());
    fail("the channel group ends", false);
}

void UcxPeer::tell(Control control, int channel, std::int64_t count, const std::string& why) {
    if (closing_ || !failure_.empty()) return;
    auto& sent = outgoing_.emplace_back(std::make_unique<OutgoingNotice>());
    sent->notice = {control, static_cast<std::uint32_t>(channel), count, {}};
    why.copy(sent->notice.why, sizeof sent->notice.why - 1);
    worker_.send(*connection_, &sent->notice, sizeof sent->notice, tag_of(notice_kind, 0, self_.rank), false,
                 sent->operation);
    if (sent->operation.done) outgoing_.pop_back();
}

void UcxPeer::await_notice() {
    incoming_operation_ = std::make_unique<UcxOperation>();
    worker_.receive(&incoming_, sizeof incoming_, tag_of(notice_kind, 0, peer_.rank), false,
                    *incoming_operation_);
}

bool UcxPeer::take_notice() {
    if (!incoming_operation_->done || incoming_operation_->error != nullptr) return false;
    last_sign_ = now_;
    const Notice notice = incoming_;
    const auto channel = channels_.find(static_cast<int>(notice.channel));
    if (notice.control == Control::Goodbye) goodbye_came_ = true;
    if (notice.control == Control::Received && channel != channels_.end())
        channel->second->credited(notice.count);
    await_notice();
    if (notice.control == Control::Failed) fail(fmt::format("the other end aborted: {}", notice.why), false);
    return true;
}

UcxChannel::UcxChannel(ChannelEngine& engine, UcxPeer& peer, int id)
    : ChannelEndpoint(engine, peer.gpu_, peer.options_),
      peer_(peer),
      id_(id),
      sends_(peer.route(id, true), true),
      receives_(peer.route(id, false), false) {}

int UcxChannel::peer() const {
    return peer_.peer_.rank;
}

const std::string& UcxChannel::failure() const {
    return peer_.failure();
}

void UcxChannel::give_up(const std::string& why) {
    peer_.fail(why);
}

void UcxChannel::accept_send(std::shared_ptr<TransferState> transfer) {
    sends_.accept(std::move(transfer));
    progress();
}

void UcxChannel::accept_receive(std::shared_ptr<TransferState> transfer) {
    receives_.accept(std::move(transfer));
    progress();
}

bool UcxChannel::progress() {
    bool moved = false;
    try {
        moved = sends_.advance();
        moved |= receives_.advance();
    } catch (const std::exception& error) {  // of the GPU
        peer_.fail(error.what());
        return true;
    }
    if (!peer_.failure().empty()) return moved;
    for (const UcxDirection* each : {&sends_, &receives_})
        if (!each->problem().empty()) {
            const std::string lost = peer_.connection_error();
            peer_.fail(lost.empty() ? each->problem() : "connection lost: " + lost);
            return true;
        }
    const std::int64_t received = receives_.finished();
    if (received - told_ >= std::max(options().max_in_flight / 4, 1)) {
        told_ = received;
        peer_.tell(UcxPeer::Control::Received, id_, received);
    }
    return moved;
}

}  // namespace voltpile

#endif
