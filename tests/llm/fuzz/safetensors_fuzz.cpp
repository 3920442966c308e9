// Fuzzes the safetensors parser: any input either parses or throws FileError.
#include <cstdint>

#include "base/error.h"
#include "llm/model/safetensors_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace voltpile;
    try {
        const llm::SafetensorsFile file({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
        unsigned sum = 0;
        for (const auto& [name, tensor] : file.tensors())
            sum +=
                static_cast<unsigned>(tensor.data[0]) + static_cast<unsigned>(tensor.data[tensor.bytes - 1]);
        return sum == ~0u;
    } catch (const FileError&) {
        return 0;
    }
}
