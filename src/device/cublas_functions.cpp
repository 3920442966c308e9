// Defines the functions of cuBLAS that Voltpile calls, so that no program links cuBLAS: each calls its
// namesake in the library, which is loaded at the first call. They throw MachineError if it cannot be loaded.
#if VOLTPILE_CUDA

#include <cublas_v2.h>

#include "base/lazy_library.h"

namespace {

template <class Function>
Function* in_cublas(const char* name) {
    static voltpile::LazyLibrary library(VOLTPILE_CUBLAS_NAME, VOLTPILE_CUBLAS_FILE);
    return library.find<Function>(name);
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    static const auto function = in_cublas<decltype(cublasCreate_v2)>("cublasCreate_v2");
    return function(handle);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    static const auto function = in_cublas<decltype(cublasDestroy_v2)>("cublasDestroy_v2");
    return function(handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
    static const auto function = in_cublas<decltype(cublasSetStream_v2)>("cublasSetStream_v2");
    return function(handle, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* memory, size_t bytes) {
    static const auto function = in_cublas<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
    return function(handle, memory, bytes);
}

const char* cublasGetStatusString(cublasStatus_t status) {
    static const auto function = in_cublas<decltype(cublasGetStatusString)>("cublasGetStatusString");
    return function(status);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                            cublasOperation_t transpose_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type,
                            int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    using Function =
        cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                       const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                       cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
    static const auto function = in_cublas<Function>("cublasGemmEx");
    return function(handle, transpose_a, transpose_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,
                    c_type, ldc, compute, algorithm);
}

}  // extern "C"

#endif
