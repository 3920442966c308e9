// Turns a weight format known at run time into a compile-time constant.
#pragma once

#include <type_traits>
#include <utility>

#include "llm/model/weight_format_list.h"

namespace voltpile::llm {

// Calls `call` with `format` as a compile-time constant, if `among` of it is true. Returns whether it is.
template <bool (*among)(WeightFormat), class Call>
bool with_format_among(WeightFormat format, const Call& call) {
    const auto calls = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
        constexpr auto candidate = static_cast<WeightFormat>(i);
        if constexpr (among(candidate)) {
            if (format == candidate) call(std::integral_constant<WeightFormat, candidate>());
            return format == candidate;
        } else {
            return false;
        }
    };
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return (calls(std::integral_constant<std::size_t, i>()) || ...);
    }
    (std::make_index_sequence<kWeightFormats.size()>());
}

constexpr bool has_kernels(WeightFormat format) {
    return info(format).gpu.kernels == OnGpu::Kernels::Own;
}
// Calls `call` with the layout of a DeviceMatrix in `format` (gpu_layout()): F16 unless GPUs have kernels for
// it.
template <class Call>
void with_format(WeightFormat format, const Call& call) {
    if (!with_format_among<has_kernels>(gpu_layout(format), call))
        call(std::integral_constant<WeightFormat, WeightFormat::F16>());
}

template <WeightFormat layout>
constexpr bool has_layout(WeightFormat format) {
    return gpu_format(format) == format && gpu_layout(format) == layout;
}
// Calls `call` with `format`, which must have this layout.
template <WeightFormat layout, class Call>
void with_format_of_layout(WeightFormat format, const Call& call) {
    with_format_among<has_layout<layout>>(format, call);
}

}  // namespace voltpile::llm
