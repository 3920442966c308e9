#include "llm/quantize/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/format.h"
#include "llm/decoder/batch_builder.h"
#include "llm/decoder/decoder.h"
#include "llm/eval/eval_windows.h"
#include "llm/quantize/importance_ops.h"

namespace voltpile::llm {
namespace {

constexpr std::int64_t kWindow = 512;  // tokens
constexpr int kPassRows = 128;         // each of them computes logits, so that the head has inputs

}  // namespace

void check_calibration_text(std::span<const TokenId> tokens, const std::string& name) {
    if (std::ssize(tokens) < kLeastCalibrationTokens)
        throw JobError(fmt::format("--calibrate: {} has {} tokens; an importance matrix takes at least {}",
                                   name, count_text(std::ssize(tokens)),
                                   count_text(kLeastCalibrationTokens)));
}

ImportanceMatrix calibrate(const ModelFiles& model, std::span<const TokenId> tokens, TokenId begin_token,
                           std::size_t threads, const std::function<void(std::int64_t)>& progress) {
    EvalCut cut;
    cut.window = static_cast<int>(std::min(kWindow, model.config().context));
    if (begin_token >= 0) cut.begin_token = begin_token;
    const std::vector<EvalWindow> windows = cut_for_eval(tokens, cut);
    const int pages = (cut.window + kv_page_tokens - 1) / kv_page_tokens;

    ImportanceOps ops(model, std::vector<int>(threads, -1));
    NoLinks links;
    DecoderSettings settings;
    settings.layer_end = static_cast<int>(model.config().layers);
    settings.pages = pages;
    settings.limits = {kPassRows, 1, pages, kPassRows};
    Decoder decoder(ops.model(), ops, links, settings);
    BatchBuffer buffer(ops, settings.limits);
    PagePool pool(pages);
    std::int64_t done = 0;
    for (const EvalWindow& window : windows) {
        const std::vector<std::int32_t> all = window.tokens();
        SequencePages of_window(pool);
        of_window.reserve(static_cast<int>(all.size()));
        for (std::size_t begin = 0; begin < all.size(); begin += kPassRows) {
            const std::size_t count = std::min<std::size_t>(kPassRows, all.size() - begin);
            BatchBuilder builder;
            builder.add(of_window, std::span(all).subspan(begin, count), static_cast<int>(begin),
                        WantLogits::All);
            const Batch batch = builder.take();
            decoder.forward(buffer.upload(batch));
            decoder.check(batch);
            progress(done += static_cast<std::int64_t>(count));
        }
    }
    ImportanceMatrix importance = ops.importance();
    importance.tokens = std::ssize(tokens);
    importance.windows = std::ssize(windows);
    return importance;
}

}  // namespace voltpile::llm
