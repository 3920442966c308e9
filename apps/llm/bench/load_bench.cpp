#include "llm/bench/load_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "llm/bench/load_report.h"
#include "llm/bench/load_run.h"
#include "llm/session/draft_model.h"
#include "llm/session/session.h"
#include "run/agreement.h"
#include "run/parent_launcher.h"
#include "run/progress.h"
#include "run/provenance.h"

namespace voltpile::llm {
namespace {

constexpr int most_sequences = 256;  // by default

// Throws JobError.
void check_load(const LlmBenchOptions& options, const ModelConfig& config) {
    const LoadSettings& load = options.load;
    if (load.context() > config.context)
        throw JobError(fmt::format("sequences of up to {} tokens exceed the model's context of {}",
                                   load.context(), config.context));
    if (const std::int64_t cache = options.request.cache_tokens; cache > 0 && cache < load.context())
        throw JobError(fmt::format("--cache-tokens: {} are too few for one sequence of up to {} tokens",
                                   cache, load.context()));
    if (load.grammar) check_grammar(*load.grammar);
    if (load.interrupt_prompt > 0 && options.sequences < load.requests)
        throw JobError(
            fmt::format("--interrupt-with: all requests must generate at once, but only {} of {} can",
                        options.sequences, load.requests));
}

// Completes the request for the replica.
void fill_in_load_request(LlmBenchOptions& options) {
    const LoadSettings& load = options.load;
    ReplicaRequest& request = options.request;
    request.context = load.context();
    // The interrupting sequence needs a place beside the others.
    request.sequences = request.logits = options.sequences + (load.interrupt_prompt > 0 ? 1 : 0);
    request.shrinks = true;
}

class LoadBench {
  public:
    LoadBench(const Session& session, const LlmBenchOptions& options)
        : session_(session), options_(options), line_(terminal_columns()) {}

    // Collective over the replica.
    void run() {
        const Replica& replica = session_.replica();
        LoadReport report;
        report.settings = options_.load;
        LoadSettings free = options_.load;
        free.grammar.reset();
        // With text for both, so that they differ by the masks only.
        const bool text = options_.load.grammar.has_value();
        session_.answer({.many = true, .text = text, .agreement = options_.agreement},
                        [&](Engine& engine) { report.result = measure(engine, free); });
        if (text)
            session_.answer({.many = true},
                            [&](Engine& engine) { report.within_grammar = measure(engine, options_.load); });
        if (!replica.leads()) return;
        line_.clear();
        report.processor = replica.describe();
        report.model = model_text(session_.model());
        fmt::print("{}", options_.json ? to_json(report) + "\n" : to_text(report));
        if (options_.output.empty()) return;
        write_load(options_.output, report, make_provenance(replica.plan().plan, options_.command_line));
        if (!options_.json) fmt::print("-> {}\n", options_.output.string());
    }

  private:
    LoadResult measure(Engine& engine, const LoadSettings& load) {
        const auto vocabulary = static_cast<int>(session_.model().config().vocab);
        const int pages = session_.replica().plan().pages;
        return run_load(engine, load, vocabulary, options_.sequences, pages, [&](const EngineCounters& now) {
            if (terminal_columns() > 0 && now.passes % 32 == 0)
                line_.show(fmt::format("{} of {} answered, batch {}, cache {:.0f} %", now.requests,
                                       load.requests, now.scheduler.running,
                                       100.0 * now.scheduler.pages_in_use / pages));
        });
    }

    const Session& session_;
    const LlmBenchOptions& options_;
    LiveLine line_;
};

}  // namespace

void run_load_bench(const MpiSession& mpi, LlmBenchOptions options) {
    check_output(mpi.world(), options);
    const auto model = open_model(mpi.world(), options);
    options.load.adapters = model->adapter_names();
    if (options.sequences == 0) options.sequences = std::min(options.load.requests, most_sequences);
    agreed([&] {
        check_load(options, model->config());
        return true;
    });
    fill_in_load_request(options);
    std::unique_ptr<LanguageModel> draft;
    if (!options.draft.empty() || !options.draft_shape.empty())
        draft = open_draft(&mpi.world(),
                           {.path = options.draft, .shape = options.draft_shape, .quant = options.quant},
                           *model, options.request);
    ReplicaPlan plan = agreed_plan(mpi, model->source(), options.request);
    with_session(mpi, *model, std::move(plan),
                 [&](const Session& session) { LoadBench(session, options).run(); });
}

}  // namespace voltpile::llm
