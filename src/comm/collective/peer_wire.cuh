// The two protocols that write data into a peer's mailbox. Data is always pushed, so that it crosses the link
// once; a rank waits by polling its own memory.
//
//   LowLatencyWire  every 8 bytes hold 4 bytes of data and the call number, so data and number arrive
//                   together. Needs no fence and no barrier, but sends twice the bytes. (Lines of 128 bytes
//                   with one number, as in NCCL's LL128, arrived torn on an H200 while another group's calls
//                   ran.)
//   FlaggedWire     plain data, then a fence, then one flag per block. Fewest bytes, highest latency.
//
// The waits of a call end only when every peer has begun the same call, and so has finished the previous one.
// Hence a rank that begins call k + 2 knows that all peers have read what it sent in call k: two sets of
// slots, used alternately, need no further barrier.
#pragma once

#include "comm/collective/peer_wait.cuh"
#include "comm/collective/peer_words.cuh"

namespace voltpile {

class WireBase {
  public:
    __device__ WireBase(const PeerView& view)
        : view_(view),
          epoch_(reinterpret_cast<const MailboxHeader*>(view.own)->epoch[blockIdx.x]),
          patience_(view, epoch_) {}

    __device__ int rank() const { return view_.rank; }
    __device__ int size() const { return view_.size; }
    __device__ int rank_behind(int p) const {  // the rank of peer p
        const int r = view_.rank + p;
        return r < view_.size ? r : r - view_.size;
    }

  protected:
    __device__ std::size_t slot(PeerWire wire, int phase, int source) const {
        const int index = (static_cast<int>(epoch_ & 1) * 2 + phase) * view_.size + source;
        return region_offset(wire, view_.size) + static_cast<std::size_t>(index) * slot_bytes(wire);
    }
    // Selects without indexing: an index known only at run time would put the whole view into local memory.
    __device__ char* mailbox_of(int p) const {
        char* mailbox = view_.peer[0];
#pragma unroll
        for (int q = 2; q < max_peers; ++q)
            if (p == q) mailbox = view_.peer[q - 1];
        return mailbox;
    }
    __device__ MailboxHeader* header(char* mailbox) const {
        return reinterpret_cast<MailboxHeader*>(mailbox);
    }

    // Never 0, the contents of cleared slots. Repeats after 2^31 calls.
    __device__ unsigned flag() const {
        return static_cast<unsigned>(epoch_) | 0x80000000u;
    }

    // Zeroes this call's slots of one region, from offset from[phase] on; no rank writes them now. Flags
    // repeat after 2^31 calls, so slots are cleared twice within that period lest an old one look new.
    __device__ void clean(PeerWire wire, const unsigned (&from)[2]) const {
        for (int phase = 0; phase < 2; ++phase)
            for (int source = 0; source < view_.size; ++source) {
                char* begin = view_.own + slot(wire, phase, source);
                for (unsigned at = from[phase] + 16 * (blockIdx.x * blockDim.x + threadIdx.x);
                     at < slot_bytes(wire); at += 16 * gridDim.x * blockDim.x)
                    *reinterpret_cast<uint4*>(begin + at) = make_uint4(0, 0, 0, 0);
            }
    }

    // Counts the call at the end of the kernel, also for the blocks that this call does not use.
    __device__ void count_call(PeerWire wire, const unsigned (&used)[2]) const {
        if ((epoch_ & 0x3fffffff) < 2) {
            const unsigned none[2] = {0, 0};
            clean(PeerWire::LowLatency, wire == PeerWire::LowLatency ? used : none);
        }
        __syncthreads();  // all threads have read the epoch
        std::uint64_t* epoch = header(view_.own)->epoch;
        if (threadIdx.x == 0) epoch[blockIdx.x] = epoch_ + 1;
        if (blockIdx.x == 0)
            for (unsigned b = gridDim.x + threadIdx.x; b < max_peer_blocks; b += blockDim.x)
                epoch[b] = epoch_ + 1;
    }

    const PeerView& view_;
    const std::uint64_t epoch_;
    Patience patience_;
};

// The interface of a wire to the collectives (peer_kernels.cuh). Data is sent in steps of one Piece; step s
// of a slot belongs to the same thread of the same block on every rank.
class LowLatencyWire : public WireBase {
  public:
    static constexpr bool flags_in_data = true;
    using Piece = Fragment<1>;
    using WireBase::WireBase;

    __device__ static unsigned steps(unsigned bytes) { return (bytes + 7) / 8; }
    __device__ unsigned first() const { return blockIdx.x * blockDim.x + threadIdx.x; }
    __device__ unsigned stride() const { return gridDim.x * blockDim.x; }

    __device__ Piece load(const char* base, unsigned bytes, unsigned step) const {
        return {{load_word(base, bytes, step)}};
    }
    __device__ void store(char* base, unsigned bytes, unsigned step, const Piece& piece) const {
        store_word(base, bytes, step, piece.word[0]);
    }
    __device__ void push(int p, int phase, unsigned step, const Piece& piece) const {
        const unsigned low = static_cast<unsigned>(piece.word[0]);
        const unsigned high = static_cast<unsigned>(piece.word[0] >> 32);
        char* line = view_.peer[p - 1] + slot(PeerWire::LowLatency, phase, rank()) + 16ull * step;
        store_volatile(reinterpret_cast<uint4*>(line), make_uint4(low, flag(), high, flag()));
    }
    // Waits for the step of every rank. Sets got[rank()] and the entries beyond the group to `mine`.
    template <int N>
    __device__ void collect(int phase, unsigned step, const Piece& mine, Piece (&got)[N]) {
        const char* lines = view_.own + slot(PeerWire::LowLatency, phase, 0) + 16ull * step;
        int missing;
        do {
            uint4 line[N];
#pragma unroll
            for (int r = 0; r < N; ++r)
                if (r < size() && r != rank())
                    line[r] = load_volatile(
                        reinterpret_cast<const uint4*>(lines + r * slot_bytes(PeerWire::LowLatency)));
            missing = -1;
#pragma unroll
            for (int r = 0; r < N; ++r) {
                got[r].word[0] = mine.word[0];
                if (r < size() && r != rank()) {
                    if (!arrived(line[r])) missing = r;
                    got[r].word[0] = static_cast<Word>(line[r].z) << 32 | line[r].x;
                }
            }
        } while (missing >= 0 && patience_.lasts(missing));
    }
    // Waits for the step of one rank.
    __device__ Piece take(int phase, unsigned step, int source) {
        const char* at = view_.own + slot(PeerWire::LowLatency, phase, source) + 16ull * step;
        uint4 line;
        do {
            line = load_volatile(reinterpret_cast<const uint4*>(at));
        } while (!arrived(line) && patience_.lasts(source));
        return {{static_cast<Word>(line.z) << 32 | line.x}};
    }
    __device__ void signal(int) const {}
    __device__ void wait(int) const {}
    __device__ void finish(unsigned steps0, unsigned steps1) const {
        const unsigned used[2] = {16 * steps0, 16 * steps1};
        count_call(PeerWire::LowLatency, used);
    }

  private:
    __device__ bool arrived(uint4 line) const {
        return line.y == flag() && line.w == flag();
    }
};

class FlaggedWire : public WireBase {
  public:
    static constexpr bool flags_in_data = false;
    using Piece = Fragment<2>;
    using WireBase::WireBase;

    __device__ static unsigned steps(unsigned bytes) { return (bytes + 15) / 16; }
    __device__ unsigned first() const { return blockIdx.x * blockDim.x + threadIdx.x; }
    __device__ unsigned stride() const { return gridDim.x * blockDim.x; }

    __device__ Piece load(const char* base, unsigned bytes, unsigned step) const {
        const char* from = base + 16ull * step;
        if (16ull * step + 16 <= bytes && reinterpret_cast<std::size_t>(from) % 16 == 0) {
            const ulonglong2 words = *reinterpret_cast<const ulonglong2*>(from);
            return {{words.x, words.y}};
        }
        return {{load_word(base, bytes, 2 * step), load_word(base, bytes, 2 * step + 1)}};
    }
    __device__ void store(char* base, unsigned bytes, unsigned step, const Piece& piece) const {
        char* to = base + 16ull * step;
        if (16ull * step + 16 <= bytes && reinterpret_cast<std::size_t>(to) % 16 == 0) {
            *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(piece.word[0], piece.word[1]);
        } else {
            store_word(base, bytes, 2 * step, piece.word[0]);
            store_word(base, bytes, 2 * step + 1, piece.word[1]);
        }
    }
    __device__ void push(int p, int phase, unsigned step, const Piece& piece) const {
        char* to = view_.peer[p - 1] + slot(PeerWire::Flagged, phase, rank()) + 16ull * step;
        *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(piece.word[0], piece.word[1]);
    }
    // Reads the step of every rank; wait() has ensured that the data has arrived.
    template <int N>
    __device__ void collect(int phase, unsigned step, const Piece& mine, Piece (&got)[N]) const {
        const char* from = view_.own + slot(PeerWire::Flagged, phase, 0) + 16ull * step;
#pragma unroll
        for (int r = 0; r < N; ++r) {
            got[r].word[0] = mine.word[0];
            got[r].word[1] = mine.word[1];
            if (r < size() && r != rank()) {
                const uint4 v =
                    load_volatile(reinterpret_cast<const uint4*>(from + r * slot_bytes(PeerWire::Flagged)));
                got[r].word[0] = static_cast<Word>(v.y) << 32 | v.x;
                got[r].word[1] = static_cast<Word>(v.w) << 32 | v.z;
            }
        }
    }
    __device__ Piece take(int phase, unsigned step, int source) const {
        const char* at = view_.own + slot(PeerWire::Flagged, phase, source) + 16ull * step;
        const uint4 v = load_volatile(reinterpret_cast<const uint4*>(at));
        return {{static_cast<Word>(v.y) << 32 | v.x, static_cast<Word>(v.w) << 32 | v.z}};
    }
    // Signals that this block has pushed all its data of this phase.
    __device__ void signal(int phase) const {
        __threadfence_system();
        __syncthreads();
        const int p = static_cast<int>(threadIdx.x) + 1;
        if (p < size()) store_release(&header(mailbox_of(p))->flag[phase][rank()][blockIdx.x], epoch_ + 1);
    }
    // Waits until the same block of every peer has signaled.
    __device__ void wait(int phase) {
        const int p = static_cast<int>(threadIdx.x) + 1;
        if (p < size()) {
            const std::uint64_t* flag = &header(view_.own)->flag[phase][rank_behind(p)][blockIdx.x];
            while (load_acquire(flag) < epoch_ + 1 && patience_.lasts(rank_behind(p))) {
            }
        }
        __syncthreads();
    }
    __device__ void finish(unsigned, unsigned) const {
        const unsigned none[2] = {0, 0};
        count_call(PeerWire::Flagged, none);
    }
};

}  // namespace voltpile
