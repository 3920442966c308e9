// The state behind a Transfer. The engine's lock guards all but `status`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "comm/channel/channel.h"
#include "comm/channel/gpu.h"

namespace voltpile {

class ChannelEngine;

using ChannelClock = std::chrono::steady_clock;

struct TransferState {
    enum class Status { Pending, Done, Failed };

    // The engine and GPU (nullptr: none) of an unfinished transfer are alive: a group fails what it leaves
    // behind.
    ChannelEngine* engine = nullptr;
    ChannelGpu* gpu = nullptr;

    const std::byte* source = nullptr;  // of a send
    std::byte* target = nullptr;        // of a receive
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::Host;
    std::chrono::milliseconds limit{0};

    std::unique_ptr<GpuMark> ready;  // the GPU work it waits for before it starts
    std::size_t started_bytes = 0;   // pieces start in order
    bool all_started = false;
    int open_pieces = 0;  // started and not done
    std::optional<ChannelClock::time_point> next_in_order_since;

    std::atomic<Status> status{Status::Pending};
    std::string error;  // set before status
    std::optional<ChannelGpu::Flag> flag;

    bool pending() const { return status.load(std::memory_order_acquire) == Status::Pending; }
    // True once the GPU work it waits for is done.
    bool is_ready();
    void finish();
    void fail(const std::string& why);
};

// Returns "3.2 MB of host memory", for messages.
std::string text_of(const TransferState& transfer);

}  // namespace voltpile
