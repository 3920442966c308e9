// The collectives, written once for both wires (peer_wire.cuh). N: the largest group size that a kernel
// supports. Each thread writes only elements that it has read itself, so in-place calls are safe.
#pragma once

#include "comm/collective/peer_kernels.h"
#include "comm/collective/peer_wire.cuh"
#include "device/launch.cuh"

namespace voltpile {

struct OneShotKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned steps = Wire::steps(m.bytes);
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            const auto mine = wire.load(m.in, m.bytes, s);
#pragma unroll
            for (int p = 1; p < N; ++p)
                if (p < wire.size()) wire.push(p, 0, s, mine);
        }
        wire.signal(0);
        wire.wait(0);
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(0, s, wire.load(m.in, m.bytes, s), got);
            wire.store(m.out, m.bytes, s, reduce(got, wire.size(), m.type, m.reduction));
        }
        wire.finish(steps, 0);
    }
};

// Rank r sums steps r * share to (r + 1) * share - 1. Steps beyond the end are sent as zeros.
struct TwoShotKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned size = wire.size();
        const unsigned share = (Wire::steps(m.bytes) + size - 1) / size;
        const unsigned begin = wire.rank() * share;
        for (unsigned i = wire.first(); i < share; i += wire.stride()) {
#pragma unroll
            for (int p = 1; p < N; ++p)
                if (p < wire.size())
                    wire.push(p, 0, i, wire.load(m.in, m.bytes, wire.rank_behind(p) * share + i));
        }
        wire.signal(0);
        wire.wait(0);
        for (unsigned i = wire.first(); i < share; i += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(0, i, wire.load(m.in, m.bytes, begin + i), got);
            const auto sum = reduce(got, wire.size(), m.type, m.reduction);
#pragma unroll
            for (int p = 1; p < N; ++p)
                if (p < wire.size()) wire.push(p, 1, i, sum);
            wire.store(m.out, m.bytes, begin + i, sum);
        }
        wire.signal(1);
        wire.wait(1);
        for (unsigned i = wire.first(); i < share; i += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(1, i, {}, got);
#pragma unroll
            for (int r = 0; r < N; ++r)
                if (r < wire.size() && r != wire.rank()) wire.store(m.out, m.bytes, r * share + i, got[r]);
        }
        wire.finish(share, share);
    }
};

// Sends each rank its part, and waits for those of all others.
template <int N, class Wire>
__device__ void exchange_parts(Wire& wire, const PeerMessage& m, unsigned steps) {
    for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
#pragma unroll
        for (int p = 1; p < N; ++p)
            if (p < wire.size())
                wire.push(p, 0, s, wire.load(m.in + wire.rank_behind(p) * m.stride, m.bytes, s));
    }
    wire.signal(0);
    wire.wait(0);
}

struct ReduceScatterKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned steps = Wire::steps(m.bytes);
        exchange_parts<N>(wire, m, steps);
        const char* own = m.in + wire.rank() * m.stride;
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(0, s, wire.load(own, m.bytes, s), got);
            wire.store(m.out, m.bytes, s, reduce(got, wire.size(), m.type, m.reduction));
        }
        wire.finish(steps, 0);
    }
};

struct AllToAllKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned steps = Wire::steps(m.bytes);
        exchange_parts<N>(wire, m, steps);
        const char* own = m.in + wire.rank() * m.stride;
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(0, s, wire.load(own, m.bytes, s), got);
#pragma unroll
            for (int r = 0; r < N; ++r)
                if (r < wire.size()) wire.store(m.out + r * m.stride, m.bytes, s, got[r]);
        }
        wire.finish(steps, 0);
    }
};

struct AllGatherKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned steps = Wire::steps(m.bytes);
        char* own = m.out + wire.rank() * m.stride;
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            const auto mine = wire.load(m.in, m.bytes, s);
#pragma unroll
            for (int p = 1; p < N; ++p)
                if (p < wire.size()) wire.push(p, 0, s, mine);
            if (own != m.in) wire.store(own, m.bytes, s, mine);
        }
        wire.signal(0);
        wire.wait(0);
        for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
            typename Wire::Piece got[N];
            wire.collect(0, s, {}, got);
#pragma unroll
            for (int r = 0; r < N; ++r)
                if (r < wire.size() && r != wire.rank()) wire.store(m.out + r * m.stride, m.bytes, s, got[r]);
        }
        wire.finish(steps, 0);
    }
};

// The root sends its data in phase 0. In phase 1 every rank sends one empty step to every other rank, because
// slots may be reused only if each call waits for all ranks (peer_wire.cuh). A wire whose flags are separate
// from the data needs no phase 1: the flags of phase 0 suffice.
struct BroadcastKernel {
    template <int N, class Wire>
    __device__ static void run(Wire& wire, const PeerMessage& m) {
        const unsigned steps = Wire::steps(m.bytes);
        if (wire.rank() == m.root)
            for (unsigned s = wire.first(); s < steps; s += wire.stride()) {
                const auto mine = wire.load(m.in, m.bytes, s);
#pragma unroll
                for (int p = 1; p < N; ++p)
                    if (p < wire.size()) wire.push(p, 0, s, mine);
                if (m.out != m.in) wire.store(m.out, m.bytes, s, mine);
            }
        if constexpr (Wire::flags_in_data)
            if (wire.first() == 0) {
#pragma unroll
                for (int p = 1; p < N; ++p)
                    if (p < wire.size()) wire.push(p, 1, 0, {});
                typename Wire::Piece got[N];
                wire.collect(1, 0, {}, got);
            }
        wire.signal(0);
        wire.wait(0);
        if (wire.rank() != m.root)
            for (unsigned s = wire.first(); s < steps; s += wire.stride())
                wire.store(m.out, m.bytes, s, wire.take(0, s, m.root));
        wire.finish(steps, 1);
    }
};

template <class Kernel, class Wire, int N>
__global__ void __launch_bounds__(max_peer_threads, 1)
    peer_collective(const PeerView view, const PeerMessage m) {
    Wire wire(view);
    Kernel::template run<N>(wire, m);
}

template <class Kernel, class Wire>
void launch_for_size(const PeerView& view, const PeerMessage& m, PeerShape shape, const Stream& stream) {
    const int n = view.size <= 2 ? 2 : view.size <= 4 ? 4 : 8;
    const LaunchShape launch_shape{min(shape.blocks, max_peer_blocks), min(shape.threads, max_peer_threads),
                                   0};
    constexpr const char* name = "collective between GPUs";
    if (n == 2)
        launch(name, peer_collective<Kernel, Wire, 2>, launch_shape, stream, view, m);
    else if (n == 4)
        launch(name, peer_collective<Kernel, Wire, 4>, launch_shape, stream, view, m);
    else
        launch(name, peer_collective<Kernel, Wire, 8>, launch_shape, stream, view, m);
}

template <class Wire>
void launch_on_wire(PeerAlgorithm algorithm, const PeerView& view, const PeerMessage& m, PeerShape shape,
                    const Stream& stream) {
    switch (algorithm) {
        case PeerAlgorithm::OneShot:
            return launch_for_size<OneShotKernel, Wire>(view, m, shape, stream);
        case PeerAlgorithm::TwoShot:
            return launch_for_size<TwoShotKernel, Wire>(view, m, shape, stream);
        case PeerAlgorithm::ReduceScatter:
            return launch_for_size<ReduceScatterKernel, Wire>(view, m, shape, stream);
        case PeerAlgorithm::AllGather:
            return launch_for_size<AllGatherKernel, Wire>(view, m, shape, stream);
        case PeerAlgorithm::AllToAll:
            return launch_for_size<AllToAllKernel, Wire>(view, m, shape, stream);
        case PeerAlgorithm::Broadcast:
            return launch_for_size<BroadcastKernel, Wire>(view, m, shape, stream);
    }
}

template <class Kernel, class Wire>
void load_for_size(int size) {
    cudaFuncAttributes attributes;
    const void* kernel = size <= 2   ? reinterpret_cast<const void*>(peer_collective<Kernel, Wire, 2>)
                         : size <= 4 ? reinterpret_cast<const void*>(peer_collective<Kernel, Wire, 4>)
                                     : reinterpret_cast<const void*>(peer_collective<Kernel, Wire, 8>);
    cuda_check(cudaFuncGetAttributes(&attributes, kernel), "loading the kernels of collectives");
}

template <class Wire>
void load_wire(int size) {
    load_for_size<OneShotKernel, Wire>(size);
    load_for_size<TwoShotKernel, Wire>(size);
    load_for_size<ReduceScatterKernel, Wire>(size);
    load_for_size<AllGatherKernel, Wire>(size);
    load_for_size<AllToAllKernel, Wire>(size);
    load_for_size<BroadcastKernel, Wire>(size);
}

}  // namespace voltpile
