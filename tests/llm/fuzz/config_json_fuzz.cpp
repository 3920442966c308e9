// Fuzzes the parser of config.json: any input either parses or throws FileError.
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "llm/model/hf_config.h"
#include "llm/model/json_file.h"
#include "llm/model/tensor_table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace voltpile;
    try {
        const auto object = llm::parse_json_object({reinterpret_cast<const char*>(data), size}, "fuzz", 32);
        const llm::ModelConfig config = llm::config_from_json(object, "fuzz");
        llm::check_config(config, "fuzz");
        return llm::tensor_table(config).empty();
    } catch (const FileError&) {
        return 0;
    }
}
