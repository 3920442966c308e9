// Logits with a quantized KV cache: on all implementations, in pieces, and divided among ranks.
#include "llm/decoder_fixture.h"
#include "llm/model/kv_element_names.h"
#include "llm/model/synthetic_model.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

std::vector<std::int32_t> some_tokens() {
    std::vector<std::int32_t> tokens(40);
    for (int i = 0; i < 40; ++i) tokens[static_cast<std::size_t>(i)] = 1 + 7 * i % 250;
    return tokens;
}

std::vector<float> reference_logits(const ModelSource& model, KvElement cache) {
    return TestModel(model, 1, {0}, make_reference_ops, cache).run_in_pieces(some_tokens(), {300});
}

class DecoderCacheTest : public OpsTest {};
VOLTPILE_FOR_ALL_OPS(DecoderCacheTest);

// A key or value that was rounded otherwise before it is quantized may get a neighboring code, which costs a
// whole step. On cores the last bit of fp32 decides, which is rare. On GPUs fp16 does: numbers of magnitude 1
// differ by up to 2^-11, and a step of int8 is about 3 / 127, so at most 2 % of them get another code. The
// error of these is a step and that of the others a step divided by sqrt(12) on average, so together they add
// at most 12 * 2 % to the squared error that the quantization causes anyway; a step of int4 is larger. Later
// layers see what earlier ones added: with four layers at most 4 * 24 %.
TEST_P(DecoderCacheTest, QuantizedCachesGiveTheLogitsOfTheReference) {
    for (const char* shape : {"tiny", "tiny-mla"}) {
        const SyntheticModel model(shape, "f16");
        const auto exact = reference_logits(model, KvElement::F16);
        const bool halves = GetParam().make()->hidden_element() == Element::F16;
        for (const KvElement cache : {KvElement::I8, KvElement::I4}) {
            SCOPED_TRACE(std::string(shape) + ", " + std::string(name(cache)));
            const auto wanted = reference_logits(model, cache);
            const double cost = nmse(wanted, exact);
            EXPECT_GT(cost, cache == KvElement::I8 ? 1e-7 : 1e-5);
            TestModel tested(
                model, 1, {0}, [] { return GetParam().make(); }, cache);
            for (const std::vector<int>& sizes : {std::vector<int>{300}, {1}, {17, 1, 5}})
                EXPECT_LT(nmse(tested.run_in_pieces(some_tokens(), sizes), wanted),
                          halves ? 1e-5 + cost : 1e-5)
                    << sizes[0];
        }
    }
}

TEST(DecoderCache, RanksAndStagesStoreTheirPartsOfAQuantizedCache) {
    for (const char* shape : {"tiny", "tiny-mla"}) {
        const SyntheticModel model(shape, "f16");
        for (const KvElement cache : {KvElement::I8, KvElement::I4}) {
            TestModel cut(model, 2, {0, 2}, make_cpu_ops, cache);
            EXPECT_LT(nmse(cut.run_in_pieces(some_tokens(), {17, 1, 5}), reference_logits(model, cache)),
                      1e-5)
                << shape << ", " << name(cache);
        }
    }
}

}  // namespace
}  // namespace voltpile::llm
