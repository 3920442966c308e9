#include "llm/replica/pass_message.h"

namespace voltpile::llm {

void write(MessageWriter& to, const SamplingSettings& settings) {
    to.value(settings.temperature);
    to.value(settings.top_k);
    to.value(settings.top_p);
    to.value(settings.min_p);
    to.value(settings.repetition_penalty);
    to.value(settings.presence_penalty);
    to.value(settings.frequency_penalty);
    to.value(settings.seed);
    to.map(settings.logit_bias);
}

SamplingSettings read_sampling(MessageReader& from) {
    SamplingSettings settings;
    settings.temperature = from.value<float>();
    settings.top_k = from.value<int>();
    settings.top_p = from.value<float>();
    settings.min_p = from.value<float>();
    settings.repetition_penalty = from.value<float>();
    settings.presence_penalty = from.value<float>();
    settings.frequency_penalty = from.value<float>();
    settings.seed = from.value<std::uint64_t>();
    settings.logit_bias = from.map<std::int32_t, float>();
    return settings;
}

// Naming all fields makes the compiler refuse a new one that is not sent.
void write(MessageWriter& to, const RequestSettings& settings) {
    const auto& [max_tokens, ignore_end, sampling, stop, top_n, lora, grammar, channels] = settings;
    to.value(max_tokens);
    to.value(ignore_end);
    write(to, sampling);
    to.value(stop.size());
    for (const std::string& each : stop) to.text(each);
    to.value(top_n);
    to.text(lora);
    to.value(channels);
    to.value(grammar.has_value());
    if (!grammar) return;
    to.value(grammar->kind);
    to.text(grammar->text);
    to.value(grammar->in_channels);
}

RequestSettings read_request_settings(MessageReader& from) {
    RequestSettings settings;
    settings.max_tokens = from.value<int>();
    settings.ignore_end = from.value<bool>();
    settings.sampling = read_sampling(from);
    settings.stop.resize(from.count(sizeof(std::size_t)));
    for (std::string& each : settings.stop) each = from.text();
    settings.top_n = from.value<int>();
    settings.lora = from.text();
    settings.channels = from.value<bool>();
    if (from.value<bool>()) {
        settings.grammar.emplace().kind = from.value<GrammarSource::Kind>();
        settings.grammar->text = from.text();
        settings.grammar->in_channels = from.value<bool>();
    }
    return settings;
}

namespace {

void write(MessageWriter& to, const Draw& draw) {
    to.value(draw.step);
    to.value(draw.top_n);
    write(to, *draw.settings);
    to.value(draw.history != nullptr);
    if (draw.history) to.map(*draw.history);
    to.value(draw.mask != nullptr);
    if (draw.mask) to.list(*draw.mask);
}

Draw read_draw(MessageReader& from) {
    Draw draw;
    draw.step = from.value<std::int32_t>();
    draw.top_n = from.value<int>();
    draw.settings = std::make_shared<const SamplingSettings>(read_sampling(from));
    if (from.value<bool>())
        draw.history = std::make_shared<const std::map<std::int32_t, std::int32_t>>(
            from.map<std::int32_t, std::int32_t>());
    if (from.value<bool>())
        draw.mask = std::make_shared<const std::vector<std::uint32_t>>(from.list<std::uint32_t>());
    return draw;
}

void write(MessageWriter& to, const std::vector<Draw>& draws) {
    to.value(draws.size());
    for (const Draw& draw : draws) write(to, draw);
}

std::vector<Draw> read_draws(MessageReader& from) {
    std::vector<Draw> draws;
    const auto count = from.value<std::size_t>();
    for (std::size_t i = 0; i < count; ++i) draws.push_back(read_draw(from));
    return draws;
}

constexpr auto lists = {&Batch::token,      &Batch::position,  &Batch::sequence, &Batch::row_begin,
                        &Batch::page_table, &Batch::logit_row, &Batch::adapter,  &Batch::hidden_row};

}  // namespace

std::string to_bytes(const PlannedPass& pass) {
    MessageWriter to;
    to.value(pass.lane);
    to.value(pass.batch.max_pages);
    to.value(pass.batch.prediction_layer);
    for (const auto list : lists) to.list(pass.batch.*list);
    write(to, pass.draws);
    to.value(pass.draws_later);
    to.list(pass.moves);
    return to.take();
}

PlannedPass pass_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "a message with a pass");
    PlannedPass pass;
    pass.lane = from.value<int>();
    pass.batch.max_pages = from.value<int>();
    pass.batch.prediction_layer = from.value<int>();
    for (const auto list : lists) pass.batch.*list = from.list<std::int32_t>();
    pass.draws = read_draws(from);
    pass.draws_later = from.value<bool>();
    pass.moves = from.list<PageMove>();
    from.end();
    return pass;
}

std::string to_bytes(const std::vector<Draw>& draws) {
    MessageWriter to;
    write(to, draws);
    return to.take();
}

std::vector<Draw> draws_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "a message with draws");
    std::vector<Draw> draws = read_draws(from);
    from.end();
    return draws;
}

}  // namespace voltpile::llm
