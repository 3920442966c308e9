// Threads that share one thread's loops: fork and join in a few microseconds. One thread calls; it takes
// part.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace voltpile::llm {

class CpuTeam {
  public:
    // pus: logical processors, one for each thread; the first one's is the caller, who is not bound here.
    // -1: not bound (bind_this_thread).
    explicit CpuTeam(const std::vector<int>& pus);
    ~CpuTeam();
    CpuTeam(const CpuTeam&) = delete;
    CpuTeam& operator=(const CpuTeam&) = delete;

    int size() const { return static_cast<int>(threads_.size()) + 1; }

    // body(item, thread) for each 0 <= item < items, in any order and on any threads; thread < size().
    // Returns when all are done. `body` must not throw.
    template <class Body>
    void for_each(std::int64_t items, const Body& body) {
        if (threads_.empty() || items < 2) {
            for (std::int64_t item = 0; item < items; ++item) body(item, 0);
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

    // What is under way; written before round_ changes, read after.
    std::int64_t items_ = 0;
    const void* body_ = nullptr;
    Call call_ = nullptr;

    alignas(64) std::atomic<std::int64_t> next_{0};
    alignas(64) std::atomic<std::uint32_t> round_{0};  // odd: the end
    alignas(64) std::atomic<int> busy_{0};
    std::vector<std::thread> threads_;
};

}  // namespace voltpile::llm
