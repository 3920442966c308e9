#include "cli/replica_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/field_options.h"
#include "llm/model/kv_element_names.h"
#include "llm/replica/replica_fields.h"

namespace voltpile::cli {
namespace {

// Adds the option of one field; its type decides which.
class ReplicaOption {
  public:
    ReplicaOption(CLI::App& command, llm::ReplicaRequest& request, const llm::ReplicaField& field)
        : command_(command), field_(field), name_(option_name(field.name)), help_(field.help) {
        std::visit([&](auto member) { add(request.*member); }, field.member);
    }

  private:
    void add(int& value) { add_range_option(command_, name_, value, field_.least, field_.most, help_); }
    void add(bool& on) { add_on_off_option(command_, name_, on, help_); }

    CLI::App& command_;
    const llm::ReplicaField& field_;
    std::string name_;
    std::string help_;
};

}  // namespace

CLI::Option* add_model_option(CLI::App& command, std::string& path) {
    return command.add_option("MODEL", path, "a .gguf file, or a Hugging Face folder with safetensors")
        ->transform(shipped_file("data/tiny_model"))
        ->check(some_name());
}

void add_team_options(CLI::App& command, llm::ReplicaRequest& request) {
    add_replica_fields(command, request, {"tensor", "pipeline"});
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
            [&request](const std::string& element) { request.cache = llm::kv_element_of(element); },
            "element type of the KV cache: int8 takes about half the memory and int4 a third, and they round "
            "more; fp32, on cores only, takes twice as much and rounds nothing [fp16]")
        ->check(
            CLI::IsMember(std::vector<std::string>(llm::kKvElementNames.begin(), llm::kKvElementNames.end())))
        ->type_name("ELEMENT");
    add_replica_fields(command, request, {"experts_on_host", "context_parallel", "batch_invariant", "clamp"});
}

void add_replica_options(CLI::App& command, llm::ReplicaRequest& request) {
    add_team_options(command, request);
    add_replica_fields(command, request, {"context"});
}

void add_speculate_options(CLI::App& command, llm::ReplicaRequest& request, std::string& draft) {
    CLI::Option* const kind =
        command
            .add_option_function<std::string>(
                "--speculate",
                [&request](const std::string& name) { request.speculate = llm::speculate_of(name); },
                fmt::format("{} [off]", llm::kSpeculateHelp))
            ->check(CLI::IsMember(
                std::vector<std::string>(llm::kSpeculateNames.begin(), llm::kSpeculateNames.end())))
            ->type_name("KIND");
    CLI::Option* const model = add_draft_option(command, draft);
    model->excludes(kind);
    add_replica_fields(command, request, {"draft_tokens", "draft_ranks"});
    command.get_option("--draft-ranks")->needs(model);
    const CLI::Option* const tokens = command.get_option("--draft-tokens");
    command.parse_complete_callback([kind, model, tokens] {
        if (tokens->count() > 0 && kind->count() + model->count() == 0)
            throw CLI::RequiresError("--draft-tokens", "--speculate or --draft");
    });
}

CLI::Option* add_draft_option(CLI::App& command, std::string& draft) {
    return command.add_option("--draft", draft, std::string(llm::kDraftHelp))
        ->transform(shipped_file("data/tiny_model"))
        ->check(some_name())
        ->type_name("MODEL");
}

void add_replica_fields(CLI::App& command, llm::ReplicaRequest& request,
                        std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) ReplicaOption(command, request, llm::replica_field(name));
}

}  // namespace voltpile::cli
