// The network of a group's channels over UCX.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "comm/channel/network.h"

#if VOLTPILE_UCX

#include <cstdlib>
#include <filesystem>

#include "comm/channel/ucx_peer.h"

namespace voltpile {
namespace {

using std::chrono::duration;

bool starts_with_any(const std::vector<std::string>& texts, std::initializer_list<const char*> starts) {
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
        return std::any_of(starts.begin(), starts.end(),
                           [&](const char* each) { return text.starts_with(each); });
    });
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string net_devices(const ChannelOptions& options) {
    if (!options.net_devices.empty() || !environment("UCX_NET_DEVICES").empty()) return options.net_devices;
    return usable_net_devices(network_interfaces(), active_rdma_ports());
}

// NVIDIA's module that lets network cards access GPU memory; Volta needs it.
bool has_peermem() {
    return std::filesystem::exists("/sys/module/nvidia_peermem") ||
           std::filesystem::exists("/sys/kernel/mm/memory_peers/nv_mem");
}

class UcxNetwork : public ChannelNetwork {
  public:
    UcxNetwork(const ChannelOptions& options, ChannelGpu* gpu)
        : options_(options),
          gpu_(gpu),
          worker_(std::make_unique<UcxWorker>(net_devices(options),
                                              duration<double>(options.deadline).count() / 4)) {}

    ~UcxNetwork() override {
        // UCX first: it may still refer to what the peers own.
        for (const auto& [rank, peer] : peers_) peer->disconnect();
        worker_.reset();
    }

    std::string describe(ChannelMember& self) override {
        const std::vector<std::string> transports = worker_->transports();
        self.ucx = UcxWorker::version();
        self.ucx_cuda = worker_->takes_gpu_memory();
        self.tls = environment("UCX_TLS");
        self.cuda_ipc = starts_with_any(transports, {"cuda_ipc/"});
        self.rdma = starts_with_any(transports, {"rc_", "dc_", "ud_"});
        self.gpu_rdma = has_peermem() || (gpu_ != nullptr && gpu_->has_dma_buf());
        return worker_->address();
    }

    void join(const ChannelMember& self, std::vector<ChannelMember> members,
              std::vector<std::string> addresses) override {
        self_ = self;
        members_ = std::move(members);
        addresses_ = std::move(addresses);
    }

    Channel& channel(ChannelEngine& engine, int rank, int id) override {
        auto& peer = peers_[rank];
        if (peer == nullptr) {
            try {
                peer = std::make_unique<UcxPeer>(*worker_, options_, gpu_, self_, members_.at(rank),
                                                 addresses_.at(rank));
            } catch (...) {
                peers_.erase(rank);
                throw;
            }
        }
        return peer->channel(engine, id);
    }

    std::vector<std::string> paths() const override {
        std::vector<std::string> lines;
        for (const auto& [rank, peer] : peers_) lines.push_back(peer->path());
        return lines;
    }

    bool progress(ChannelClock::time_point now) override {
        bool moved = worker_->progress();
        for (const auto& [rank, peer] : peers_) moved |= peer->progress(now);
        return moved;
    }

    EngineWork::Outlook outlook(ChannelClock::time_point now) const override {
        EngineWork::Outlook outlook{false, false, now + std::chrono::seconds(1)};
        for (const auto& [rank, peer] : peers_) {
            outlook.busy |= peer->busy();
            outlook.polls |= peer->polls();
            outlook.next = std::min(outlook.next, peer->next_look());
            // Not every version of UCX wakes its user for copies between GPUs.
            if (peer->gpu_memory_with_ucx())
                outlook.next = std::min(outlook.next, now + std::chrono::milliseconds(1));
        }
        return outlook;
    }

    int wake_fd() const override { return worker_->wake_fd(); }
    bool arm() override { return worker_->arm(); }

    void fail(const std::string& why) override {
        for (const auto& [rank, peer] : peers_) peer->fail(why);
    }
    void end() override {
        for (const auto& [rank, peer] : peers_) peer->end();
    }
    bool ended() const override {
        return std::all_of(peers_.begin(), peers_.end(),
                           [](const auto& each) { return each.second->ended(); });
    }
    void close() override {
        for (const auto& [rank, peer] : peers_) peer->close();
    }
    bool closed() const override {
        return std::all_of(peers_.begin(), peers_.end(),
                           [](const auto& each) { return each.second->closed() && !each.second->busy(); });
    }

  private:
    const ChannelOptions& options_;
    ChannelGpu* gpu_;
    std::unique_ptr<UcxWorker> worker_;
    ChannelMember self_;
    std::vector<ChannelMember> members_;
    std::vector<std::string> addresses_;
    std::map<int, std::unique_ptr<UcxPeer>> peers_;
};

}  // namespace

std::unique_ptr<ChannelNetwork> make_ucx_network(const ChannelOptions& options, ChannelGpu* gpu) {
    return std::make_unique<UcxNetwork>(options, gpu);
}

}  // namespace voltpile

#else

namespace voltpile {

std::unique_ptr<ChannelNetwork> make_ucx_network(const ChannelOptions&, ChannelGpu*) {
    return nullptr;
}

}  // namespace voltpile

#endif
