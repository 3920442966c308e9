#include "llm/run/pass_message.h"

#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace voltpile::llm {
namespace {

class Writer {
  public:
    template <class T>
    void value(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void list(const std::vector<std::int32_t>& list) {
        value(list.size());
        bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(std::int32_t));
    }
    template <class Value>
    void map(const std::map<std::int32_t, Value>& map) {
        value(map.size());
        for (const auto& [key, each] : map) {
            value(key);
            value(each);
        }
    }
    std::string take() { return std::move(bytes_); }

  private:
    std::string bytes_;
};

class Reader {
  public:
    explicit Reader(const std::string& bytes) : bytes_(bytes) {}

    template <class T>
    T value() {
        static_assert(std::is_trivially_copyable_v<T>);
        T out;
        std::memcpy(&out, take(sizeof out), sizeof out);
        return out;
    }
    std::vector<std::int32_t> list() {
        const auto count = value<std::size_t>();
        check(count, sizeof(std::int32_t));
        std::vector<std::int32_t> out(count);
        if (count != 0)
            std::memcpy(out.data(), take(count * sizeof(std::int32_t)), count * sizeof(std::int32_t));
        return out;
    }
    template <class Value>
    std::map<std::int32_t, Value> map() {
        const auto count = value<std::size_t>();
        check(count, sizeof(std::int32_t) + sizeof(Value));
        std::map<std::int32_t, Value> out;
        for (std::size_t i = 0; i < count; ++i) {
            const auto key = value<std::int32_t>();
            out.emplace(key, value<Value>());
        }
        return out;
    }
    void end() const {
        if (at_ != bytes_.size()) refuse();
    }

  private:
    [[noreturn]] static void refuse() {
        throw CommError("a message with a pass has the wrong length: do all ranks run the same program?");
    }
    void check(std::size_t count, std::size_t bytes_each) const {
        if (count > (bytes_.size() - at_) / bytes_each) refuse();
    }
    const char* take(std::size_t bytes) {
        if (bytes > bytes_.size() - at_) refuse();
        const char* const from = bytes_.data() + at_;
        at_ += bytes;
        return from;
    }

    const std::string& bytes_;
    std::size_t at_ = 0;
};

// All of the settings but the list of biases.
struct PlainSettings {
    float temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
    std::int32_t top_k;
    std::uint64_t seed;
};

void write(Writer& to, const Draw& draw) {
    const SamplingSettings& all = *draw.settings;
    to.value(draw.step);
    to.value(draw.top_n);
    to.value(PlainSettings{all.temperature, all.top_p, all.min_p, all.repetition_penalty,
                           all.presence_penalty, all.frequency_penalty, all.top_k, all.seed});
    to.map(all.logit_bias);
    to.value(draw.history != nullptr);
    if (draw.history) to.map(*draw.history);
}

Draw read_draw(Reader& from) {
    Draw draw;
    draw.step = from.value<std::int32_t>();
    draw.top_n = from.value<int>();
    const auto plain = from.value<PlainSettings>();
    SamplingSettings all;
    all.temperature = plain.temperature;
    all.top_k = plain.top_k;
    all.top_p = plain.top_p;
    all.min_p = plain.min_p;
    all.repetition_penalty = plain.repetition_penalty;
    all.presence_penalty = plain.presence_penalty;
    all.frequency_penalty = plain.frequency_penalty;
    all.seed = plain.seed;
    all.logit_bias = from.map<float>();
    draw.settings = std::make_shared<const SamplingSettings>(std::move(all));
    if (from.value<bool>())
        draw.history = std::make_shared<const std::map<std::int32_t, std::int32_t>>(from.map<std::int32_t>());
    return draw;
}

constexpr auto lists = {&Batch::token,     &Batch::position,   &Batch::sequence,
                        &Batch::row_begin, &Batch::page_table, &Batch::logit_row};

}  // namespace

std::string to_bytes(const PlannedPass& pass) {
    Writer to;
    to.value(pass.lane);
    to.value(pass.batch.max_pages);
    for (const auto list : lists) to.list(pass.batch.*list);
    to.value(pass.draws.size());
    for (const Draw& draw : pass.draws) write(to, draw);
    return to.take();
}

PlannedPass pass_from_bytes(const std::string& bytes) {
    Reader from(bytes);
    PlannedPass pass;
    pass.lane = from.value<int>();
    pass.batch.max_pages = from.value<int>();
    for (const auto list : lists) pass.batch.*list = from.list();
    const auto draws = from.value<std::size_t>();
    for (std::size_t i = 0; i < draws; ++i) pass.draws.push_back(read_draw(from));
    from.end();
    return pass;
}

}  // namespace voltpile::llm
