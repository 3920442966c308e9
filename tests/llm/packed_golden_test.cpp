// Folders with packed weights (data/llm/goldens/make_packed.py): the weights bit for bit, the logits of
// transformers, slices, and damaged parts.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/half.h"
#include "llm/decoder_fixture.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/safetensors_file.h"
#include "llm/ops/dequantize.h"
#include "model_test_files.h"

namespace voltpile::llm {
namespace {

using test_files::missing;
using test_files::TestFolder;

// FNV-1a of 64 bits.
std::string hash_of(const std::vector<float>& weights) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const float weight : weights)
        for (unsigned shift = 0; shift < 32; shift += 8)
            hash = (hash ^ (std::bit_cast<std::uint32_t>(weight) >> shift & 0xff)) * 0x100000001b3;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

std::vector<float> weights_of(const ModelSource& model, const ModelTensor& tensor, const TensorSlice& slice) {
    std::vector<std::byte> blocks(slice.bytes(tensor.format));
    model.read(tensor, slice, blocks.data());
    std::vector<float> weights(slice.rows() * slice.columns());
    dequantize_row(tensor.format, blocks.data(), static_cast<std::int64_t>(weights.size()), weights.data());
    return weights;
}

class PackedGoldenTest : public ::testing::TestWithParam<std::string> {
  protected:
    ModelFiles files_{golden_folder(GetParam())};
    Golden golden_ = load_golden(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Methods, PackedGoldenTest,
                         ::testing::Values("packed_gptq", "packed_gptq_zeros", "packed_gptq_order",
                                           "packed_gptq_one_order", "packed_gptq_8", "packed_awq",
                                           "packed_int4", "packed_int4_zeros", "packed_int8", "packed_fp8",
                                           "packed_fp8_32", "packed_fp8_rows", "packed_nf4",
                                           "packed_nf4_double", "packed_nf4_32", "packed_fp4"),
                         [](const auto& name) { return name.param; });

TEST_P(PackedGoldenTest, WeightsAreBitIdenticalToTheirDefinition) {
    std::ifstream file(golden_folder(GetParam()) + "/golden.json");
    const auto json = nlohmann::json::parse(file);
    const auto in_f16 = json.value("in_f16", std::vector<std::string>());
    std::size_t compared = 0;
    const ModelFiles files(golden_folder(GetParam()), Columns::AsStored);
    for (const ModelTensor& tensor : files.tensors()) {
        if (tensor.packed == nullptr) continue;
        const auto weights = weights_of(files, tensor, whole(tensor));
        const std::string hash = hash_of(weights);
        for (const auto& [in_folder, wanted] : json["weights"].items()) {
            if (wanted.get<std::string>() != hash) continue;
            ++compared;
            const bool is_f16 = std::ranges::find(in_f16, in_folder) != in_f16.end();
            EXPECT_EQ(name(tensor.format), is_f16 ? "F16" : json["format"].get<std::string>()) << in_folder;
        }
        // A slice within: rows that begin in a tile, a block of columns.
        const std::size_t block = std::max<std::size_t>(block_size(tensor.format), 32);
        const TensorSlice slice{3, tensor.rows - 1, block, 2 * block};
        const auto part = weights_of(files, tensor, slice);
        for (std::size_t r = 0; r < slice.rows(); ++r)
            ASSERT_EQ(std::memcmp(part.data() + r * block, weights.data() + (r + 3) * tensor.columns + block,
                                  block * sizeof(float)),
                      0)
                << tensor.name << " row " << r;
    }
    EXPECT_EQ(compared, json["weights"].size());
}

TEST_P(PackedGoldenTest, HasTheLogitsOfTransformers) {
    TestModel model(files_, 1, {0}, make_reference_ops);
    EXPECT_LT(nmse(model.run_in_pieces(golden_.tokens, {300}), golden_.logits), 1e-5);
    // Cores round activations to 8 bits: 2.4e-5 for each product, twice as much through gates.
    TestModel rounded(files_, 1, {0}, make_cpu_ops);
    EXPECT_LT(nmse(rounded.run_in_pieces(golden_.tokens, {300}), golden_.logits), 1e-3);
    TestModel two(files_, 2, {0}, make_reference_ops);
    EXPECT_LT(nmse(two.run_in_pieces(golden_.tokens, {300}), golden_.logits), 1e-5);
    // With sums joined to norms, and passes of two rows and more cut by rows.
    TestModel cut(files_, 2, {0}, make_reference_ops, KvElement::F16, 0, 0, true, 2);
    EXPECT_LT(nmse(cut.run_in_pieces(golden_.tokens, {20, 1}), golden_.logits), 1e-5);
}

// Returns the weights of a layer's matrix with its rows and columns in the order of the file. rows: the order
// in which the matrix has them; empty: that of the file.
std::vector<float> in_order_of_file(const ModelSource& model, const char* name,
                                    std::span<const std::int32_t> rows = {}) {
    const ModelTensor& tensor = model.layer_tensor(0, name);
    const auto weights = weights_of(model, tensor, whole(tensor));
    std::vector<float> out(weights.size());
    for (std::size_t r = 0; r < tensor.rows; ++r)
        for (std::size_t c = 0; c < tensor.columns; ++c) {
            const auto row = rows.empty() ? r : static_cast<std::size_t>(rows[r]);
            const auto column =
                tensor.column_order.empty() ? c : static_cast<std::size_t>(tensor.column_order[c]);
            out[row * tensor.columns + column] = weights[r * tensor.columns + c];
        }
    return out;
}

// The same weights in fewer bits. As they are in the file they are rounded to fp16.
TEST(PackedTensors, SortedColumnsHaveTheWeightsOfTheFile) {
    const std::string folder = golden_folder("packed_gptq_one_order");
    const ModelFiles sorted(folder), stored(folder, Columns::AsStored);
    // The columns of down in the order of its groups, which the rows of gate and up share.
    const auto down = stored.layer_tensor(0, "ffn_down.weight").packed->sorted_columns();
    ASSERT_EQ(down.size(), 96U);
    const auto compare = [&](const char* name, WeightFormat format, std::vector<float> got) {
        EXPECT_EQ(sorted.layer_tensor(0, name).format, format) << name;
        const std::vector<float> wanted = in_order_of_file(stored, name);
        for (float& weight : got) weight = float_from_half(half_from_float(weight));
        EXPECT_EQ(got, wanted) << name;
    };
    for (const char* name : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
        EXPECT_EQ(sorted.layer_tensor(0, name).column_order.size(), 64U);
        compare(name, WeightFormat::UINT4, in_order_of_file(sorted, name));
    }
    for (const char* name : {"ffn_gate.weight", "ffn_up.weight"})
        compare(name, WeightFormat::UINT4, in_order_of_file(sorted, name, down));
    compare("attn_output.weight", WeightFormat::F16, in_order_of_file(sorted, "attn_output.weight"));
    // Nothing is to be gathered for down, so it names no order.
    const ModelTensor& tensor = sorted.layer_tensor(0, "ffn_down.weight");
    EXPECT_TRUE(tensor.column_order.empty());
    const auto weights = weights_of(sorted, tensor, whole(tensor));
    std::vector<float> in_file(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
        in_file[i / 96 * 96 + static_cast<std::size_t>(down[i % 96])] = weights[i];
    compare("ffn_down.weight", WeightFormat::UINT4, in_file);
}

// A part of the rows, as the matrices that others fuse have it, in another order, with sorted columns and
// without.
TEST(PackedTensors, ArrangesAPartOfTheRows) {
    const ModelFiles stored(golden_folder("packed_gptq_one_order"), Columns::AsStored);
    const ModelTensor& tensor = stored.layer_tensor(0, "ffn_up.weight");
    const auto all = weights_of(stored, tensor, whole(tensor));
    const auto columns = tensor.packed->sorted_columns();
    ASSERT_EQ(columns.size(), tensor.columns);
    constexpr std::size_t begin = 7, rows = 20;
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < rows; ++i) order.push_back(static_cast<std::int32_t>(i * 7 % rows));
    for (const bool sorts : {false, true}) {
        const auto part = tensor.packed->arranged(
            {.row_begin = begin, .rows = rows, .row_order = order, .sort_columns = sorts});
        ASSERT_EQ(part->rows(), rows);
        std::vector<std::byte> blocks(rows * row_bytes(part->format(), tensor.columns));
        part->read({0, rows, 0, tensor.columns}, blocks.data());
        std::vector<float> got(rows * tensor.columns);
        dequantize_row(part->format(), blocks.data(), static_cast<std::int64_t>(got.size()), got.data());
        for (std::size_t i = 0; i < got.size(); ++i) {
            const std::size_t r = begin + static_cast<std::size_t>(order[i / tensor.columns]);
            const std::size_t c = i % tensor.columns;
            const auto from = sorts ? static_cast<std::size_t>(columns[c]) : c;
            EXPECT_EQ(float_from_half(half_from_float(got[i])), all[r * tensor.columns + from]) << i << sorts;
        }
    }
}

// Adapters are made for the model's own columns.
TEST(PackedTensors, AdaptersDoNotGoWithSortedColumns) {
    const std::string folder = golden_folder("packed_gptq_one_order");
    ModelFiles sorted(folder), stored(folder, Columns::AsStored);
    EXPECT_THROW(sorted.attach({LoraAdapter::random("a", sorted, 2)}), std::logic_error);
    stored.attach({LoraAdapter::random("a", stored, 2)});
    TestModel model(stored, 1, {0}, make_reference_ops);
    EXPECT_EQ(model.run_in_pieces(std::vector<std::int32_t>{1, 17, 20}, {300}, 0).size(), 3U * 64);
}

// Q, K and V, and gate and up, have different orders here, so only down is sorted.
TEST(PackedTensors, MatricesWithDifferentOrdersStayAsTheyAre) {
    const ModelFiles model(golden_folder("packed_gptq_order"));
    for (const char* name :
         {"attn_q.weight", "attn_k.weight", "attn_v.weight", "ffn_gate.weight", "ffn_up.weight"}) {
        EXPECT_EQ(model.layer_tensor(0, name).format, WeightFormat::F16) << name;
        EXPECT_TRUE(model.layer_tensor(0, name).column_order.empty()) << name;
    }
    EXPECT_EQ(model.layer_tensor(0, "ffn_down.weight").format, WeightFormat::UINT4);
}

// Returns the error for a copy of a golden folder with one text in the header replaced by another as long, or
// in config.json by any.
std::string damaged(const std::string& golden, const std::string& text, const std::string& instead,
                    const std::string& name = "model.safetensors") {
    const TestFolder folder("packed_damaged");
    for (const char* file : {"config.json", "model.safetensors"}) {
        std::ifstream from(golden_folder(golden) + "/" + file, std::ios::binary);
        std::string content{std::istreambuf_iterator<char>(from), {}};
        if (const std::size_t at = content.find(text); file == name && at != std::string::npos)
            content.replace(at, text.size(), instead);
        folder.write(file, content);
    }
    try {
        const ModelFiles model(folder.path());
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(PackedTensors, NamesMissingAndContradictingParts) {
    EXPECT_EQ(missing("model.safetensors: tensor model.layers.0.mlp.up_proj.qweight needs "
                      "model.layers.0.mlp.up_proj.scales, which is missing",
                      damaged("packed_gptq", "mlp.up_proj.scales\"", "mlp.up_proj.scalez\"")),
              "");
    EXPECT_EQ(missing("up_proj.qzeros, which is missing",
                      damaged("packed_awq", "mlp.up_proj.qzeros\"", "mlp.up_proj.qzeroz\"")),
              "");
    EXPECT_EQ(missing("scales has 3 groups where 96 columns in groups of 64 need 2",
                      damaged("packed_gptq", "\"group_size\": 32", "\"group_size\": 64", "config.json")),
              "");
    EXPECT_EQ(missing("groups", damaged("packed_gptq", "\"bits\": 4", "\"bits\": 8", "config.json")), "");
}

TEST(PackedTensors, NamesWhatIsWrongWithBitsandbytes) {
    EXPECT_EQ(missing("mlp.up_proj.weight needs model.layers.0.mlp.up_proj.weight.absmax, which is missing",
                      damaged("packed_nf4", "mlp.up_proj.weight.absmax\"", "mlp.up_proj.weight.absmaz\"")),
              "");
    EXPECT_EQ(missing("nested_absmax, which is missing",
                      damaged("packed_nf4_double", "mlp.up_proj.weight.nested_absmax\"",
                              "mlp.up_proj.weight.nested_absmaz\"")),
              "");
    EXPECT_EQ(missing("absmax is 1 x 480 where weight needs 1 x 240",
                      damaged("packed_nf4", "\"blocksize\": 64", "\"blocksize\":128")),
              "");
    EXPECT_EQ(missing("weight.quant_state.bitsandbytes__nf4: \"blocksize\" is not a whole number",
                      damaged("packed_nf4", "\"blocksize\": 64", "\"blocksize\":\"x\"")),
              "");
    EXPECT_EQ(missing("bitsandbytes__nf4 has no usable \"nested_offset\"",
                      damaged("packed_nf4_double", "\"nested_offset\"", "\"nested_offzet\"")),
              "");
    EXPECT_EQ(missing("bitsandbytes with 8 bits", damaged("packed_nf4", "\"load_in_8bit\": false",
                                                          "\"load_in_8bit\": true", "config.json")),
              "");
}

// A table of other levels than those of NF4 and FP4.
TEST(PackedTensors, OtherLevelsBecomeF16) {
    const std::string path = golden_folder("packed_nf4") + "/model.safetensors";
    const MappedFile mapped(path);
    const SafetensorsFile file(mapped.bytes(), path);
    const StoredTensor& map = file.tensors().at("model.layers.0.mlp.up_proj.weight.quant_map");
    const TestFolder folder("packed_levels");
    std::string content(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
    constexpr float level = -0.75F;  // of code 0
    std::memcpy(&content[map.offset], &level, sizeof level);
    folder.write("model.safetensors", content);
    std::filesystem::copy_file(golden_folder("packed_nf4") + "/config.json", folder / "config.json");
    const ModelFiles model(folder.path()), whole_model(golden_folder("packed_nf4"));
    const ModelTensor &changed = model.tensor("blk.0.ffn_up.weight"),
                      &before = whole_model.tensor("blk.0.ffn_up.weight");
    EXPECT_EQ(model.tensor("blk.0.ffn_gate.weight").format, WeightFormat::NF4);
    EXPECT_EQ(before.format, WeightFormat::NF4);
    ASSERT_EQ(changed.format, WeightFormat::F16);
    const auto got = weights_of(model, changed, whole(changed));
    auto wanted = weights_of(whole_model, before, whole(before));
    std::vector<std::byte> blocks(before.bytes());
    whole_model.read(before, whole(before), blocks.data());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        float scale;
        std::memcpy(&scale, blocks.data() + i / 64 * 36, sizeof scale);
        const float weight = wanted[i] == -scale ? -0.75F * scale : wanted[i];
        wanted[i] = float_from_half(half_from_float(weight));
    }
    EXPECT_EQ(got, wanted);
}

// A copy of packed_fp8 with other bytes at the beginning of a part of up_proj.
template <class T>
void with_float8_part(const TestFolder& folder, const std::string& part, T value) {
    const std::string path = golden_folder("packed_fp8") + "/model.safetensors";
    const MappedFile mapped(path);
    const SafetensorsFile file(mapped.bytes(), path);
    std::string content(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
    std::memcpy(&content[file.tensors().at("model.layers.0.mlp.up_proj." + part).offset], &value,
                sizeof value);
    folder.write("model.safetensors", content);
    std::filesystem::copy_file(golden_folder("packed_fp8") + "/config.json", folder / "config.json");
}

std::string error_of_float8_part(const std::string& name, const std::string& part, auto value) {
    const TestFolder folder(name);
    with_float8_part(folder, part, value);
    const ModelFiles model(folder.path());
    const ModelTensor& tensor = model.tensor("blk.0.ffn_up.weight");
    EXPECT_EQ(tensor.format, WeightFormat::F8_E4M3);
    try {
        weights_of(model, tensor, whole(tensor));
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(PackedTensors, LargeScalesOfFloat8BecomeF16) {
    const TestFolder folder("packed_scale");
    with_float8_part(folder, "weight_scale_inv", 256.0F);
    const ModelFiles model(folder.path());
    EXPECT_EQ(model.tensor("blk.0.ffn_up.weight").format, WeightFormat::F16);
    EXPECT_EQ(model.tensor("blk.0.ffn_gate.weight").format, WeightFormat::F8_E4M3);
}

TEST(PackedTensors, NamesFloat8ThatIsNoNumber) {
    const char* const wanted =
        "mlp.up_proj.weight has scales or weights that are not numbers, or beyond 65504";
    EXPECT_EQ(missing(wanted, error_of_float8_part("packed_nan", "weight_scale_inv", std::nanf(""))), "");
    EXPECT_EQ(missing(wanted, error_of_float8_part("packed_code", "weight", std::uint8_t{0x7f})), "");
    // The largest of the codes times this.
    EXPECT_EQ(missing(wanted, error_of_float8_part("packed_large", "weight_scale_inv", 200.0F)), "");
}

TEST(PackedTensors, NamesGroupsOutOfRange) {
    const std::string path = golden_folder("packed_gptq_order") + "/model.safetensors";
    const MappedFile mapped(path);
    const SafetensorsFile file(mapped.bytes(), path);
    const StoredTensor& index = file.tensors().at("model.layers.0.mlp.down_proj.g_idx");
    const TestFolder folder("packed_groups");
    std::string content(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
    content[index.offset + 4] = 3;  // 96 columns have groups 0 to 2
    folder.write("model.safetensors", content);
    std::filesystem::copy_file(golden_folder("packed_gptq_order") + "/config.json", folder / "config.json");
    try {
        const ModelFiles model(folder.path());
        ADD_FAILURE();
    } catch (const FileError& error) {
        EXPECT_EQ(missing("down_proj.g_idx has group 3 at column 1 of 3 groups", error.what()), "");
    }
}

}  // namespace
}  // namespace voltpile::llm
