#include "comm/channel/bench.h"
#include "base/seconds_since.h"

#include <chrono>
#include <deque>

namespace voltpile {
namespace {

using Clock = std::chrono::steady_clock;

void ping_pong(Channel& channel, bool first, ConstMemory out, Memory in, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        const Transfer received = channel.receive(in);
        if (!first) received.wait();
        const Transfer sent = channel.send(out);
        if (first) received.wait();
        sent.wait();
    }
}

void stream(Channel& channel, bool sender, Memory memory, int count, int window) {
    std::deque<Transfer> under_way;
    for (int i = 0; i < count; ++i) {
        if (static_cast<int>(under_way.size()) == window) {
            under_way.front().wait();
            under_way.pop_front();
        }
        under_way.push_back(sender ? channel.send(memory) : channel.receive(memory));
    }
    for (const Transfer& each : under_way) each.wait();
    // The receiver signals that it has everything.
    sender ? channel.receive(Memory{}).wait() : channel.send(ConstMemory{}).wait();
}

}  // namespace

double one_way_seconds(Channel& channel, bool first, ConstMemory out, Memory in, int rounds) {
    ping_pong(channel, first, out, in, rounds / 10 + 1);
    const auto begin = Clock::now();
    ping_pong(channel, first, out, in, rounds);
    return seconds_since(begin) / (2.0 * rounds);
}

double bytes_per_second(Channel& channel, bool sender, Memory memory, int count, int window) {
    stream(channel, sender, memory, window, window);
    const auto begin = Clock::now();
    stream(channel, sender, memory, count, window);
    return static_cast<double>(memory.bytes) * count / seconds_since(begin);
}

}  // namespace voltpile
