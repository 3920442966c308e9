#include "comm/channel/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/host_name.h"
#include "comm/channel/local.h"
#include "comm/channel/network.h"
#include "comm/mpi/communicator.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;

constexpr int channel_ids = 4096;
constexpr auto farewell = 5s;  // in total, for unfinished transfers and for the peers
constexpr auto closing = 1s;   // for closing the connections

// What a rank tells the others, in lines: its problem if any; what must be equal on all; its identity. Then
// its address, which is binary.
struct Card {
    std::string problem, alike, member, address;
};

std::string to_text(Card card) {
    std::replace(card.problem.begin(), card.problem.end(), '\n', ' ');
    return fmt::format("{}\n{}\n{}\n{}", card.problem, card.alike, card.member, card.address);
}

Card card_from(std::string text) {
    Card card;
    for (std::string* line : {&card.problem, &card.alike, &card.member}) {
        const std::size_t end = text.find('\n');
        if (end == std::string::npos) throw CommError("setting up channels: a rank sent a malformed address");
        *line = text.substr(0, end);
        text.erase(0, end + 1);
    }
    card.address = text;
    return card;
}

void check(const ChannelOptions& options) {
    if (options.deadline <= 0ms || options.max_in_flight < 1 || options.max_bytes_in_flight < 1 ||
        options.staging_bytes < 1)
        throw CommError("channel options: deadline and sizes must be positive");
}

}  // namespace

class ChannelGroup::Members : public EngineWork {
  public:
    Members(int rank, const TextGather& gather, const ChannelOptions& options,
            std::unique_ptr<ChannelGpu> gpu)
        : options_(options), rank_(rank), gpu_(std::move(gpu)) {
        Card card;
        ChannelMember self;
        self.rank = rank;
        self.host = host_name();
        try {
            check(options_);
            if (gpu_ == nullptr && options_.gpu >= 0) gpu_ = make_channel_gpu(options_.gpu);
            self.has_gpu = gpu_ != nullptr;
            self.stages = options_.stage_gpu_buffers;
            network_ = make_ucx_network(options_, gpu_.get());
            if (network_ != nullptr) card.address = network_->describe(self);
        } catch (const std::exception& error) {
            card.problem = error.what();  // sent to all, so that nobody waits for this rank
        }
        card.alike = fmt::format("max_in_flight = {}, staging_bytes = {}, UCX: {}", options_.max_in_flight,
                                 options_.staging_bytes, network_ != nullptr ? "yes" : "no");
        card.member = voltpile::to_text(self);
        join(card, self, gather(to_text(card)));
        engine_ = std::make_unique<ChannelEngine>(*this, options_.patience);
    }

    ~Members() override {
        say_farewell();
        engine_.reset();
        locals_.clear();
        network_.reset();
    }

    Channel& channel(int peer, int id) {
        if (peer < 0 || peer >= size_ || id < 0 || id >= channel_ids)
            throw CommError(fmt::format("there is no channel {} to rank {}: ids are 0 to {}, ranks 0 to {}",
                                        id, peer, channel_ids - 1, size_ - 1));
        const ChannelEngine::Lock lock(*engine_);
        if (!aborted_.empty()) throw CommError(aborted_);
        if (peer != rank_ && network_ == nullptr)
            throw CommError("channels between ranks need UCX, which this program was built without");
        if (peer != rank_) {
            Channel& opened = network_->channel(*engine_, peer, id);
            engine_->changed();
            return opened;
        }
        auto& local = locals_[id];
        if (local == nullptr) local = std::make_unique<LocalChannel>(*engine_, gpu_.get(), options_, rank_);
        return *local;
    }

    std::vector<std::string> paths() const {
        const ChannelEngine::Lock lock(*engine_);
        std::vector<std::string> lines;
        if (network_ != nullptr) lines = network_->paths();
        if (!locals_.empty()) lines.push_back(fmt::format("rank {} to itself: by copying", rank_));
        return lines;
    }

    void abort(const std::string& why) noexcept {
        const ChannelEngine::Lock lock(*engine_);
        aborted_ = "aborted: " + why;
        fail(aborted_);
        engine_->changed();
    }

    bool progress(ChannelClock::time_point now) override {
        bool moved = network_ != nullptr && network_->progress(now);
        for (const auto& [id, each] : locals_) moved |= each->progress(now);
        return moved;
    }
    Outlook outlook(ChannelClock::time_point now) override {
        Outlook outlook{false, false, now + 1s};
        if (network_ != nullptr) outlook = network_->outlook(now);
        for (const auto& [id, each] : locals_) {
            outlook.polls |= each->polls();
            if (each->busy()) outlook.next = std::min(outlook.next, now + options_.deadline / 20);
        }
        return outlook;
    }
    int wake_fd() const override { return network_ == nullptr ? -1 : network_->wake_fd(); }
    bool arm() override { return network_ == nullptr || network_->arm(); }
    ChannelGpu* gpu() const override { return gpu_.get(); }

  private:
    void join(const Card& mine, const ChannelMember& self, const std::vector<std::string>& texts) {
        std::vector<ChannelMember> members;
        std::vector<std::string> addresses, problems;
        for (const std::string& text : texts) {
            const Card card = card_from(text);
            const ChannelMember member = channel_member_from(card.member);
            if (!card.problem.empty())
                problems.push_back(fmt::format("{}: {}", name_of(member), card.problem));
            if (card.problem.empty() && mine.problem.empty() && card.alike != mine.alike)
                problems.push_back(fmt::format("{} has {}, {} has {}", name_of(self), mine.alike,
                                               name_of(member), card.alike));
            if (member.rank != static_cast<int>(members.size()))
                problems.push_back("ranks are not gathered in order");
            members.push_back(member);
            addresses.push_back(card.address);
        }
        if (!problems.empty()) throw CommError("setting up channels: " + problems.front());
        size_ = static_cast<int>(members.size());
        if (network_ != nullptr) network_->join(self, std::move(members), std::move(addresses));
    }

    void fail(const std::string& why) {
        if (network_ != nullptr) network_->fail(why);
        for (const auto& [id, each] : locals_) each->give_up(why);
    }

    void say_farewell() noexcept {
        if (engine_ == nullptr) return;  // construction failed
        try {
            if (network_ != nullptr) {
                {
                    const ChannelEngine::Lock lock(*engine_);
                    network_->end();
                    engine_->changed();
                }
                await(farewell, [this] { return network_->ended(); });
            }
            {
                const ChannelEngine::Lock lock(*engine_);
                for (const auto& [id, each] : locals_) each->give_up("the channel group ends");
                if (network_ != nullptr && !network_->ended()) network_->fail("the other end has not closed");
                if (network_ != nullptr) network_->close();
                engine_->changed();
            }
            if (network_ != nullptr) await(closing, [this] { return network_->closed(); });
        } catch (...) {
            // Nobody needs anything of this: the connections end with the process at the latest.
        }
    }

    template <class Condition>
    void await(std::chrono::seconds limit, Condition condition) {
        const auto until = ChannelClock::now() + limit;
        engine_->wait([&] { return condition() || ChannelClock::now() > until; });
    }

    const ChannelOptions options_;
    const int rank_;
    int size_ = 1;
    std::unique_ptr<ChannelGpu> gpu_;
    std::unique_ptr<ChannelNetwork> network_;
    std::map<int, std::unique_ptr<LocalChannel>> locals_;
    std::string aborted_;
    std::unique_ptr<ChannelEngine> engine_;
};

ChannelGroup::ChannelGroup(const Communicator& communicator, const ChannelOptions& options)
    : ChannelGroup(
          communicator.rank(), [&](const std::string& text) { return communicator.all_gather(text); },
          options) {}

ChannelGroup::ChannelGroup(int rank, const TextGather& gather, const ChannelOptions& options,
                           std::unique_ptr<ChannelGpu> gpu)
    : members_(std::make_unique<Members>(rank, gather, options, std::move(gpu))) {}

ChannelGroup::~ChannelGroup() = default;

Channel& ChannelGroup::channel(int peer, int id) {
    return members_->channel(peer, id);
}

std::vector<std::string> ChannelGroup::paths() const {
    return members_->paths();
}

void ChannelGroup::abort(const std::string& why) noexcept {
    members_->abort(why);
}

}  // namespace voltpile
