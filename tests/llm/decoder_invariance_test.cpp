// With batch-invariant operations on a GPU, the logits of a sequence are bit-identical for any division into
// pieces.
#include "device/device.h"
#include "llm/decoder_fixture.h"
#include "llm/model/kv_element_names.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class DecoderInvarianceTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Gpu, DecoderInvarianceTest, testing::Values("tiny-f16", "tiny-q8_0", "tiny-q5_k_m"),
                         [](const auto& file) {
                             std::string name = file.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

TEST_P(DecoderInvarianceTest, LogitsOfPieces) {
    if (device_count() == 0) GTEST_SKIP() << "no GPU";
    const ModelFiles files(std::string(VOLTPILE_SOURCE_DIR "/data/tiny_model/") + GetParam() + ".gguf");
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 200; ++i) tokens.push_back(1 + i * 37 % 300);
    for (const KvElement cache : {KvElement::F16, KvElement::I8, KvElement::I4}) {
        TestModel model(
            files, 1, {0}, [] { return gpu_ops_maker(true).make(); }, cache);
        const auto whole = model.run_in_pieces(tokens, {200});
        for (const std::vector<int>& sizes : {std::vector<int>{1}, {8, 9, 1, 64, 65}, {130, 7}})
            EXPECT_EQ(model.run_in_pieces(tokens, sizes), whole) << sizes[0] << ", " << name(cache);
    }
}

}  // namespace
}  // namespace voltpile::llm
