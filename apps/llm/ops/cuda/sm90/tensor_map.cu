#include "llm/ops/cuda/sm90/tensor_map.h"

#include <string>

#include "base/error.h"
#include "device/driver_function.h"

namespace voltpile::llm {

CUtensorMap tensor_map(const ByteMatrix& matrix, int box_bytes, int box_rows, bool swizzled) {
    static auto* const encode = driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    if (!encode) throw DeviceError("the NVIDIA driver lacks cuTensorMapEncodeTiled");
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(matrix.row_bytes),
                                static_cast<cuuint64_t>(matrix.rows)};
    const cuuint64_t stride[] = {static_cast<cuuint64_t>(matrix.row_bytes)};
    const cuuint32_t box[] = {static_cast<cuuint32_t>(box_bytes), static_cast<cuuint32_t>(box_rows)};
    const cuuint32_t every[] = {1, 1};
    CUtensorMap map;
    const CUresult result =
        encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<std::uint8_t*>(matrix.begin), sizes, stride,
               box, every, CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        throw DeviceError("describing a matrix to bulk copies: error " + std::to_string(result));
    return map;
}

}  // namespace voltpile::llm
