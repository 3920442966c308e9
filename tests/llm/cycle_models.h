// Writes models of the cycle of tokens (token_cycle.h) with what must guess all their tokens right.
#pragma once

#include <string>

#include "llm/model_test_files.h"
#include "llm/token_cycle.h"

namespace voltpile::llm::predicting {

// Writes a model whose layers add nothing, so that each token has one follower, and whose prediction layer
// must know the token after the next one, from the hidden state of a token alone or from the embedding of the
// next one alone.
inline void write_prediction_cycle(const test_files::TestFolder& folder, bool from_hidden_state) {
    const std::string golden = golden_folder("glm4_moe_mtp");
    folder.write("config.json", text_of(golden + "/config.json"));
    Weights weights(text_of(golden + "/model.safetensors"));
    const auto zero = [](int, int) { return 0.0F; };
    const auto one = [](int, int) { return 1.0F; };
    for (const char* const ending : {"o_proj.weight", "down_proj.weight"}) weights.set_all(ending, zero);
    weights.set_all("norm.weight", one);
    weights.set_all("embed_tokens.weight", cycle_embedding);
    weights.set("lm_head.weight", cycle_head);
    weights.set("model.layers.2.shared_head.head.weight", cycle_head);
    weights.set("model.layers.2.eh_proj.weight", [&](int row, int column) {
        if (!from_hidden_state) return row == column ? 1.0F : 0.0F;
        return column < 64 ? 0.0F : cycle_step(row, column - 64, 64);
    });
    folder.write("model.safetensors", weights.bytes());
}

// The same with two prediction layers. Columns of what both make have another order, which their heads know.
// So a layer guesses wrong from hidden states of the kind that the other one must read.
inline void write_cycle_of_two_layers(const test_files::TestFolder& folder, bool first_from_hidden_state,
                                      bool second_from_hidden_state) {
    const std::string golden = golden_folder("glm4_moe_two_mtp");
    folder.write("config.json", text_of(golden + "/config.json"));
    Weights weights(text_of(golden + "/model.safetensors"));
    const auto zero = [](int, int) { return 0.0F; };
    const auto one = [](int, int) { return 1.0F; };
    const auto moved = [](int column) { return (5 * column + 3) % 64; };
    for (const char* const ending : {"o_proj.weight", "down_proj.weight"}) weights.set_all(ending, zero);
    weights.set_all("norm.weight", one);
    weights.set_all("embed_tokens.weight", cycle_embedding);
    weights.set("lm_head.weight", cycle_head);
    for (const int layer : {2, 3}) {
        const std::string prefix = "model.layers." + std::to_string(layer);
        weights.set(prefix + ".shared_head.head.weight",
                    [&](int token, int column) { return cycle_head(token, moved(column)); });
        weights.set(prefix + ".eh_proj.weight", [&](int row, int column) {
            if (!(layer == 2 ? first_from_hidden_state : second_from_hidden_state))
                return column == moved(row) ? 1.0F : 0.0F;
            const int read = layer == 2 ? column - 64 : moved(column - 64);
            return column < 64 ? 0.0F : cycle_step(moved(row), read, 64);
        });
    }
    folder.write("model.safetensors", weights.bytes());
}

constexpr int kDraftTokens = 96;

// The head's tokens in descending order.
inline int token_at(int row) {
    return kDraftTokens - 1 - row;
}

// Writes a model whose layers add nothing, so that each token has one follower, and in `head` an EAGLE 3 head
// that must know the token after the next one: from the states of a token alone, then from its own state
// alone, or each time from the embedding of the next token alone.
inline void write_eagle_cycle(const test_files::TestFolder& folder, const test_files::TestFolder& head,
                              bool from_states) {
    const std::string golden = golden_folder("eagle3");
    folder.write("config.json", text_of(golden + "/config.json"));
    head.write("config.json", text_of(golden + "/head/config.json"));
    const auto zero = [](int, int) { return 0.0F; };
    const auto one = [](int, int) { return 1.0F; };
    Weights weights(text_of(golden + "/model.safetensors"));
    for (const char* const ending : {"o_proj.weight", "down_proj.weight"}) weights.set_all(ending, zero);
    weights.set_all("norm.weight", one);
    weights.set("model.embed_tokens.weight", cycle_embedding);
    weights.set("lm_head.weight", cycle_head);
    folder.write("model.safetensors", weights.bytes());

    Weights own(text_of(golden + "/head/model.safetensors"));
    own.set_all("norm.weight", one);
    own.set("midlayer.mlp.down_proj.weight", zero);
    own.set("lm_head.weight", [](int row, int column) { return cycle_head(token_at(row), column); });
    own.set("d2t", [](int, int row) { return token_at(row) - row; });
    own.set("fc.weight",
            [&](int row, int column) { return from_states && row == column % 64 ? 1 / 3.0F : 0.0F; });
    // All queries and keys are equal before RoPE, so each row reads its own value alone.
    for (const char* const name : {"q", "k"})
        own.set(std::string("midlayer.self_attn.") + name + "_proj.weight",
                [](int, int column) { return column == 0 ? 8.0F : 0.0F; });
    // The value changes the first 32 columns of the state into those of the next token's embedding. The other
    // columns are the same again.
    own.set("midlayer.self_attn.v_proj.weight", [&](int row, int column) {
        const float state_stays = column == 64 + row ? 1.0F : 0.0F;
        if (!from_states) return column == row ? 1.0F : -state_stays;
        return column < 64 || column >= 96 ? 0.0F : cycle_step(row, column - 64, 32) - state_stays;
    });
    // Two of four heads have the values of each KV head, of 16 columns.
    own.set("midlayer.self_attn.o_proj.weight", [](int row, int column) {
        const int of_value = row % 32;
        return column == (of_value < 16 ? of_value : 32 + of_value - 16) ? 1.0F : 0.0F;
    });
    head.write("model.safetensors", own.bytes());
}

}  // namespace voltpile::llm::predicting
