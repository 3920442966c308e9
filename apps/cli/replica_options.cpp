#include "cli/replica_options.h"

#include "cli/command.h"

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
    return command.add_option("MODEL", path, "a .gguf, or a Hugging Face folder with safetensors")
        ->check(some_name());
}

void add_team_options(CLI::App& command, llm::ReplicaRequest& request) {
    command
        .add_option("--tensor", request.tensor,
                    "ranks that share each layer (tensor parallelism) [as many as there are]")
        ->check(CLI::Range(0, 1 << 10));
    command
        .add_option("--pipeline", request.pipeline,
                    "stages that share out the layers (pipeline parallelism) [as few as hold the model]")
        ->check(CLI::Range(0, 1 << 10));
    command.add_flag_callback(
        "--cpu", [&request] { request.device = DeviceChoice::Cpu; }, "on cores even where there are GPUs");
    command
        .add_option("--ranks-per-node", request.ranks_per_node,
                    "a host counts as several nodes of so many ranks [as one]")
        ->check(CLI::Range(0, 1 << 20));
    command
        .add_option_function<std::string>(
            "--cache",
            [&request](const std::string& element) {
                request.cache = element == "int8" ? llm::KvElement::I8 : llm::KvElement::F16;
            },
            "keys and values in memory: int8 takes about half as much, and rounds more [fp16]")
        ->check(CLI::IsMember({"fp16", "int8"}))
        ->type_name("ELEMENT");
    add_switch(
        command, "--batch-invariant", request.batch_invariant,
        "on GPUs, a text is the same to the last bit whatever else is in the batch; on cores it always "
        "is [off]");
    add_switch(command, "--clamp", request.clamp,
               "activations that fp16 cannot hold become its largest number, and not infinite [off]");
}

void add_replica_options(CLI::App& command, llm::ReplicaRequest& request) {
    add_team_options(command, request);
    command
        .add_option("--context", request.context,
                    "room for so many tokens, prompt included [what the model was made for]")
        ->check(CLI::Range(2, 1 << 24));
}

}  // namespace voltpile::cli
