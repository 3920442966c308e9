// Loads and stores that are visible to other GPUs, and waits that the host can abort. All instructions exist
// on sm_70 and newer.
#pragma once

#include "comm/collective/peer_layout.h"

namespace voltpile {

__device__ inline uint4 load_volatile(const uint4* from) {
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

__device__ inline void store_volatile(uint4* to, uint4 v) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w));
}

__device__ inline void store_volatile(uint2* to, uint2 v) {
    asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.x), "r"(v.y));
}

__device__ inline std::uint64_t load_acquire(const std::uint64_t* from) {
    std::uint64_t v;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
    return v;
}

__device__ inline void store_release(std::uint64_t* to, std::uint64_t v) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}

__device__ inline unsigned long long nanoseconds() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// Encodes for the host which rank a kernel waits for: rank + 1 in bits 0 to 7, the call number in bits 8 to
// 31, and in bits 32 to 63 a clock that advances while the wait lasts.
__device__ inline unsigned long long stall_report(int missing_rank, std::uint64_t epoch) {
    return (nanoseconds() >> 16) << 32 | (epoch & 0xffffff) << 8 | static_cast<unsigned>(missing_rank + 1);
}

// Decides after each unsuccessful poll whether to continue. Every few milliseconds it reads the host's abort
// flag and reports; host memory is too slow to be read at each poll.
class Patience {
  public:
    __device__ Patience(const PeerView& view, std::uint64_t epoch)
        : abort_(view.abort), stall_(view.stall), epoch_(epoch) {}

    // Returns false once the host has aborted, and from then on.
    __device__ bool lasts(int missing_rank) {
        if (++looks_ % 4096 != 0) return !over_;
        if (*static_cast<const volatile int*>(abort_) != 0) over_ = true;
        *static_cast<volatile unsigned long long*>(stall_) = stall_report(missing_rank, epoch_);
        return !over_;
    }

  private:
    const int* abort_;
    unsigned long long* stall_;
    std::uint64_t epoch_;
    unsigned looks_ = 0;
    bool over_ = false;
};

}  // namespace voltpile
