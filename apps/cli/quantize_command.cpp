#include "cli/quantize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "base/format.h"
#include "base/seconds_since.h"
#include "cli/eval_command.h"
#include "llm/model/model_files.h"
#include "llm/quantize/calibrate.h"
#include "llm/quantize/quantize_model.h"
#include "llm/tokenizer/model_tokenizer.h"
#include "results/output_file.h"
#include "run/agreement.h"
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
    std::string calibrate;  // a text; empty: none
    std::string compare;    // a text; empty: none
    bool force = false;
    int threads = 0;  // 0: all logical processors

    std::size_t thread_count() const {
        return threads > 0 ? static_cast<std::size_t>(threads)
                           : std::max(1u, std::thread::hardware_concurrency());
    }
};

llm::QuantMixture mixture_of(const QuantizeArguments& args) {
    const auto mixture = llm::find_mixture(args.mixture);
    if (!mixture)
        throw JobError(fmt::format("--quant: there is no quantization {} (supported: {})", args.mixture,
                                   llm::mixture_names(llm::kWrittenMixtures)));
    return *mixture;
}

void check_output(const QuantizeArguments& args, const llm::ModelFiles& model) {
    const std::vector<std::string> read = model.paths();
    check_output_place(args.output, "OUT", {read.begin(), read.end()});
    if (!args.force && fs::exists(args.output))
        throw JobError(fmt::format("OUT: {} exists (--force replaces it)", args.output));
}

// The progress line of one of the steps, which a signal stops.
class QuantizeProgress {
  public:
    // step, unit: "quantizing", "weights". output: for the message of a stopped run.
    QuantizeProgress(std::string_view step, std::string_view unit, double all, StopSignals& signals,
                     const std::string& output)
        : step_(step),
          unit_(unit),
          all_(all),
          signals_(signals),
          output_(output),
          line_(terminal_columns()) {}

    void show(double done) {
        if (signals_.received() > 0) throw Error(ExitCode::Failed, "stopped: " + output_ + " is not written");
        if (line_.due(seconds()))
            line_.show(
                fmt::format("{} {:5.1f} %  {:.3g} {}/s", step_, 100 * done / all_, done / seconds(), unit_));
    }
    void clear() { line_.clear(); }
    double seconds() const { return seconds_since(begin_); }

  private:
    std::string_view step_, unit_;
    double all_;
    StopSignals& signals_;
    const std::string& output_;
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

// Encodes a text. Names of special tokens in it ("<|end_of_text|>") are text.
std::vector<llm::TokenId> tokens_of(std::string_view text, const std::string& path,
                                    const llm::Tokenizer& tokenizer) {
    return tokenizer.encode(text, {.add_special = false, .parse_special = false}, path);
}

// Returns where the part of a calibration text begins that is kept for the comparison: its last tenth, at
// most 16 KiB, from the beginning of a line on if one begins in the first half of it.
std::size_t kept_part(std::string_view text) {
    constexpr std::size_t most = 16384;
    std::size_t begin = text.size() - std::min(text.size() / 10, most);
    if (const std::size_t line = text.find('\n', begin); line < begin + (text.size() - begin) / 2)
        return line + 1;
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    while (begin < text.size() && continues(text[begin])) ++begin;  // not within a UTF-8 character
    return begin;
}

// The texts of a run.
struct QuantizeTexts {
    std::vector<llm::TokenId> calibrates;
    std::string compares;     // the file; empty: none
    std::string kept;         // of --calibrate, if that is the file
    std::string no_text_why;  // without a file
};

// Keeps a part of a calibration text for the comparison, if both parts are long enough.
void keep_part(const std::string& text, const std::string& path, const llm::Tokenizer& tokenizer,
               QuantizeTexts& texts) {
    const std::size_t begin = kept_part(text);
    std::string kept = text.substr(begin);
    std::vector<llm::TokenId> others = tokens_of(std::string_view(text).substr(0, begin), path, tokenizer);
    if (std::ssize(others) < llm::kLeastCalibrationTokens || tokens_of(kept, path, tokenizer).size() < 2) {
        texts.no_text_why = fmt::format("{} is too short to keep a part of it", path);
        return;
    }
    texts.calibrates = std::move(others);
    texts.compares = path;
    texts.kept = std::move(kept);
}

// Reads and checks the texts before any work. Without --compare, a part of --calibrate is kept for it.
QuantizeTexts read_texts(const QuantizeArguments& args, const llm::Tokenizer& tokenizer) {
    if (args.calibrate == "-" || args.compare == "-")
        throw JobError("--calibrate and --compare take files, because they are read more than once");
    QuantizeTexts texts;
    texts.compares = args.compare;
    if (!args.calibrate.empty()) {
        const std::string text = read_text(args.calibrate);
        texts.calibrates = tokens_of(text, args.calibrate, tokenizer);
        llm::check_calibration_text(texts.calibrates, args.calibrate);
        if (args.compare.empty()) keep_part(text, args.calibrate, tokenizer, texts);
    }
    if (!args.compare.empty() && tokens_of(read_text(args.compare), args.compare, tokenizer).size() < 2)
        throw JobError(fmt::format("--compare: {} has fewer than 2 tokens", args.compare));
    return texts;
}

// Returns the texts, with what is to be compared.
QuantizeTexts quantize(const QuantizeArguments& args) {
    llm::QuantizeSettings settings;
    settings.mixture = mixture_of(args);
    settings.threads = args.thread_count();
    const llm::ModelFiles model(args.input, llm::Columns::AsStored);
    check_output(args, model);
    const auto input = model.gguf() != nullptr ? llm::open_gguf_input(model) : llm::open_folder_input(model);
    StopSignals signals;  // an interrupted run removes its file, which may have 100 GB
    llm::ImportanceMatrix importance;
    QuantizeTexts texts;
    if (!args.calibrate.empty() || !args.compare.empty()) {
        const llm::Tokenizer tokenizer = llm::load_tokenizer(model);
        texts = read_texts(args, tokenizer);
        const std::vector<llm::TokenId>& tokens = texts.calibrates;
        const auto& prefix = tokenizer.vocabulary().prefix;
        if (!tokens.empty()) {
            QuantizeProgress progress("calibrating", "tokens", static_cast<double>(tokens.size()), signals,
                                      args.output);
            importance = llm::calibrate(model, tokens, prefix.empty() ? -1 : prefix.front(), settings.threads,
                                        [&](std::int64_t done) { progress.show(static_cast<double>(done)); });
            importance.text = fs::path(args.calibrate).filename();
            progress.clear();
            fmt::print("{:<15}{} tokens of {} in {}\n", "calibrated", count_text(importance.tokens),
                       args.calibrate, duration_text(progress.seconds()));
            settings.importance = &importance;
        }
    }
    QuantizeProgress progress("quantizing", "weights", static_cast<double>(weights_of(*input)), signals,
                              args.output);
    settings.progress = [&](std::uint64_t done) { progress.show(static_cast<double>(done)); };
    const llm::QuantizeResult result = llm::quantize_model(*input, model.config(), args.output, settings);
    progress.clear();
    print_result(args, result, progress.seconds());
    return texts;
}

void print_no_divergence(const std::string& why) {
    fmt::print("{:<15}not measured: {}\n", "KL divergence", why);
}

ExitCode quantize_and_compare(const Invocation& invocation, const QuantizeArguments& args) {
    if (args.compare.empty() && args.calibrate.empty()) {
        if (launched_rank() != 0) return ExitCode::Done;
        quantize(args);
        print_no_divergence("it takes a text (--compare TEXT or --calibrate TEXT)");
        return ExitCode::Done;
    }
    return with_mpi(invocation, [&](const MpiSession& session) {
        const bool root = session.world().rank() == 0;
        EvalArguments eval;
        eval.text = decide_on_root(session.world(), [&] {
            QuantizeTexts texts = quantize(args);
            eval.given = std::move(texts.kept);
            if (texts.compares.empty()) print_no_divergence(texts.no_text_why);
            return texts.compares;
        });
        if (eval.text.empty()) return ExitCode::Done;
        eval.model = args.output;
        eval.reference = args.input;
        if (!args.compare.empty()) return evaluate_model(session, std::move(eval));
        // Nobody asked for this, so it runs where the text calibrated, and cannot fail a run whose file is
        // written.
        eval.replica.device = DeviceChoice::Cpu;
        try {
            return evaluate_model(session, std::move(eval));
        } catch (const AgreedError& error) {
            if (root) print_no_divergence(error.what());
            return ExitCode::Done;
        }
    });
}

}  // namespace

void add_quantize(CLI::App& model, Action& action) {
    CLI::App* command = model.add_subcommand("quantize", "write a model with fewer bits a weight, as GGUF");
    command->footer(
        "examples:\n"
        "  voltpile model quantize folder q4_k_m.gguf --quant q4_k_m\n"
        "  voltpile model quantize f16.gguf q3_k_m.gguf --quant q3_k_m --calibrate text.txt");
    auto args = std::make_shared<QuantizeArguments>();
    command->add_option("IN", args->input, "a GGUF file or a Hugging Face folder in F16, BF16, F32 or Q8_0")
        ->required()
        ->check(some_name());
    command->add_option("OUT", args->output, "the GGUF file to write")->required()->check(some_name());
    command->add_option("--quant", args->mixture, llm::mixture_names(llm::kWrittenMixtures))
        ->type_name("NAME")
        ->required();
    command->add_flag("--force", args->force, "replace OUT if it exists");
    command->add_option("--threads", args->threads, "threads that quantize [all logical processors]")
        ->check(CLI::Range(1, 1024));
    command
        ->add_option("--calibrate", args->calibrate,
                     "run this text through IN, and give more precision to weights that matter for it")
        ->type_name("TEXT")
        ->check(some_name());
    command
        ->add_option(
            "--compare", args->compare,
            "at the end, measure perplexity and KL divergence from IN on this text [the last tenth of "
            "--calibrate, which then does not calibrate]")
        ->type_name("TEXT")
        ->check(some_name());
    command->callback([args, &action] {
        action = [args](const Invocation& invocation) { return quantize_and_compare(invocation, *args); };
    });
}

}  // namespace voltpile::cli
