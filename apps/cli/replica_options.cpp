#include "cli/replica_options.h"

#include "cli/command.h"

#include <CLI/CLI.hpp>

namespace voltpile::cli {
namespace {

void add_switch(CLI::App& command, const char* name, bool& on, const char* help) {
    command
        .add_option_function<std::string>(
            name, [&on](const std::string& word) { on = word == "on"; }, help)
        ->check(CLI::IsMember({"on", "off"}))
        ->type_name("on|off");
}

}  // namespace

CLI::Option* add_model_option(CLI::App& command, std::string& path) {
    return command.add_option("MODEL", path, "a .gguf file, or a Hugging Face folder with safetensors")
        ->transform(shipped_file("data/tiny_model"))
        ->check(some_name());
}

void add_team_options(CLI::App& command, llm::ReplicaRequest& request) {
    command
        .add_option("--tensor", request.tensor,
                    "ranks that share each layer (tensor parallelism) [as many as possible]")
        ->check(CLI::Range(0, 1 << 10));
    command
        .add_option("--pipeline", request.pipeline,
                    "pipeline stages, each with a part of the layers [as few as hold the model]")
        ->check(CLI::Range(0, 1 << 10));
    command.add_flag_callback(
        "--cpu", [&request] { request.device = DeviceChoice::Cpu; },
        "compute on CPU cores even if there are GPUs");
    command
        .add_option("--ranks-per-node", request.ranks_per_node,
                    "treat each host as several nodes with this many ranks each [one node]")
        ->check(CLI::Range(0, 1 << 20));
    command
        .add_option_function<std::string>(
            "--cache",
            [&request](const std::string& element) {
                request.cache = element == "int8" ? llm::KvElement::I8 : llm::KvElement::F16;
            },
            "element type of the KV cache: int8 takes about half the memory and rounds more [fp16]")
        ->check(CLI::IsMember({"fp16", "int8"}))
        ->type_name("ELEMENT");
    add_switch(command, "--batch-invariant", request.batch_invariant,
               "on GPUs, make each sequence's result bit-identical in any batch; on CPUs it always is [off]");
    add_switch(command, "--clamp", request.clamp,
               "clamp activations to the largest fp16 number instead of overflowing to infinity [off]");
}

void add_replica_options(CLI::App& command, llm::ReplicaRequest& request) {
    add_team_options(command, request);
    command
        .add_option("--context", request.context,
                    "longest sequence in tokens, prompt included [what the model supports]")
        ->check(CLI::Range(2, 1 << 24));
}

}  // namespace voltpile::cli
