// The options that load LoRA adapters.
#pragma once

#include <string>
#include <vector>

#include "llm/model/lora/lora_adapter.h"

namespace CLI {
class App;
}

namespace voltpile::cli {

// Adds --lora NAME=FOLDER, which may be given several times. `choices` must outlive the parser.
void add_lora_option(CLI::App& command, std::vector<llm::AdapterChoice>& choices);

// Adds it and --adapter NAME. `choices` and `adapter` must outlive the parser.
void add_lora_options(CLI::App& command, std::vector<llm::AdapterChoice>& choices, std::string& adapter);

// Returns the adapter that a command uses: `adapter`, or the first one. Throws JobError if there is none of
// this name.
std::string chosen_adapter(const std::vector<llm::AdapterChoice>& choices, const std::string& adapter);

}  // namespace voltpile::cli
