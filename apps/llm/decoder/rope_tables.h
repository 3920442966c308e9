// The frequencies of RoPE in device memory, for each layer of a model.
#pragma once

#include <cstdint>
#include <memory>

#include "llm/decoder/rope_frequencies.h"
#include "llm/decoder/weight_loader.h"

namespace voltpile::llm {

class RopeTables {
  public:
    // context: the most tokens of a sequence.
    RopeTables(const WeightLoader& loader, std::int64_t context);

    // Sets how a layer rotates heads, if it does. The tables must outlive the use of the settings.
    void set(const ModelConfig& config, int layer, QkvSettings& settings) const;

  private:
    struct Table {
        RopeFrequencies of;
        std::unique_ptr<OpsMemory> memory;
    };

    Table all_;
    Table sliding_;  // of layers that slide, if these have their own; otherwise without memory
};

}  // namespace voltpile::llm
