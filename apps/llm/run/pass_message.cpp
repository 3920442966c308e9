#include "llm/run/pass_message.h"

#include "base/message_bytes.h"

namespace voltpile::llm {
namespace {

template <class Value>
void write(MessageWriter& to, const std::map<std::int32_t, Value>& map) {
    to.value(map.size());
    for (const auto& [key, each] : map) {
        to.value(key);
        to.value(each);
    }
}

template <class Value>
std::map<std::int32_t, Value> read_map(MessageReader& from) {
    const std::size_t count = from.count(sizeof(std::int32_t) + sizeof(Value));
    std::map<std::int32_t, Value> map;
    for (std::size_t i = 0; i < count; ++i) {
        const auto key = from.value<std::int32_t>();
        map.emplace(key, from.value<Value>());
    }
    return map;
}

constexpr auto reals = {&SamplingSettings::temperature,
                        &SamplingSettings::top_p,
                        &SamplingSettings::min_p,
                        &SamplingSettings::repetition_penalty,
                        &SamplingSettings::presence_penalty,
                        &SamplingSettings::frequency_penalty};

void write(MessageWriter& to, const Draw& draw) {
    const SamplingSettings& settings = *draw.settings;
    to.value(draw.step);
    to.value(draw.top_n);
    for (const auto real : reals) to.value(settings.*real);
    to.value(settings.top_k);
    to.value(settings.seed);
    write(to, settings.logit_bias);
    to.value(draw.history != nullptr);
    if (draw.history) write(to, *draw.history);
}

Draw read_draw(MessageReader& from) {
    Draw draw;
    draw.step = from.value<std::int32_t>();
    draw.top_n = from.value<int>();
    SamplingSettings settings;
    for (const auto real : reals) settings.*real = from.value<float>();
    settings.top_k = from.value<int>();
    settings.seed = from.value<std::uint64_t>();
    settings.logit_bias = read_map<float>(from);
    draw.settings = std::make_shared<const SamplingSettings>(std::move(settings));
    if (from.value<bool>())
        draw.history =
            std::make_shared<const std::map<std::int32_t, std::int32_t>>(read_map<std::int32_t>(from));
    return draw;
}

constexpr auto lists = {&Batch::token,     &Batch::position,   &Batch::sequence,
                        &Batch::row_begin, &Batch::page_table, &Batch::logit_row};

}  // namespace

std::string to_bytes(const PlannedPass& pass) {
    MessageWriter to;
    to.value(pass.lane);
    to.value(pass.batch.max_pages);
    for (const auto list : lists) to.list(pass.batch.*list);
    to.value(pass.draws.size());
    for (const Draw& draw : pass.draws) write(to, draw);
    return to.take();
}

PlannedPass pass_from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "a message with a pass");
    PlannedPass pass;
    pass.lane = from.value<int>();
    pass.batch.max_pages = from.value<int>();
    for (const auto list : lists) pass.batch.*list = from.list<std::int32_t>();
    const auto draws = from.value<std::size_t>();
    for (std::size_t i = 0; i < draws; ++i) pass.draws.push_back(read_draw(from));
    from.end();
    return pass;
}

}  // namespace voltpile::llm
