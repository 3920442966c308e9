// Pages of the KV cache come back from host memory bit for bit, in all layers, and so do their rows.
#include "llm/decoder/page_store.h"

#include "llm/ops_fixture.h"

namespace voltpile::llm {
namespace {

class PageStoreTest : public OpsTest {};
VOLTPILE_FOR_ALL_OPS(PageStoreTest);

// The bytes of a page in all layers, read without PageStore or KvCache::parts(): operands.h says where.
std::string page_of(Ops& ops, const KvCache& cache, int page) {
    const KvCacheShape& shape = cache.shape();
    const auto read = [&](const void* all, std::size_t bytes) {
        std::string text(bytes, '\0');
        ops.download(text.data(), static_cast<const std::byte*>(all) + bytes * static_cast<std::size_t>(page),
                     bytes);
        return text;
    };
    const auto tokens = static_cast<std::size_t>(shape.kv_heads) * kv_page_tokens;
    std::string text;
    for (int l = 0; l < shape.layers; ++l) {
        const KvLayer layer = cache.layer(l);
        const auto dim = static_cast<std::size_t>(shape.head_dim);
        const std::size_t bytes = tokens * kv_number_bytes(shape.element, dim);
        const std::size_t scales = tokens * kv_scale_bytes(shape.element, dim);
        text += read(layer.keys, bytes);
        if (layer.values != layer.keys) text += read(layer.values, bytes);
        if (layer.key_scales == nullptr) continue;
        text += read(layer.key_scales, scales);
        if (layer.value_scales != layer.key_scales) text += read(layer.value_scales, scales);
    }
    return text;
}

TEST_P(PageStoreTest, KeepsPages) {
    for (const auto& [element, keys_are_values] : {std::pair(KvElement::F16, false),
                                                   {KvElement::I8, false},
                                                   {KvElement::I4, false},
                                                   {KvElement::F16, true},
                                                   {KvElement::I8, true},
                                                   {KvElement::I4, true}}) {
        const auto ops = GetParam().make();
        const KvCacheShape shape{3, 2, 24, 5, element, keys_are_values};
        const KvCache cache(*ops, shape);
        std::mt19937 random(7);
        std::vector<std::uint8_t> bytes(shape.bytes());
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        ops->upload(cache.layer(0).keys, bytes.data(), bytes.size());
        constexpr std::size_t row_bytes = 40;
        const auto rows = ops->allocate(5 * row_bytes);
        std::string text(5 * row_bytes, ' ');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('0' + i / row_bytes);
        ops->upload(rows->data(), text.data(), text.size());
        PageStore store(*ops, cache, {static_cast<std::byte*>(rows->data()), row_bytes}, 2);
        const std::string one = page_of(*ops, cache, 1), four = page_of(*ops, cache, 4),
                          zero = page_of(*ops, cache, 0);
        EXPECT_EQ(one.size(), shape.page_bytes());
        // The copies of one call are made in order: slot 0 is read before another page gets it.
        const std::vector<PageMove> moves{{1, 0, true}, {4, 1, true},  {2, 0, false},
                                          {0, 0, true}, {1, 1, false}, {4, 0, false}};
        store.move(moves);
        EXPECT_EQ(page_of(*ops, cache, 2), one);
        EXPECT_EQ(page_of(*ops, cache, 1), four);
        EXPECT_EQ(page_of(*ops, cache, 4), zero);
        EXPECT_EQ(page_of(*ops, cache, 0), zero);
        ops->download(text.data(), rows->data(), text.size());
        std::string wanted;
        for (const char page : {'0', '4', '1', '3', '0'}) wanted += std::string(row_bytes, page);
        EXPECT_EQ(text, wanted);
    }
}

}  // namespace
}  // namespace voltpile::llm
