// Sends data from one rank to another. Each block writes its share of a piece into its part of the receiver's
// slot once the receiver has consumed its previous share. Counters replace call numbers, because only two
// ranks take part.
#include "comm/collective/peer_kernels.h"
#include "comm/collective/peer_wire.cuh"
#include "device/launch.cuh"

namespace voltpile {

namespace {

constexpr int send_threads = 512;

struct Share {
    unsigned begin;
    unsigned bytes;
};

__device__ Share share_of_block(unsigned bytes) {
    const unsigned each = ((bytes + send_blocks - 1) / send_blocks + 15) / 16 * 16;
    const unsigned begin = min(bytes, each * blockIdx.x);
    return {begin, min(bytes - begin, each)};
}

__device__ char* slot_of(char* mailbox, const PeerView& view, int source) {
    return mailbox + send_offset(view.size) + source * send_slot_bytes +
           send_slot_bytes / send_blocks * blockIdx.x;
}

__global__ void __launch_bounds__(send_threads)
    send_piece(const PeerView view, char* peer, int to, const char* from, unsigned bytes) {
    auto* own = reinterpret_cast<MailboxHeader*>(view.own);
    const std::uint64_t number = own->sent[to][blockIdx.x] + 1;
    if (threadIdx.x == 0) {
        Patience patience(view, number);
        while (load_acquire(&own->taken[to][blockIdx.x]) + 1 < number && patience.lasts(to)) {
        }
    }
    __syncthreads();
    const Share share = share_of_block(bytes);
    const char* mine = from + share.begin;
    char* slot = slot_of(peer, view, view.rank);
    for (unsigned w = threadIdx.x; 8 * w < share.bytes; w += blockDim.x)
        reinterpret_cast<Word*>(slot)[w] = load_word(mine, share.bytes, w);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_release(&reinterpret_cast<MailboxHeader*>(peer)->arrived[view.rank][blockIdx.x], number);
        own->sent[to][blockIdx.x] = number;
    }
}

__global__ void __launch_bounds__(send_threads)
    receive_piece(const PeerView view, char* peer, int source, char* to, unsigned bytes) {
    auto* own = reinterpret_cast<MailboxHeader*>(view.own);
    const std::uint64_t number = own->received[source][blockIdx.x] + 1;
    if (threadIdx.x == 0) {
        Patience patience(view, number);
        while (load_acquire(&own->arrived[source][blockIdx.x]) < number && patience.lasts(source)) {
        }
    }
    __syncthreads();
    const Share share = share_of_block(bytes);
    const char* slot = slot_of(view.own, view, source);
    for (unsigned w = 2 * threadIdx.x; 8 * w < share.bytes; w += 2 * blockDim.x) {
        const uint4 v = load_volatile(reinterpret_cast<const uint4*>(slot + 8ull * w));
        store_word(to + share.begin, share.bytes, w, static_cast<Word>(v.y) << 32 | v.x);
        store_word(to + share.begin, share.bytes, w + 1, static_cast<Word>(v.w) << 32 | v.z);
    }
    __threadfence_system();  // completes the reads before the sender may overwrite the slot
    __syncthreads();
    if (threadIdx.x == 0) {
        store_release(&reinterpret_cast<MailboxHeader*>(peer)->taken[view.rank][blockIdx.x], number);
        own->received[source][blockIdx.x] = number;
    }
}

int rank_of(const PeerView& view, int p) {
    return (view.rank + p) % view.size;
}

}  // namespace

void launch_send(const PeerView& view, int p, const void* from, unsigned bytes, const Stream& stream) {
    launch("send between GPUs", send_piece, {send_blocks, send_threads, 0}, stream, view, view.peer[p - 1],
           rank_of(view, p), static_cast<const char*>(from), bytes);
}

void launch_receive(const PeerView& view, int p, void* to, unsigned bytes, const Stream& stream) {
    launch("receive between GPUs", receive_piece, {send_blocks, send_threads, 0}, stream, view,
           view.peer[p - 1], rank_of(view, p), static_cast<char*>(to), bytes);
}

void load_send() {
    cudaFuncAttributes attributes;
    for (const void* kernel :
         {reinterpret_cast<const void*>(send_piece), reinterpret_cast<const void*>(receive_piece)})
        cuda_check(cudaFuncGetAttributes(&attributes, kernel), "loading the kernels of send and receive");
}

}  // namespace voltpile
