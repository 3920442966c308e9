// Staging of GPU buffers, with plain memory in place of the GPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "channel_buffer.h"
#include "channel_processes.h"
#include "comm/channel/gpu.h"

namespace voltpile {
namespace {

// Copies happen after some polls, as on a GPU, so data is missing unless the code waits for it.
class PlayedGpu : public ChannelGpu {
  public:
    class Mark : public GpuMark {
      public:
        Mark(void* to, const void* from, std::size_t bytes, int looks)
            : to_(to), from_(from), bytes_(bytes), looks_(looks) {}
        bool reached() override {
            if (--looks_ > 0) return false;
            std::memcpy(to_, from_, bytes_);
            return true;
        }

      private:
        void* to_;
        const void* from_;
        std::size_t bytes_;
        int looks_;
    };

    ~PlayedGpu() override { EXPECT_EQ(staging_, 0); }
    void adopt_thread() noexcept override {}
    int enter() noexcept override { return 0; }
    void leave(int) noexcept override {}
    std::unique_ptr<GpuMark> mark(const Stream&) override { std::abort(); }
    void* allocate_staging(std::size_t bytes) override {
        ++staging_;
        most_ = std::max(most_, staging_);
        return std::malloc(bytes);
    }
    void release_staging(void* memory) noexcept override {
        --staging_;
        std::free(memory);
    }
    std::unique_ptr<GpuMark> copy_to_host(void* to, const void* from, std::size_t bytes) override {
        return copy(to, from, bytes);
    }
    std::unique_ptr<GpuMark> copy_to_gpu(void* to, const void* from, std::size_t bytes) override {
        return copy(to, from, bytes);
    }
    std::unique_ptr<GpuMark> copy_on_gpu(void* to, const void* from, std::size_t bytes) override {
        return copy(to, from, bytes);
    }
    Flag take_flag() override { std::abort(); }
    void wait_for_flag(const Stream&, Flag) override { std::abort(); }
    void raise_flag(Flag) noexcept override {}
    void flush_network_writes() override {}
    bool has_dma_buf() const override { return false; }

    int most() const { return most_; }

  private:
    std::unique_ptr<GpuMark> copy(void* to, const void* from, std::size_t bytes) {
        return std::make_unique<Mark>(to, from, bytes, static_cast<int>(random_() % 5));
    }
    int staging_ = 0, most_ = 0;
    std::mt19937 random_{5};
};

constexpr std::size_t piece = 10'000;

ChannelOptions in_pieces() {
    ChannelOptions options;
    options.staging_bytes = piece;
    options.deadline = std::chrono::seconds(10);
    return options;
}

class ChannelStaging : public testing::Test {
  protected:
    void SetUp() override {
        if (!VOLTPILE_UCX) GTEST_SKIP() << "built without UCX";
    }
};

TEST_F(ChannelStaging, TransfersAllSizesAndKindsOfMemory) {
    const auto results = run_ranks(2, [](int rank, const TextGather& gather) {
        auto owned = std::make_unique<PlayedGpu>();
        const PlayedGpu& gpu = *owned;
        ChannelGroup group(rank, gather, in_pieces(), std::move(owned));
        Channel& channel = group.channel(1 - rank);
        require(group.paths().at(0).find("staged through pinned memory: UCX") != std::string::npos,
                group.paths().at(0));
        constexpr MemoryKind kinds[] = {MemoryKind::Host, MemoryKind::Gpu};
        for (MemoryKind from : kinds)
            for (MemoryKind to : kinds)
                for (std::size_t bytes :
                     {0UL, 1UL, 63UL, piece - 1, piece, piece + 1, 2 * piece, 57 * piece + 7}) {
                    const auto out = pattern(bytes, static_cast<std::uint64_t>(rank));
                    std::vector<std::uint8_t> in(bytes, 0xEE);
                    const Transfer received = channel.receive({in.data(), bytes, to});
                    channel.send(ConstMemory{out.data(), bytes, from}).wait();
                    received.wait();
                    require(in == pattern(bytes, static_cast<std::uint64_t>(1 - rank)),
                            std::to_string(bytes));
                }
        require(gpu.most() == 8, "four pieces of pinned memory each way: " + std::to_string(gpu.most()));
        gather("");
    });
    for (const RankResult& each : results) EXPECT_TRUE(each.passed);
}

TEST_F(ChannelStaging, KeepsManyInFlightWithOneEndWithoutAGpu) {
    const auto results = run_ranks(2, [](int rank, const TextGather& gather) {
        ChannelGroup group(rank, gather, in_pieces(), rank == 0 ? std::make_unique<PlayedGpu>() : nullptr);
        Channel& channel = group.channel(1 - rank);
        const MemoryKind kind = rank == 0 ? MemoryKind::Gpu : MemoryKind::Host;
        constexpr int count = 200;
        std::vector<std::vector<std::uint8_t>> out, in;
        std::vector<Transfer> transfers;
        for (std::size_t i = 0; i < count; ++i) {
            out.push_back(pattern(i * 977 % (3 * piece), i + 1000 * static_cast<std::size_t>(rank)));
            in.emplace_back(out.back().size());
        }
        for (std::size_t i = 0; i < count; ++i) {
            transfers.push_back(channel.receive({in[i].data(), in[i].size(), kind}));
            transfers.push_back(channel.send(ConstMemory{out[i].data(), out[i].size(), kind}));
        }
        for (const Transfer& each : transfers) each.wait();
        for (std::size_t i = 0; i < count; ++i)
            require(in[i] == pattern(in[i].size(), i + 1000 * static_cast<std::size_t>(1 - rank)),
                    std::to_string(i));
        gather("");
    });
    for (const RankResult& each : results) EXPECT_TRUE(each.passed);
}

}  // namespace
}  // namespace voltpile
