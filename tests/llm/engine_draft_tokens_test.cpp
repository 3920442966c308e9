// The numbers of tokens in a draft with a part of the vocabulary.
#include "llm/engine/draft_tokens.h"

#include <gtest/gtest.h>

namespace voltpile::llm::engine_draft_tokens_test {
namespace {

Draw draw_with(SamplingSettings settings) {
    Draw draw;
    draw.settings = std::make_shared<const SamplingSettings>(std::move(settings));
    draw.step = 7;
    return draw;
}

TEST(DraftTokens, RenamesWhatADrawDependsOn) {
    const DraftTokens tokens({70, 3, 40});
    SamplingSettings settings;
    settings.temperature = 0.5F;
    settings.logit_bias = {{3, 1.5F}, {5, 9.0F}, {70, -2.0F}};
    Draw draw = draw_with(settings);
    draw.history = std::make_shared<const std::map<std::int32_t, std::int32_t>>(
        std::map<std::int32_t, std::int32_t>{{40, 2}, {41, 5}});
    draw.mask =
        std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{8, 0x100});  // 3, 40
    const Draw renamed = tokens.in_draft(draw);
    EXPECT_EQ(renamed.step, 7);
    EXPECT_EQ(renamed.settings->temperature, 0.5F);
    EXPECT_EQ(renamed.settings->logit_bias, (std::map<std::int32_t, float>{{0, -2.0F}, {1, 1.5F}}));
    EXPECT_EQ(*renamed.history, (std::map<std::int32_t, std::int32_t>{{2, 2}}));
    EXPECT_EQ(*renamed.mask, std::vector<std::uint32_t>{6});
    EXPECT_EQ(tokens.in_vocabulary(0), 70);
    EXPECT_EQ(tokens.in_vocabulary(2), 40);
    EXPECT_EQ(tokens.in_vocabulary(-1), -1);
}

TEST(DraftTokens, LeavesAWholeVocabularyAlone) {
    const DraftTokens tokens;
    EXPECT_TRUE(tokens.same());
    EXPECT_EQ(tokens.in_vocabulary(12), 12);
    const Draw draw = draw_with({});
    EXPECT_EQ(tokens.in_draft(draw).settings, draw.settings);
}

}  // namespace
}  // namespace voltpile::llm::engine_draft_tokens_test
