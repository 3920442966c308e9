#include "llm/decoder/norm.h"

#include <vector>

namespace voltpile::llm {

Norm::Norm(const WeightLoader& loader, const ModelTensor& tensor, float scale)
    : eps_(static_cast<float>(loader.model().config().rms_eps)) {
    const ModelConfig& config = loader.model().config();
    stream_eps_ = static_cast<float>(config.rms_eps / (config.residual_scale * config.residual_scale));
    std::vector<float> weights = loader.vector(tensor);
    const auto offset = static_cast<float>(config.norm_offset);
    for (float& weight : weights) weight = (weight + offset) * scale;
    weight_ = loader.memory(weights);
}

}  // namespace voltpile::llm
