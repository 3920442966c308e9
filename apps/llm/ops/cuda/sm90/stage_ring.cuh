// A ring of stages in shared memory: some threads fill them, warps that multiply empty them.
#pragma once

#include "llm/ops/cuda/sm90/warpgroup.cuh"

namespace voltpile::llm {

template <int count>
struct RingBarriers {
    static constexpr int stages = count;
    PhaseBarrier full[count], empty[count];
    // filling, emptying: arrivals with which a stage is full, and empty again.
    __device__ void start(int filling, int emptying) {
        for (int i = 0; i < count; ++i) {
            full[i].start(filling);
            empty[i].start(emptying);
        }
    }
    // For the thread or warp that has begun to fill the stages of the ring `fillings` times together: waits
    // until the last one is full.
    __device__ __forceinline__ void wait_for_last(int fillings) {
        const int last = fillings - 1;
        if (last >= 0) full[last % count].wait(last / count % 2);
    }
};

// A place in a ring and the parity of its phases.
template <int stages>
struct RingPlace {
    int at = 0, parity = 0;
    __device__ __forceinline__ void advance() {
        const bool around = ++at == stages;
        at = around ? 0 : at;
        parity ^= around ? 1 : 0;
    }
};

// What a multiplying warp sees of a ring: the stage in use and the one before, from which products may still
// read.
template <class Barriers>
class RingReader {
  public:
    __device__ explicit RingReader(Barriers& barriers) : barriers_(barriers) {}
    // Waits for the next stage and returns its number.
    __device__ __forceinline__ int take() {
        before_ = in_use_;
        in_use_ = next_.at;
        barriers_.full[in_use_].wait(next_.parity);
        next_.advance();
        return in_use_;
    }
    // The warp no longer reads the stage before.
    __device__ __forceinline__ void release_before() {
        barriers_.empty[max(before_, 0)].arrive_if(before_ >= 0 && threadIdx.x % 32 == 0);
    }

  private:
    Barriers& barriers_;
    RingPlace<Barriers::stages> next_;
    int in_use_ = -1, before_ = -1;
};

}  // namespace voltpile::llm
