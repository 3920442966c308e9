// How the kernels of joint sums write data into the memory of a peer (JointArea). A word that has not arrived
// is zero, and data is never zero: pairs of fp16 numbers that are both 0 travel as -0. So data needs neither
// flags nor fences, and crosses the link once. The reader clears each word that it has taken.
//
// There are two sets of words, used alternately: a rank that begins call k + 2 knows that all peers have
// finished call k (peer_wire.cuh), and with it that they have cleared what it sent then. A row that products
// send, one after attention and one after the feed-forward part, has words of its own for each of the two:
// between two sends of the same part there is always a sum that waits for all ranks, the other part's.
#pragma once

#include "comm/collective/peer_wire.cuh"
#include "llm/ops/cuda/joint_kernels.h"
#include "llm/ops/cuda/sent_part.cuh"

namespace voltpile::llm {

class ZeroWordWire : public WireBase {
  public:
    __device__ ZeroWordWire(const PeerView& view, const JointArea& area) : WireBase(view), area_(area) {}

    // Writes eight numbers to place `number` (a multiple of 8) of peer p's words of a phase, 0 or 1. No pair
    // of them is zero (without_zero()).
    __device__ __forceinline__ void push(int p, int phase, std::int64_t number, uint4 halves) const {
        store_volatile(reinterpret_cast<uint4*>(words(area_.peer[p - 1], phase, number)), halves);
    }
    // Returns the place of this rank's words.
    __device__ __forceinline__ char* place(int phase, std::int64_t number) const {
        return words(area_.own, phase, number);
    }
    // The same of a row that a product has sent: `column` of what `rank` sent.
    __device__ __forceinline__ char* sent_place(JointPart part, int rank, int column, int columns) const {
        const int row = static_cast<int>(part) * size() + rank;
        asm volatile("" : "+r"(column));  // or the compiler keeps the places of all columns in registers
        return area_.own + area_.sent + (static_cast<std::int64_t>(row) * columns + column) * 2;
    }
    // Waits for eight numbers at first + i * stride (bytes), i < count, from rank first_rank + i, and takes
    // them. Sets got[i] of this rank, and from `count` on, to `mine`, which may be anything if they are not
    // used.
    template <int N>
    __device__ __forceinline__ void take(char* first, std::int64_t stride, int first_rank, int count,
                                         uint4 mine, uint4 (&got)[N]) {
        const auto wanted = [&](int i) { return i < count && first_rank + i != rank(); };
        const auto at = [&](int i) { return reinterpret_cast<uint4*>(first + i * stride); };
        int missing;
        do {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                got[i] = mine;
                if (wanted(i)) got[i] = load_volatile(at(i));
            }
            missing = -1;
#pragma unroll
            for (int i = 0; i < N; ++i)
                if (wanted(i) && (got[i].x == 0 || got[i].y == 0 || got[i].z == 0 || got[i].w == 0))
                    missing = first_rank + i;
        } while (missing >= 0 && patience_.lasts(missing));
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (wanted(i)) store_volatile(at(i), make_uint4(0, 0, 0, 0));
    }
    __device__ void finish() const {
        const unsigned none[2] = {0, 0};
        count_call(PeerWire::Flagged, none);
    }

  private:
    __device__ __forceinline__ char* words(char* memory, int phase, std::int64_t number) const {
        const auto set = static_cast<int>(epoch_ & 1) * 2 + phase;
        return memory + area_.words + (set * area_.word_numbers + number) * 2;
    }

    const JointArea& area_;
};

}  // namespace voltpile::llm
