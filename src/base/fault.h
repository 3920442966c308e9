// Faults that tests inject into any process of a run, by the environment variable VOLTPILE_FAULT. Off unless
// it is set: then each place where a fault can strike costs one load of a flag.
//
//   VOLTPILE_FAULT="kill:rank=1,write=7"               ends rank 1 by SIGKILL at its 7th write
//   VOLTPILE_FAULT="delay:ms=20,range=2; enospc:write=9"
//
// action   what happens
// kill     SIGKILL
// stop     SIGSTOP, until someone continues the process
// hang     the calling thread sleeps forever
// delay    it sleeps for `ms`
// enospc   this write and all later ones fail with "no space left on device"; only with `write`
// eio      the write fails with "input/output error"; only with `write`
// short    only half of the bytes are written, and the call says so; only with `write`
// corrupt  one bit in every 512 bytes that are written is flipped; only with `write`
// lost     this CUDA call and all later ones of the process fail; only with `gpu`
//
// place       what is counted, from 1, in each process
// write       calls that change files of a result: write, fsync, rename, link, unlink, mkdir
// range       ranges of points that are ready to be committed
// collective  collectives on GPUs or host memory
// gpu         CUDA calls that are checked
//
// Without `rank`, the fault strikes in every rank. Faults of links between ranks: base/link_fault.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace voltpile {

enum class FaultPlace { Write, Range, Collective, Gpu };

// What is left to the caller. Everything else has happened when strike() returns.
enum class FaultEffect { NoSpace, IoError, ShortWrite, Corrupt, LostGpu };

// Reads VOLTPILE_FAULT for the process of this rank, and begins to count anew. Throws JobError, which names
// the word, if it is not as above. Call it before other threads start.
void load_faults(int rank);

namespace fault_detail {
inline std::atomic<bool> armed{false};
std::optional<FaultEffect> strike_armed(FaultPlace place);
}  // namespace fault_detail

// Call it at each such place, right before the call that is to fail.
inline std::optional<FaultEffect> strike(FaultPlace place) {
    if (!fault_detail::armed.load(std::memory_order_relaxed)) return std::nullopt;
    return fault_detail::strike_armed(place);
}

}  // namespace voltpile
