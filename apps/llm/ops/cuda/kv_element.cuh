// What kernels need to know of the element of the KV cache.
#pragma once

#include <type_traits>

#include "llm/model/kv_element.h"

namespace voltpile::llm {

// Calls `call` with the element as a compile-time constant and returns its result.
template <class Call>
auto with_element(KvElement element, const Call& call) {
    switch (element) {
        case KvElement::F16:
            return call(std::integral_constant<KvElement, KvElement::F16>());
        case KvElement::I8:
            return call(std::integral_constant<KvElement, KvElement::I8>());
        case KvElement::F32:  // the plan refuses it for GPUs
        case KvElement::I4:
            break;
    }
    return call(std::integral_constant<KvElement, KvElement::I4>());
}

// kv_groups() on GPUs.
__device__ inline int groups_of_head(int head_dim) {
    constexpr int group = static_cast<int>(kKvGroup);
    return (head_dim + group - 1) / group;
}

}  // namespace voltpile::llm
