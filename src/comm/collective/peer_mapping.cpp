#include "comm/collective/peer_mapping.h"

#if VOLTPILE_CUDA

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "device/check.h"

namespace voltpile {

std::string agreed_problem(const Communicator& group, const std::string& mine) {
    for (const std::string& each : group.all_gather(mine))
        if (!each.empty()) return each;
    return "";
}

std::unique_ptr<PeerMapping> PeerMapping::map(const Communicator& group, std::size_t bytes,
                                              std::string& why_not) {
    std::unique_ptr<PeerMapping> mapping;
    std::string problem;
    try {
        mapping.reset(new PeerMapping(group, bytes));
    } catch (const DeviceError& error) {
        problem = error.what();
    }
    why_not = agreed_problem(group, problem);
    if (!why_not.empty()) {
        if (mapping) mapping->lose_peers();  // a rank without a mapping does not destroy one
        return nullptr;
    }
    return mapping->open(why_not) ? std::move(mapping) : nullptr;
}

PeerMapping::PeerMapping(const Communicator& group, std::size_t bytes) : group_(group), own_(bytes) {
    cuda_check(cudaMemset(own_.data(), 0, own_.bytes()), "clearing memory for peers");
    cuda_check(cudaDeviceSynchronize(), "clearing memory for peers");  // they may write from now on
}

bool PeerMapping::open(std::string& why_not) {
    cudaIpcMemHandle_t handle{};
    const cudaError_t exported = cudaIpcGetMemHandle(&handle, own_.data());
    cudaGetLastError();
    std::string mine;
    if (exported == cudaSuccess) mine.assign(reinterpret_cast<const char*>(&handle), sizeof handle);
    const auto handles = group_.all_gather(mine);
    std::string problem;
    for (int p = 1; p < group_.size() && problem.empty(); ++p) {
        const int rank = (group_.rank() + p) % group_.size();
        const std::string& theirs = handles[static_cast<std::size_t>(rank)];
        void* mapped = nullptr;
        cudaError_t error = cudaErrorNotSupported;
        if (theirs.size() == sizeof handle) {
            std::memcpy(&handle, theirs.data(), sizeof handle);
            error = cudaIpcOpenMemHandle(&mapped, handle, cudaIpcMemLazyEnablePeerAccess);
            cudaGetLastError();
        }
        if (error == cudaSuccess)
            peers_[static_cast<std::size_t>(p) - 1] = static_cast<char*>(mapped);
        else
            problem = fmt::format("rank {} cannot map the memory of rank {}: {}", group_.rank(), rank,
                                  cudaGetErrorString(error));
    }
    why_not = agreed_problem(group_, problem);
    return why_not.empty();
}

PeerMapping::~PeerMapping() {
    for (char* mapped : peers_)
        if (mapped) cudaIpcCloseMemHandle(mapped);
    // Memory must not be freed while a peer has it mapped. A peer that is gone has not.
    constexpr double patience_s = 5;
    try {
        if (waits_) group_.barrier(patience_s);
    } catch (const Error&) {
    }
}

}  // namespace voltpile

#endif
