#include "llm/ops/cpu/team.h"

#include <sched.h>

#include "base/bind_thread.h"

namespace voltpile::llm {
namespace {

// Iterations that a thread spins before it sleeps: longer than the microseconds between two operations.
constexpr int looks_before_sleep = 2000;

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

CpuTeam::CpuTeam(const std::vector<int>& pus) {
    for (std::size_t i = 1; i < pus.size(); ++i) {
        threads_.emplace_back([this, pu = pus[i], thread = static_cast<int>(i)] {
            bind_this_thread(pu);
            serve(thread);
        });
    }
}

CpuTeam::~CpuTeam() {
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void CpuTeam::run(std::int64_t items, const void* body, Call call) {
    items_ = items;
    body_ = body;
    call_ = call;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(2);
    round_.notify_all();
    take_items(0);
    for (int looks = 0; busy_.load(std::memory_order_acquire) != 0; ++looks) {
        if (looks < looks_before_sleep)
            pause();
        else
            sched_yield();  // there may be more threads than cores
    }
}

void CpuTeam::take_items(int thread) {
    for (;;) {
        const std::int64_t item = next_.fetch_add(1, std::memory_order_relaxed);
        if (item >= items_) return;
        call_(body_, item, thread);
        if (thread == 0) count_step(Phase::Compute);
    }
}

void CpuTeam::serve(int thread) {
    std::uint32_t seen = 0;
    for (;;) {
        std::uint32_t round = round_.load(std::memory_order_acquire);
        for (int looks = 0; round == seen && looks < looks_before_sleep; ++looks) {
            pause();
            round = round_.load(std::memory_order_acquire);
        }
        if (round == seen) {
            round_.wait(seen);
            continue;
        }
        if (round % 2 != 0) return;
        seen = round;
        take_items(thread);
        busy_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace voltpile::llm
