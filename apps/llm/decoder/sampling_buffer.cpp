#include "llm/decoder/sampling_buffer.h"

#include <bit>
#include <unordered_map>
#include <vector>

namespace voltpile::llm {
namespace {

bool needs_history(const SamplingRow& row) {
    return row.history != nullptr && has_penalty(*row.settings);
}

// Arrays of a block begin at multiples of 8 bytes.
constexpr std::size_t mask_room(std::size_t words) {
    return (words + 1) / 2 * 2;
}

// Where the masks of rows begin and end when they are stored one after the other. Rows that share a mask
// share its place: most sequences with the same JSON schema are in few different states.
struct MaskPlaces {
    explicit MaskPlaces(std::span<const SamplingRow> rows) {
        std::unordered_map<const std::vector<std::uint32_t>*, std::int32_t> known;
        for (const SamplingRow& row : rows) {
            const auto size = row.mask == nullptr ? 0 : static_cast<std::int32_t>(row.mask->size());
            const auto [place, is_new] = known.try_emplace(row.mask, words);
            begin.push_back(place->second);
            end.push_back(place->second + size);
            if (!is_new || size == 0) continue;
            masks.push_back(row.mask);
            words += static_cast<std::int32_t>(mask_room(row.mask->size()));
        }
    }
    std::vector<std::int32_t> begin, end;
    std::vector<const std::vector<std::uint32_t>*> masks;  // each once
    std::int32_t words = 0;
};

// Elements reserved for the lists of all rows together.
struct ListRooms {
    std::size_t history = 0;
    std::size_t bias = 0;
    std::size_t mask = 0;  // as if rows shared none
};

ListRooms list_rooms(std::span<const SamplingRow> rows) {
    ListRooms rooms;
    for (const SamplingRow& row : rows) {
        if (needs_history(row)) rooms.history += row.history->size();
        rooms.bias += row.settings->logit_bias.size();
        if (row.mask != nullptr) rooms.mask += mask_room(row.mask->size());
    }
    const auto rounded = [](std::size_t n) { return n == 0 ? 0 : std::bit_ceil(n); };
    return {rounded(rooms.history), rounded(rooms.bias), rooms.mask};
}

// Concatenates the (token, number) lists of the rows.
template <class Number>
struct Lists {
    std::vector<std::int32_t> begin{0}, token;
    std::vector<Number> number;
    void add(const std::map<std::int32_t, Number>& list) {
        for (const auto& [key, value] : list) {
            token.push_back(key);
            number.push_back(value);
        }
    }
    void end_row() { begin.push_back(static_cast<std::int32_t>(token.size())); }
};

}  // namespace

std::size_t upload_bytes(std::span<const SamplingRow> rows) {
    const ListRooms rooms = list_rooms(rows);
    const auto words = [](std::size_t count) { return UploadBlock::bytes_of<std::int32_t>(count); };
    return 10 * words(rows.size()) + UploadBlock::bytes_of<std::uint64_t>(rows.size()) +
           2 * words(rows.size() + 1) + 2 * words(rooms.history) + 2 * words(rooms.bias) + words(rooms.mask);
}

SamplingView add_to(UploadBlock& block, std::span<const SamplingRow> rows) {
    const auto of_settings = [&]<class T>(T SamplingSettings::*member) {
        std::vector<T> values;
        for (const SamplingRow& row : rows) values.push_back(row.settings->*member);
        return block.add(std::span<const T>(values), rows.size());
    };
    const auto add = [&]<class T>(const std::vector<T>& values, std::size_t room) {
        return block.add(std::span<const T>(values), room);
    };
    std::vector<std::int32_t> steps;
    Lists<std::int32_t> history;
    Lists<float> bias;
    for (const SamplingRow& row : rows) {
        steps.push_back(row.step);
        if (needs_history(row)) history.add(*row.history);
        bias.add(row.settings->logit_bias);
        history.end_row();
        bias.end_row();
    }
    const ListRooms rooms = list_rooms(rows);
    const MaskPlaces masks(rows);
    SamplingView view;
    view.temperature = of_settings(&SamplingSettings::temperature);
    view.top_k = of_settings(&SamplingSettings::top_k);
    view.top_p = of_settings(&SamplingSettings::top_p);
    view.min_p = of_settings(&SamplingSettings::min_p);
    view.repetition_penalty = of_settings(&SamplingSettings::repetition_penalty);
    view.presence_penalty = of_settings(&SamplingSettings::presence_penalty);
    view.frequency_penalty = of_settings(&SamplingSettings::frequency_penalty);
    view.seed = of_settings(&SamplingSettings::seed);
    view.step = add(steps, rows.size());
    view.history_begin = add(history.begin, rows.size() + 1);
    view.bias_begin = add(bias.begin, rows.size() + 1);
    view.mask_begin = add(masks.begin, rows.size());
    view.mask_end = add(masks.end, rows.size());
    view.bias_token = add(bias.token, rooms.bias);
    view.bias = add(bias.number, rooms.bias);
    view.history_token = add(history.token, rooms.history);
    view.history_count = add(history.number, rooms.history);
    // Last, so that nothing moves when masks come and go.
    if (masks.masks.empty()) view.mask = add(std::vector<std::uint32_t>(), 0);
    for (const auto* each : masks.masks) {
        const std::uint32_t* const place = add(*each, each->size());
        if (view.mask == nullptr) view.mask = place;
    }
    return view;
}

SamplingView SamplingBuffer::upload(std::span<const SamplingRow> rows) {
    block_.begin(upload_bytes(rows));
    const SamplingView view = add_to(block_, rows);
    block_.send();
    return view;
}

}  // namespace voltpile::llm
