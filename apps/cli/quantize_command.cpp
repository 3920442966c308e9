#include "cli/quantize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/format.h"
#include "base/seconds_since.h"
#include "cli/replica_options.h"
#include "llm/model/model_files.h"
#include "llm/quantize/quantize_model.h"
#include "results/output_file.h"
#include "run/parent_launcher.h"
#include "run/progress.h"
#include "run/stop_signals.h"

namespace voltpile::cli {
namespace {

namespace fs = std::filesystem;

struct QuantizeArguments {
    std::string input;
    std::string output;
    std::string mixture;
    bool force = false;
    int threads = 0;
};

llm::QuantMixture mixture_of(const QuantizeArguments& args) {
    const auto mixture = llm::find_mixture(args.mixture);
    if (!mixture)
        throw JobError(fmt::format("--quant: there is no quantization {} (supported: {})", args.mixture,
                                   llm::mixture_names(llm::kQuantMixtures)));
    return *mixture;
}

void check_output(const QuantizeArguments& args, const llm::ModelFiles& model) {
    const std::vector<std::string> read = model.paths();
    check_output_place(args.output, "OUT", {read.begin(), read.end()});
    if (!args.force && fs::exists(args.output))
        throw JobError(fmt::format("OUT: {} exists (--force replaces it)", args.output));
}

// The progress line.
class QuantizeProgress {
  public:
    explicit QuantizeProgress(std::uint64_t all) : all_(all), line_(terminal_columns()) {}

    void show(std::uint64_t done) {
        if (!line_.due(seconds())) return;
        line_.show(fmt::format("quantizing {:5.1f} %  {:.3g} weights/s",
                               100 * static_cast<double>(done) / static_cast<double>(all_),
                               static_cast<double>(done) / seconds()));
    }
    void clear() { line_.clear(); }
    double seconds() const { return seconds_since(begin_); }

  private:
    std::uint64_t all_;
    LiveLine line_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::uint64_t weights_of(const llm::QuantizeInput& input) {
    std::uint64_t all = 0;
    for (const llm::ModelTensor& tensor : input.tensors()) all += tensor.rows * tensor.columns;
    return all;
}

void print_result(const QuantizeArguments& args, const llm::QuantizeResult& result, double seconds) {
    std::string formats;
    for (const auto& [format, count] : result.tensors)
        formats += fmt::format("{}{} {}", formats.empty() ? "" : ", ", name(format), count);
    fmt::print("{:<15}{}: {}, {:.2f} bits a weight, in {}\n", "wrote", args.output,
               bytes_text(static_cast<double>(result.bytes)),
               8 * static_cast<double>(result.bytes) / static_cast<double>(result.weights),
               duration_text(seconds));
    fmt::print("{:<15}{}\n", "matrices", formats);
    fmt::print("{:<15}{:.4f} of the weights' root mean square", "error", result.error);
    if (!result.worst.empty()) fmt::print(", at most {:.4f} in {}", result.worst_error, result.worst);
    fmt::print("\n");
}

ExitCode quantize(const QuantizeArguments& args) {
    llm::QuantizeSettings settings;
    settings.mixture = mixture_of(args);
    const llm::ModelFiles model(args.input);
    check_output(args, model);
    const auto input = model.gguf() != nullptr ? llm::open_gguf_input(model) : llm::open_folder_input(model);
    settings.threads = args.threads > 0 ? static_cast<std::size_t>(args.threads)
                                        : std::max(1u, std::thread::hardware_concurrency());
    StopSignals signals;  // an interrupted run removes its file, which may have 100 GB
    QuantizeProgress progress(weights_of(*input));
    settings.progress = [&](std::uint64_t done) {
        if (signals.received() > 0)
            throw Error(ExitCode::Failed, "stopped: " + args.output + " is not written");
        progress.show(done);
    };
    const llm::QuantizeResult result = llm::quantize_model(*input, model.config(), args.output, settings);
    progress.clear();
    print_result(args, result, progress.seconds());
    return ExitCode::Done;
}

}  // namespace

void add_quantize(CLI::App& model, Action& action) {
    CLI::App* command = model.add_subcommand("quantize", "write a model with fewer bits a weight, as GGUF");
    auto args = std::make_shared<QuantizeArguments>();
    command->add_option("IN", args->input, "a GGUF file or a Hugging Face folder in F16, BF16, F32 or Q8_0")
        ->required()
        ->check(some_name());
    command->add_option("OUT", args->output, "the GGUF file to write")->required()->check(some_name());
    command->add_option("--quant", args->mixture, llm::mixture_names(llm::kQuantMixtures))
        ->type_name("NAME")
        ->required();
    command->add_flag("--force", args->force, "replace OUT if it exists");
    command->add_option("--threads", args->threads, "threads that quantize [all logical processors]")
        ->check(CLI::Range(1, 1024));
    command->callback(
        [args, &action] { action = on_first_rank([args](const Invocation&) { return quantize(*args); }); });
}

}  // namespace voltpile::cli
