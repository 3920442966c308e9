#include "llm/decoder/rope_tables.h"

#include <vector>

namespace voltpile::llm {

RopeTables::RopeTables(const WeightLoader& loader, std::int64_t context) {
    const ModelConfig& config = loader.model().config();
    std::vector<float> factors;
    if (config.rope_factors) factors = loader.vector(loader.model().tensor("rope_freqs.weight"));
    all_.of = rope_frequencies(config, factors, context);
    all_.memory = loader.memory(all_.of.frequencies);
    if (config.window_rope_theta <= 0) return;
    sliding_.of = window_rope_frequencies(config);
    sliding_.memory = loader.memory(sliding_.of.frequencies);
}

void RopeTables::set(const ModelConfig& config, int layer, QkvSettings& settings) const {
    const Table& table = slides(config, layer) && sliding_.memory ? sliding_ : all_;
    settings.rope_style = config.rope_style;
    settings.rope_dims = rotates(config, layer) ? static_cast<int>(2 * table.of.frequencies.size()) : 0;
    settings.rope_frequencies = static_cast<const float*>(table.memory->data());
    settings.rope_magnitude = table.of.magnitude;
}

}  // namespace voltpile::llm
