#include "measure/host_rates.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "base/bind_thread.h"
#include "base/seconds_since.h"

namespace voltpile {
namespace {

// A cache line, in as many registers as the processor needs for it.
typedef std::uint64_t Line __attribute__((vector_size(64)));

// Adds up all lines, in four sums: one addition for each word would take longer than the memory.
std::uint64_t sum_of(const std::vector<Line>& memory) {
    Line sums[4] = {};
    for (std::size_t i = 0; i + 4 <= memory.size(); i += 4) {
        sums[0] += memory[i];
        sums[1] += memory[i + 1];
        sums[2] += memory[i + 2];
        sums[3] += memory[i + 3];
    }
    const Line all = sums[0] + sums[1] + sums[2] + sums[3];
    std::uint64_t total = 0;
    for (int i = 0; i < 8; ++i) total += all[i];
    return total;
}

}  // namespace

double host_read_rate(std::int64_t bytes, const std::vector<int>& pus) {
    constexpr int rounds = 8;
    const std::size_t each = static_cast<std::size_t>(bytes) / sizeof(Line) / pus.size();
    std::atomic<std::uint64_t> sum = 0;
    double best = 1e9;
    std::barrier<> together(static_cast<std::ptrdiff_t>(pus.size()));
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < pus.size(); ++t)
        threads.emplace_back([&, t] {
            bind_this_thread(pus[t]);
            const std::vector<Line> memory(each, Line{} + t);  // allocated near the core that reads it
            for (int i = 0; i < rounds; ++i) {
                together.arrive_and_wait();
                const auto begin = std::chrono::steady_clock::now();
                sum += sum_of(memory);
                together.arrive_and_wait();
                if (t == 0) best = std::min(best, seconds_since(begin));
            }
        });
    threads.clear();
    return static_cast<double>(each * pus.size() * sizeof(Line)) / best;
}

}  // namespace voltpile
