#include "comm/collective/nccl_functions.h"

#if VOLTPILE_NCCL

#include <nccl.h>

#include "base/lazy_library.h"

namespace {

voltpile::LazyLibrary& nccl() {
    static voltpile::LazyLibrary library("libnccl.so.2", VOLTPILE_NCCL_FILE);
    return library;
}

}  // namespace

bool voltpile::nccl_loads() {
    return nccl().loads();
}

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
    static const auto function = nccl().find<decltype(ncclGetVersion)>("ncclGetVersion");
    return function(version);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static const auto function = nccl().find<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
    return function(id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    static const auto function = nccl().find<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig");
    return function(comm, ranks, id, rank, config);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    static const auto function = nccl().find<decltype(ncclCommFinalize)>("ncclCommFinalize");
    return function(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    static const auto function = nccl().find<decltype(ncclCommDestroy)>("ncclCommDestroy");
    return function(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    static const auto function = nccl().find<decltype(ncclCommAbort)>("ncclCommAbort");
    return function(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    static const auto function = nccl().find<decltype(ncclCommGetAsyncError)>("ncclCommGetAsyncError");
    return function(comm, error);
}

const char* ncclGetErrorString(ncclResult_t result) {
    static const auto function = nccl().find<decltype(ncclGetErrorString)>("ncclGetErrorString");
    return function(result);
}

const char* ncclGetLastError(ncclComm_t comm) {
    static const auto function = nccl().find<decltype(ncclGetLastError)>("ncclGetLastError");
    return function(comm);
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclAllReduce)>("ncclAllReduce");
    return function(in, out, count, type, op, comm, stream);
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclAllGather)>("ncclAllGather");
    return function(in, out, count, type, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclReduceScatter)>("ncclReduceScatter");
    return function(in, out, count, type, op, comm, stream);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclBroadcast)>("ncclBroadcast");
    return function(in, out, count, type, root, comm, stream);
}

ncclResult_t ncclGroupStart() {
    static const auto function = nccl().find<decltype(ncclGroupStart)>("ncclGroupStart");
    return function();
}

ncclResult_t ncclGroupEnd() {
    static const auto function = nccl().find<decltype(ncclGroupEnd)>("ncclGroupEnd");
    return function();
}

ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclSend)>("ncclSend");
    return function(in, count, type, to, comm, stream);
}

ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
    static const auto function = nccl().find<decltype(ncclRecv)>("ncclRecv");
    return function(out, count, type, from, comm, stream);
}

}  // extern "C"

#endif
