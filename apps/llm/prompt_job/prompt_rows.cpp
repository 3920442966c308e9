#include "llm/prompt_job/prompt_rows.h"

#include <iterator>
#include <utility>

#include "llm/grammar/thinking_text.h"
#include "results/message_lines.h"

namespace voltpile::llm {
namespace {

constexpr std::int64_t usual_bytes_per_token = 5;

FieldSpec field(std::string name, FieldType type, std::string unit, std::string long_name) {
    FieldSpec spec;
    spec.name = std::move(name);
    spec.type = type;
    spec.unit = std::move(unit);
    spec.long_name = std::move(long_name);
    return spec;
}

FieldSpec variable(FieldSpec spec, FieldShape shape, double length) {
    spec.shape = shape;
    spec.usual_length = static_cast<std::int64_t>(length);
    return spec;
}

FieldSpec text(std::string name, std::string long_name, double length) {
    return variable(field(std::move(name), FieldType::Int32, "1", std::move(long_name)), FieldShape::Text,
                    length);
}

FieldSpec list(std::string name, FieldType type, std::string long_name, double length) {
    return variable(field(std::move(name), type, "1", std::move(long_name)), FieldShape::List, length);
}

// In the order of Finish; part of the file format.
const std::vector<std::string> finish_labels{"end", "length", "context", "stop", "error"};

std::int32_t label_of(Finish finish) {
    switch (finish) {
        case Finish::End:
            return 0;
        case Finish::Length:
            return 1;
        case Finish::Context:
            return 2;
        case Finish::Stopped:
            return 3;
        case Finish::Failed:
        case Finish::Cancelled:
            return 4;
    }
    return 4;
}

template <class T>
class Column {
  public:
    void add(T value) { values_.push_back(value); }
    FieldBuffer take() const {
        const auto bytes = std::as_bytes(std::span(values_));
        return {bytes.begin(), bytes.end()};
    }

  private:
    std::vector<T> values_;
};

// The rows of one range, in the order of prompt_fields().
struct Columns {
    RowsBuilder text, tokens, log_probability, top_tokens, top_log_probability, error, prompt_text, id,
        source;
    Column<std::int32_t> finish, prompt_tokens;
    Column<double> prompt_seconds, generation_seconds, queue_seconds;

    void add(const Prompt& prompt, const Outcome& outcome) {
        const RequestSettings& settings = prompt.settings;
        text.add(settings.channels ? text_of_channels(outcome.text, settings.grammar.has_value())
                                   : outcome.text);
        tokens.add(std::span<const std::int32_t>(outcome.tokens));
        log_probability.add(std::span<const float>(outcome.log_probability));
        std::vector<std::int32_t> top;
        std::vector<float> top_logs;
        for (const TopTokens& each : outcome.top) {
            top.insert(top.end(), each.token.begin(), each.token.end());
            top_logs.insert(top_logs.end(), each.log_probability.begin(), each.log_probability.end());
        }
        top_tokens.add(std::span<const std::int32_t>(top));
        top_log_probability.add(std::span<const float>(top_logs));
        finish.add(label_of(outcome.finish));
        error.add(outcome.error);
        prompt_tokens.add(outcome.prompt_tokens);
        prompt_seconds.add(outcome.prompt_seconds);
        generation_seconds.add(outcome.generation_seconds);
        queue_seconds.add(outcome.queue_seconds);
        prompt_text.add(prompt.text);
        id.add(prompt.id);
        source.add(prompt.place);
    }

    std::vector<FieldBuffer> take(bool with_top) {
        std::vector<FieldBuffer> all{text.take(), tokens.take(), log_probability.take()};
        if (with_top) {
            all.push_back(top_tokens.take());
            all.push_back(top_log_probability.take());
        }
        for (FieldBuffer& each :
             std::vector<FieldBuffer>{finish.take(), error.take(), prompt_tokens.take(),
                                      prompt_seconds.take(), generation_seconds.take(), queue_seconds.take(),
                                      prompt_text.take(), id.take(), source.take()})
            all.push_back(std::move(each));
        return all;
    }
};

}  // namespace

std::vector<FieldSpec> prompt_fields(int top_n, double tokens, double prompt_tokens) {
    std::vector<FieldSpec> fields{
        text(kAnswerField, "what the model wrote", tokens * usual_bytes_per_token),
        list("tokens", FieldType::Int32, "the tokens drawn, but for one that ended the text", tokens),
        list("log_probability", FieldType::Float32,
             "natural logarithm of each token's probability, before sampling", tokens)};
    if (top_n > 0) {
        fields.push_back(
            list("top_tokens", FieldType::Int32,
                 "the most probable tokens at each token's place, the same number at each, best first",
                 tokens * top_n));
        fields.push_back(list("top_log_probability", FieldType::Float32,
                              "natural logarithms of their probabilities", tokens * top_n));
    }
    FieldSpec finish = field("finish_reason", FieldType::Int32, "1", "why the text ended");
    finish.labels = finish_labels;
    for (FieldSpec& each : std::vector<FieldSpec>{
             finish, text(kErrorField, "why there is no text; empty: there is one", 0),
             field("prompt_tokens", FieldType::Int32, "1", "tokens of the prompt"),
             field("prompt_seconds", FieldType::Float64, "s", "from its admission to the first token"),
             field("generation_seconds", FieldType::Float64, "s", "from the first token to the last"),
             field("queue_seconds", FieldType::Float64, "s", "until it was admitted"),
             text(kPromptField, "the prompt, or the messages as JSON", prompt_tokens * usual_bytes_per_token),
             text("id", "the line's own id; empty: none", 0),
             text("source", "file and line of the prompt", 32)})
        fields.push_back(std::move(each));
    return fields;
}

PromptRows::PromptRows(const std::vector<Prompt>& prompts, int top_n, Submit submit)
    : prompts_(prompts), top_n_(top_n), submit_(std::move(submit)) {}

std::vector<std::int64_t> PromptRows::begin(WorkRange range) {
    OpenRange open;
    open.range = range;
    open.rows.resize(static_cast<std::size_t>(range.size()));
    std::vector<std::int64_t> usable;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
        const Prompt& prompt = prompts_[static_cast<std::size_t>(i)];
        if (prompt.error.empty()) {
            usable.push_back(i);
            continue;
        }
        Outcome outcome;
        outcome.finish = Finish::Failed;
        outcome.error = prompt.error;
        open.rows[static_cast<std::size_t>(i - range.begin)] = std::move(outcome);
    }
    open.missing = std::ssize(usable);
    if (open.missing == 0)
        submit(open, range);
    else
        open_.emplace(range.begin, std::move(open));
    return usable;
}

void PromptRows::add(Outcome outcome) {
    const auto found = std::prev(open_.upper_bound(outcome.id));
    OpenRange& open = found->second;
    open.rows[static_cast<std::size_t>(outcome.id - open.range.begin)] = std::move(outcome);
    if (--open.missing > 0) return;
    submit(open, open.range);
    open_.erase(found);
}

void PromptRows::submit_rest() {
    for (const auto& [begin, open] : open_) {
        const auto there = [&open = open](std::int64_t i) {
            return open.rows[static_cast<std::size_t>(i - open.range.begin)].has_value();
        };
        for (std::int64_t i = open.range.begin; i < open.range.end;) {
            const std::int64_t first = i++;
            if (!there(first)) continue;
            while (i < open.range.end && there(i)) ++i;
            submit(open, {first, i});
        }
    }
    open_.clear();
}

void PromptRows::submit(const OpenRange& open, WorkRange piece) const {
    Columns columns;
    for (std::int64_t i = piece.begin; i < piece.end; ++i)
        columns.add(prompts_[static_cast<std::size_t>(i)],
                    *open.rows[static_cast<std::size_t>(i - open.range.begin)]);
    submit_(piece, columns.take(top_n_ > 0));
}

}  // namespace voltpile::llm
