// Fuzzes the GGUF parser and the model description in its metadata: any input either parses or throws
// FileError.
#include <cstdint>

#include "base/error.h"
#include "llm/model/gguf_config.h"
#include "llm/model/gguf_file.h"
#include "llm/model/tensor_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace voltpile;
    try {
        const llm::GgufFile file({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
        unsigned sum = 0;  // reads the tensors' bytes: their bounds must be inside the file
        for (const auto& [name, tensor] : file.tensors())
            sum +=
                static_cast<unsigned>(tensor.data[0]) + static_cast<unsigned>(tensor.data[tensor.bytes - 1]);
        const llm::ModelConfig config = llm::config_from_gguf(file, file.tensors());
        return llm::tensor_table(config).empty() || sum == ~0u;
    } catch (const FileError&) {
        return 0;
    }
}
