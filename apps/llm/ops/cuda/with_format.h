// Turns a weight format known at run time into a compile-time constant.
#pragma once

#include <type_traits>

#include "llm/model/weight_format_enum.h"

namespace voltpile::llm {

// Calls `call` with the layout of a DeviceMatrix in `format` (gpu_layout()) as a compile-time constant: F16
// unless GPUs have kernels for it.
template <class Call>
void with_format(WeightFormat format, const Call& call) {
    switch (gpu_layout(format)) {
        case WeightFormat::Q8_0:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q8_0>());
        case WeightFormat::Q4_0:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q4_0>());
        case WeightFormat::Q4_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q4_K>());
        case WeightFormat::Q5_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q5_K>());
        case WeightFormat::Q6_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q6_K>());
        case WeightFormat::MXFP4:
            return call(std::integral_constant<WeightFormat, WeightFormat::MXFP4>());
        case WeightFormat::IQ4_NL:
            return call(std::integral_constant<WeightFormat, WeightFormat::IQ4_NL>());
        case WeightFormat::IQ4_XS:
            return call(std::integral_constant<WeightFormat, WeightFormat::IQ4_XS>());
        case WeightFormat::Q3_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q3_K>());
        case WeightFormat::Q2_K:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q2_K>());
        case WeightFormat::Q5_1:
            return call(std::integral_constant<WeightFormat, WeightFormat::Q5_1>());
        case WeightFormat::IQ2_S:
            return call(std::integral_constant<WeightFormat, WeightFormat::IQ2_S>());
        case WeightFormat::IQ3_S:
            return call(std::integral_constant<WeightFormat, WeightFormat::IQ3_S>());
        default:
            return call(std::integral_constant<WeightFormat, WeightFormat::F16>());
    }
}

}  // namespace voltpile::llm
