// A team of threads for parallel loops that fork and join in a few microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/phase.h"

namespace voltpile::llm {

// One thread, the caller, starts all loops and takes part in them.
class CpuTeam {
  public:
    // pus: the logical processor of each thread; -1: unbound (see bind_this_thread). pus[0] is the caller,
    // which the team does not bind.
    explicit CpuTeam(const std::vector<int>& pus);
    ~CpuTeam();
    CpuTeam(const CpuTeam&) = delete;
    CpuTeam& operator=(const CpuTeam&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // Calls body(item, thread) for each 0 <= item < items, in any order and on any thread, 0 <= thread <
    // size(). Returns when all calls have returned. `body` must not throw.
    template <class Body>
    void for_each(std::int64_t items, const Body& body) {
        if (threads_.empty() || items < 2) {
            for (std::int64_t item = 0; item < items; ++item) {
                body(item, 0);
                count_step(Phase::Compute);
            }
            return;
        }
        run(items, &body, [](const void* of, std::int64_t item, int thread) {
            (*static_cast<const Body*>(of))(item, thread);
        });
    }

  private:
    using Call = void (*)(const void* body, std::int64_t item, int thread);
    void run(std::int64_t items, const void* body, Call call);
    void serve(int thread);
    void take_items(int thread);

    // The current loop. run() writes these before it changes round_; the threads read them after.
    std::int64_t items_ = 0;
    const void* body_ = nullptr;
    Call call_ = nullptr;

    alignas(64) std::atomic<std::int64_t> next_{0};
    alignas(64) std::atomic<std::uint32_t> round_{0};  // + 2 for each loop; odd: the threads end
    alignas(64) std::atomic<int> busy_{0};
    std::vector<std::thread> threads_;
};

}  // namespace voltpile::llm
