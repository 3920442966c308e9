#include "cli/lora_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"

namespace voltpile::cli {

void add_lora_option(CLI::App& command, std::vector<llm::AdapterChoice>& choices) {
    command
        .add_option_function<std::vector<std::string>>(
            "--lora",
            [&choices](const std::vector<std::string>& texts) {
                try {
                    choices = llm::adapter_choices(texts);
                } catch (const JobError& error) {
                    throw CLI::ValidationError("--lora", error.what());
                }
            },
            "load a LoRA adapter: a folder as PEFT writes it, or a GGUF file; may be given several times")
        ->type_name("NAME=FOLDER")
        ->allow_extra_args(false);
}

void add_lora_options(CLI::App& command, std::vector<llm::AdapterChoice>& choices, std::string& adapter) {
    add_lora_option(command, choices);
    command.add_option("--adapter", adapter, "name of the adapter to use [the first]")
        ->type_name("NAME")
        ->needs(command.get_option("--lora"));
}

std::string chosen_adapter(const std::vector<llm::AdapterChoice>& choices, const std::string& adapter) {
    if (choices.empty()) return "";
    if (adapter.empty()) return choices.front().name;
    if (std::ranges::find(choices, adapter, &llm::AdapterChoice::name) == choices.end())
        throw JobError(fmt::format("--adapter {}: there is no --lora {}=FOLDER", adapter, adapter));
    return adapter;
}

}  // namespace voltpile::cli
