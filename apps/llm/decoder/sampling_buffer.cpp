#include "llm/decoder/sampling_buffer.h"

#include <cstring>
#include <functional>
#include <vector>

namespace voltpile::llm {
namespace {

// Arrays one after the other, at multiples of 8 bytes.
class Packer {
  public:
    template <class T>
    std::size_t add(const std::vector<T>& values) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + (values.size() * sizeof(T) + 15) / 8 * 8);  // never empty
        if (!values.empty()) std::memcpy(bytes_.data() + at, values.data(), values.size() * sizeof(T));
        return at;
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

bool has_penalty(const SamplingSettings& s) {
    return s.repetition_penalty != 1 || s.presence_penalty != 0 || s.frequency_penalty != 0;
}

}  // namespace

SamplingView SamplingBuffer::upload(std::span<const SamplingRow> rows) {
    Packer packer;
    const auto of_settings = [&]<class T>(T SamplingSettings::* member) {
        std::vector<T> values;
        for (const SamplingRow& row : rows) values.push_back(row.settings->*member);
        return packer.add(values);
    };
    const std::size_t temperature = of_settings(&SamplingSettings::temperature);
    const std::size_t top_k = of_settings(&SamplingSettings::top_k);
    const std::size_t top_p = of_settings(&SamplingSettings::top_p);
    const std::size_t min_p = of_settings(&SamplingSettings::min_p);
    const std::size_t repetition = of_settings(&SamplingSettings::repetition_penalty);
    const std::size_t presence = of_settings(&SamplingSettings::presence_penalty);
    const std::size_t frequency = of_settings(&SamplingSettings::frequency_penalty);
    const std::size_t seed = of_settings(&SamplingSettings::seed);
    std::vector<std::int32_t> steps, history_begin{0}, history_token, history_count, bias_begin{0},
        bias_token;
    std::vector<float> bias;
    for (const SamplingRow& row : rows) {
        steps.push_back(row.step);
        if (row.history != nullptr && has_penalty(*row.settings)) {
            for (const auto& [token, count] : *row.history) {
                history_token.push_back(token);
                history_count.push_back(count);
            }
        }
        history_begin.push_back(static_cast<std::int32_t>(history_token.size()));
        for (const auto& [token, value] : row.settings->logit_bias) {
            bias_token.push_back(token);
            bias.push_back(value);
        }
        bias_begin.push_back(static_cast<std::int32_t>(bias_token.size()));
    }
    const std::size_t step = packer.add(steps);
    const std::size_t begin = packer.add(history_begin);
    const std::size_t token = packer.add(history_token);
    const std::size_t count = packer.add(history_count);
    const std::size_t first_bias = packer.add(bias_begin);
    const std::size_t biased = packer.add(bias_token);
    const std::size_t by = packer.add(bias);

    if (!memory_ || memory_->bytes() < packer.bytes().size())
        memory_ = ops_.allocate(2 * packer.bytes().size());
    ops_.upload(memory_->data(), packer.bytes().data(), packer.bytes().size());
    const auto place = [&]<class T>(const T*& to, std::size_t at) {
        to = reinterpret_cast<const T*>(static_cast<const std::byte*>(memory_->data()) + at);
    };
    SamplingView view;
    place(view.temperature, temperature);
    place(view.top_k, top_k);
    place(view.top_p, top_p);
    place(view.min_p, min_p);
    place(view.repetition_penalty, repetition);
    place(view.presence_penalty, presence);
    place(view.frequency_penalty, frequency);
    place(view.seed, seed);
    place(view.step, step);
    place(view.history_begin, begin);
    place(view.history_token, token);
    place(view.history_count, count);
    place(view.bias_begin, first_bias);
    place(view.bias_token, biased);
    place(view.bias, by);
    return view;
}

}  // namespace voltpile::llm
