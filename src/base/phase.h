// What the threads of this process are doing and how far they have come. The watchdog (run/watchdog.h) sees
// from it which rank hangs, and where.
//
// There is one table for each process, as for injected faults (base/fault.h): code of all layers counts, and
// a count costs one relaxed addition.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace voltpile {

enum class Phase {
    Dispatch,    // the job's loop: messages between ranks, signals; a step is one look at them
    Load,        // reading a model; a step is a piece of it
    Compute,     // a step is at most a second of work that moves
    Collective,  // waiting for the ranks of a tensor-parallel group; a step is a collective
    Transfer,    // waiting for another pipeline stage or a draft model; a step is a transfer
    Commit,      // writing parts, and waiting for that; a step is a call that changes files
};
inline constexpr std::array<std::string_view, 6> kPhaseNames{"dispatch",   "load",     "compute",
                                                             "collective", "transfer", "commit"};
inline constexpr std::size_t kPhases = kPhaseNames.size();

struct PhaseState {
    std::int64_t steps = 0;  // so far; beginning a phase and coming back to it are steps, too
    int threads = 0;         // in this phase now
    double still_s = 0;      // how long the one of them that has not moved for longest has not moved
};
using PhaseStates = std::array<PhaseState, kPhases>;

namespace phase_detail {

struct alignas(64) Counter {
    std::atomic<std::int64_t> steps{0};
    std::atomic<int> threads{0};
};
inline std::array<Counter, kPhases> counters;

inline Counter& counter(int phase) {
    return counters[static_cast<std::size_t>(phase)];
}

// What one thread does. Only that thread writes it.
struct alignas(64) Slot {
    std::atomic<bool> taken{false};
    std::atomic<int> phase{-1};  // -1: none
    std::atomic<std::int64_t> steps{0};
};
inline std::array<Slot, 512> slots;

// The slot of a thread, from its first phase to its end; null where there are too many threads.
class OwnSlot {
  public:
    ~OwnSlot() {
        if (slot_) slot_->taken.store(false, std::memory_order_relaxed);
    }
    void move() {
        if (slot_)
            slot_->steps.store(slot_->steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void go_to(int phase) {
        if (!slot_) take();
        if (slot_) slot_->phase.store(phase, std::memory_order_relaxed);
        move();
    }

  private:
    void take() {
        for (Slot& slot : slots) {
            if (slot.taken.exchange(true, std::memory_order_relaxed)) continue;
            slot_ = &slot;
            return;
        }
    }
    Slot* slot_ = nullptr;
};
inline thread_local OwnSlot own_slot;
inline thread_local int current = -1;  // the phase of this thread; -1: none

}  // namespace phase_detail

// The calling thread has come further. Call it at least once a second in a phase that moves.
inline void count_step(Phase phase) {
    phase_detail::counter(static_cast<int>(phase)).steps.fetch_add(1, std::memory_order_relaxed);
    phase_detail::own_slot.move();
}

// The calling thread is in this phase while the object exists, and in none or in the phase around it
// afterwards. Objects of one thread end in the reverse order of their beginning.
class InPhase {
  public:
    explicit InPhase(Phase phase) : around_(phase_detail::current) { go_to(static_cast<int>(phase)); }
    ~InPhase() { go_to(around_); }
    InPhase(const InPhase&) = delete;
    InPhase& operator=(const InPhase&) = delete;

  private:
    static void go_to(int phase) {
        using namespace phase_detail;
        if (current >= 0) counter(current).threads.fetch_sub(1, std::memory_order_relaxed);
        current = phase;
        own_slot.go_to(phase);
        if (phase < 0) return;
        counter(phase).steps.fetch_add(1, std::memory_order_relaxed);
        counter(phase).threads.fetch_add(1, std::memory_order_relaxed);
    }
    int around_;
};

}  // namespace voltpile
