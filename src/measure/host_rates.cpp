#include "measure/host_rates.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "base/bind_thread.h"
#include "base/seconds_since.h"

namespace voltpile {

double host_read_rate(std::int64_t bytes, const std::vector<int>& pus) {
    constexpr int rounds = 5;
    const std::size_t each = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t) / pus.size();
    std::atomic<std::uint64_t> sum = 0;
    double best = 1e9;
    std::barrier<> together(static_cast<std::ptrdiff_t>(pus.size()));
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < pus.size(); ++t)
        threads.emplace_back([&, t] {
            bind_this_thread(pus[t]);
            const std::vector<std::uint64_t> memory(each, t);  // allocated near the core that reads it
            for (int i = 0; i < rounds; ++i) {
                together.arrive_and_wait();
                const auto begin = std::chrono::steady_clock::now();
                std::uint64_t part = 0;
                for (const std::uint64_t word : memory) part += word;
                sum += part;
                together.arrive_and_wait();
                if (t == 0) best = std::min(best, seconds_since(begin));
            }
        });
    threads.clear();
    return static_cast<double>(each * pus.size() * sizeof(std::uint64_t)) / best;
}

}  // namespace voltpile
