// Models in files of the synthetic writer and in folders made by hand.
#include "llm/model/model_files.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/tensor_table.h"
#include "model_test_files.h"

namespace voltpile::llm {
namespace {

using test_files::missing;
using test_files::safetensors;
using test_files::TestFolder;

// 1 layer, hidden 4, 2 heads of 2, 1 KV head, feed-forward 6, 5 words.
const std::string kConfig = R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 6, "vocab_size": 5,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "eos_token_id": [3, 4]})";

struct HfTensor {
    std::string name;
    std::vector<int> shape;
};

const std::vector<HfTensor> kTensors = {{"model.embed_tokens.weight", {5, 4}},
                                        {"model.layers.0.input_layernorm.weight", {4}},
                                        {"model.layers.0.self_attn.q_proj.weight", {4, 4}},
                                        {"model.layers.0.self_attn.k_proj.weight", {2, 4}},
                                        {"model.layers.0.self_attn.v_proj.weight", {2, 4}},
                                        {"model.layers.0.self_attn.o_proj.weight", {4, 4}},
                                        {"model.layers.0.post_attention_layernorm.weight", {4}},
                                        {"model.layers.0.mlp.gate_proj.weight", {6, 4}},
                                        {"model.layers.0.mlp.up_proj.weight", {6, 4}},
                                        {"model.layers.0.mlp.down_proj.weight", {4, 6}},
                                        {"model.norm.weight", {4}},
                                        {"lm_head.weight", {5, 4}}};

// Tensors in F16; byte i of the data is i modulo 251.
std::string shard(const std::vector<HfTensor>& tensors) {
    std::string header;
    std::size_t offset = 0;
    for (const HfTensor& tensor : tensors) {
        std::size_t bytes = 2;
        std::string shape;
        for (const int extent : tensor.shape) {
            bytes *= static_cast<std::size_t>(extent);
            shape += (shape.empty() ? "" : ",") + std::to_string(extent);
        }
        header += (header.empty() ? "{" : ",") +
                  ("\"" + tensor.name + "\":{\"dtype\":\"F16\",\"shape\":[" + shape) +
                  "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + bytes) +
                  "]}";
        offset += bytes;
    }
    std::string file = safetensors(header + "}", offset);
    for (std::size_t i = 0; i < offset; ++i) file[file.size() - offset + i] = static_cast<char>(i % 251);
    return file;
}

std::string message_for(const std::string& path) {
    try {
        const ModelFiles model(path);
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

TEST(ModelFiles, ReadsASingleSafetensorsFile) {
    const TestFolder folder("hf_single");
    folder.write("config.json", kConfig);
    folder.write("model.safetensors", shard(kTensors));
    const ModelFiles model(folder.path());
    EXPECT_EQ(model.config().head_dim, 2);
    EXPECT_EQ(model.config().eos_ids, (std::vector<std::int64_t>{3, 4}));
    const ModelTensor& q = model.layer_tensor(0, "attn_q.weight");
    EXPECT_EQ(q.rows, 4u);
    EXPECT_EQ(q.format, WeightFormat::F16);
    EXPECT_EQ(q.data[0], std::byte{48});  // after 5 x 4 + 4 fp16 numbers
    std::vector<std::byte> part(8);
    model.read(q, {1, 3, 1, 3}, part.data());  // rows of 8 bytes from 48 on
    const std::vector<std::byte> expected = {std::byte{58}, std::byte{59}, std::byte{60}, std::byte{61},
                                             std::byte{66}, std::byte{67}, std::byte{68}, std::byte{69}};
    EXPECT_EQ(part, expected);
    EXPECT_THROW(model.read(q, {0, 5, 0, 4}, part.data()), std::out_of_range);
    EXPECT_THROW((void)model.tensor("blk.1.attn_q.weight"), std::out_of_range);
}

TEST(ModelFiles, ShardsEqualTheSingleFile) {
    const TestFolder folder("hf_shards");
    folder.write("config.json", kConfig);
    const auto middle = kTensors.begin() + 5;
    folder.write("model-00001-of-00002.safetensors", shard({kTensors.begin(), middle}));
    folder.write("model-00002-of-00002.safetensors", shard({middle, kTensors.end()}));
    std::string map;
    for (auto tensor = kTensors.begin(); tensor != kTensors.end(); ++tensor)
        map += (map.empty() ? "\"" : ",\"") + tensor->name + "\":\"model-0000" +
               (tensor < middle ? "1" : "2") + "-of-00002.safetensors\"";
    folder.write("model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":{" + map + "}}");
    const ModelFiles model(folder.path());
    EXPECT_EQ(model.paths().size(), 2u);
    EXPECT_EQ(model.head().file, 1);
    std::filesystem::remove(folder / "model-00001-of-00002.safetensors");
    EXPECT_EQ(missing("1 of the model's 2 files are missing: model-00001-of-00002.safetensors",
                      message_for(folder.path())),
              "");
    folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"../secret.safetensors"}})");
    EXPECT_EQ(missing("is not a file of this folder", message_for(folder.path())), "");
}

TEST(ModelFiles, OneMessageListsAllWrongTensors) {
    const TestFolder folder("hf_wrong");
    folder.write("config.json", kConfig);
    auto tensors = kTensors;
    tensors[2].shape = {4, 2};
    tensors[4].name = "model.layers.0.self_attn.o_proj.bias";
    tensors.erase(tensors.begin() + 10);
    folder.write("model.safetensors", shard(tensors));
    const std::string message = message_for(folder.path());
    for (const char* part :
         {"blk.0.attn_q.weight is 4 x 2 instead of 4 x 4", "blk.0.attn_v.weight is missing",
          "output_norm.weight is missing", "o_proj.bias does not belong to a Llama model"})
        EXPECT_EQ(missing(part, message), "");
}

TEST(ModelFiles, NamesMissingFilesOfAFolder) {
    const TestFolder folder("hf_empty");
    EXPECT_EQ(missing("does not exist", message_for(folder / "nothing")), "");
    EXPECT_EQ(missing("neither config.json nor a .gguf", message_for(folder.path())), "");
    folder.write("config.json", kConfig);
    EXPECT_EQ(missing("no model.safetensors", message_for(folder.path())), "");
    folder.write("pytorch_model.bin", "x");
    EXPECT_EQ(missing("PyTorch pickles", message_for(folder.path())), "");
}

TEST(ModelFiles, SyntheticFileEqualsTheModelInMemory) {
    const TestFolder folder("synthetic");
    const std::pair<const char*, const char*> models[] = {
        {"tiny", "f16"},    {"tiny", "q8_0"},    {"tiny", "q4_0"},       {"tiny", "q4_k_m"},
        {"tiny", "q5_k_m"}, {"tiny-moe", "f16"}, {"tiny-moe", "q4_k_m"}, {"tiny-gpt-oss", "mxfp4_moe"},
        {"tiny", "iq1_s"},  {"tiny", "iq2_m"}};
    for (const auto& [shape, mixture] : models) {
        const SyntheticModel made(shape, mixture);
        const std::string path = folder / "tiny.gguf";
        made.write_gguf(path);
        const ModelFiles model(path);
        ModelConfig expected = made.config();
        EXPECT_EQ(model.config().model_name, std::string("synthetic ") + shape);
        EXPECT_EQ(model.config().head_dim, expected.head_dim);
        EXPECT_EQ(model.config().vocab, expected.vocab);
        EXPECT_EQ(model.config().eos_ids, expected.eos_ids);
        EXPECT_EQ(model.config().rope_style, expected.rope_style);
        ASSERT_EQ(model.tensors().size(), made.tensors().size());
        for (std::size_t i = 0; i < made.tensors().size(); ++i) {
            const ModelTensor& tensor = made.tensors()[i];
            ASSERT_EQ(model.tensors()[i].format, tensor.format) << tensor.name;
            std::vector<std::byte> bytes(tensor.bytes());
            made.read(tensor, whole(tensor), bytes.data());
            EXPECT_EQ(std::memcmp(bytes.data(), model.tensors()[i].data, bytes.size()), 0) << tensor.name;
        }
    }
}

// NF4 is a format of bitsandbytes.
TEST(ModelFiles, SyntheticFilesHaveTheFormatsOfGguf) {
    const TestFolder folder("nf4");
    const SyntheticModel model("tiny", "nf4");
    EXPECT_EQ(model.tensor("blk.0.attn_q.weight").format, WeightFormat::NF4);
    EXPECT_EQ(model.tensor("token_embd.weight").format, WeightFormat::F16);
    EXPECT_EQ(model.tensor("output.weight").format, WeightFormat::F16);
    try {
        model.write_gguf(folder / "tiny.gguf");
        FAIL();
    } catch (const JobError& error) {
        EXPECT_EQ(missing("GGUF files have no nf4 weights", error.what()), "");
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "tiny.gguf"));
}

TEST(ModelFiles, FingerprintDependsOnContentsNotOnPaths) {
    const TestFolder folder("fingerprint");
    SyntheticModel("tiny", "q8_0", 1).write_gguf(folder / "a.gguf");
    SyntheticModel("tiny", "q8_0", 2).write_gguf(folder / "b.gguf");
    std::filesystem::copy(folder / "a.gguf", folder / "c.gguf");
    EXPECT_EQ(ModelFiles(folder / "a.gguf").fingerprint(), ModelFiles(folder / "c.gguf").fingerprint());
    EXPECT_NE(ModelFiles(folder / "a.gguf").fingerprint(), ModelFiles(folder / "b.gguf").fingerprint());
}

// Any changed byte in the header gives a readable model or a FileError.
TEST(ModelFiles, SurvivesChangedBytes) {
    const TestFolder folder("flipped");
    const std::string path = folder / "tiny.gguf";
    SyntheticModel("tiny", "q4_k_m").write_gguf(path);
    const std::size_t header = ModelFiles(path).tensors()[0].offset;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::size_t at, char c) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(c).flush();
    };
    std::size_t refused = 0;
    for (std::size_t at = 0; at < header; at += 11) {  // 11: coprime to the sizes of all fields
        file.seekg(static_cast<std::streamoff>(at));
        const char original = static_cast<char>(file.get());
        put(at, static_cast<char>(original ^ 0x81));
        try {
            const ModelFiles model(path);
            std::vector<std::byte> row;
            for (const ModelTensor& tensor : model.tensors()) {
                const TensorSlice last{tensor.rows - 1, tensor.rows, 0, tensor.columns};
                row.resize(last.bytes(tensor.format));
                model.read(tensor, last, row.data());
            }
        } catch (const FileError&) {
            ++refused;
        }
        put(at, original);
    }
    EXPECT_GT(refused, header / 11 / 10);  // most of the header is texts and scores of the tokenizer
    EXPECT_EQ(message_for(path), "no error");
}

}  // namespace
}  // namespace voltpile::llm
