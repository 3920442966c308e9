// Adapters of experts: the names and layouts of their factors in files, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "llm/model/lora/adapter_memory.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_files.h"
#include "llm/model_test_files.h"

namespace voltpile::llm::lora_experts_test {
namespace {

using test_files::missing;
using test_files::TestFolder;

const std::string kGoldens = VOLTPILE_SOURCE_DIR "/data/llm/goldens/";

// A tensor of an adapter, with its elements.
struct Factor {
    std::string name;
    std::size_t rows, columns;
    std::function<float(std::size_t, std::size_t)> element = [](std::size_t, std::size_t) { return 0.0F; };
};

class ExpertAdapters : public ::testing::Test {
  protected:
    void describe(int rank, const nlohmann::json& changes = nlohmann::json::object()) const {
        nlohmann::json config{{"peft_type", "LORA"}, {"r", rank}, {"lora_alpha", 2 * rank}};
        config.merge_patch(changes);
        folder_.write("adapter_config.json", config.dump());
    }
    void write(const std::vector<Factor>& factors) const {
        nlohmann::json header;
        std::string data;
        for (const Factor& factor : factors) {
            const std::size_t begin = data.size();
            for (std::size_t i = 0; i < factor.rows; ++i)
                for (std::size_t j = 0; j < factor.columns; ++j) {
                    const float element = factor.element(i, j);
                    data.append(reinterpret_cast<const char*>(&element), sizeof element);
                }
            header["base_model.model." + factor.name + ".weight"] = {{"dtype", "F32"},
                                                                     {"shape", {factor.rows, factor.columns}},
                                                                     {"data_offsets", {begin, data.size()}}};
        }
        folder_.write("adapter_model.safetensors",
                      test_files::GgufBytes().text(header.dump()).raw(data).str());
    }
    // Both factors of a module.
    static std::vector<Factor> module(const std::string& name, std::size_t rows, std::size_t columns,
                                      std::size_t rank) {
        return {{name + ".lora_A", rank, columns}, {name + ".lora_B", rows, rank}};
    }
    // The golden adapter, with other names in the header, which keeps its length. from: not empty.
    void copy_golden(const std::string& name, const std::string& from, const std::string& to) const {
        for (const char* file : {"adapter_config.json", "adapter_model.safetensors"}) {
            std::ifstream in(kGoldens + "lora/" + name + "/" + file, std::ios::binary);
            std::stringstream bytes;
            bytes << in.rdbuf();
            std::string text = bytes.str();
            for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos;
                 at += to.size())
                text.replace(at, from.size(), to);
            folder_.write(file, text);
        }
    }

    std::string refusal(const std::string& model) const {
        const ModelFiles files(kGoldens + model);
        try {
            const LoraAdapter adapter({"mine", folder_.path()}, files);
        } catch (const FileError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            return error.what();
        }
        return "";
    }

    TestFolder folder_{"lora_experts"};
};

// hidden 64, experts of size 64; a shared expert of 64 (GLM), 128 (Qwen 2, DeepSeek).
TEST_F(ExpertAdapters, FindsTheModulesOfEachFamily) {
    struct Module {
        const char *model, *module, *tensor;
        std::size_t rows, columns;
    };
    for (const auto& [model, name, tensor, rows, columns] :
         {Module{"mixtral", "block_sparse_moe.experts.7.w1", "ffn_gate.7.weight", 64, 64},
          {"mixtral", "block_sparse_moe.experts.0.w2", "ffn_down.0.weight", 64, 64},
          {"mixtral", "block_sparse_moe.experts.0.w3", "ffn_up.0.weight", 64, 64},
          {"mixtral", "block_sparse_moe.gate", "ffn_gate_inp.weight", 8, 64},
          {"mixtral", "mlp.gate", "ffn_gate_inp.weight", 8, 64},
          {"qwen2_moe", "mlp.experts.2.gate_proj", "ffn_gate.2.weight", 64, 64},
          {"qwen2_moe", "mlp.shared_expert.up_proj", "ffn_up_shexp.weight", 128, 64},
          {"qwen2_moe", "mlp.shared_expert_gate", "ffn_gate_inp_shexp.weight", 1, 64},
          {"qwen3_moe", "mlp.experts.11.up_proj", "ffn_up.11.weight", 64, 64},
          {"qwen3_moe", "mlp.gate", "ffn_gate_inp.weight", 12, 64},
          {"olmoe", "mlp.experts.1.down_proj", "ffn_down.1.weight", 64, 64},
          {"glm4_moe", "mlp.experts.3.down_proj", "ffn_down.3.weight", 64, 64},
          {"glm4_moe", "mlp.shared_experts.down_proj", "ffn_down_shexp.weight", 64, 64},
          {"deepseek_v2", "mlp.experts.3.gate_proj", "ffn_gate.3.weight", 64, 64},
          {"deepseek_v2", "mlp.shared_experts.gate_proj", "ffn_gate_shexp.weight", 128, 64},
          {"deepseek_v3", "mlp.gate", "ffn_gate_inp.weight", 12, 64}}) {
        SCOPED_TRACE(std::string(model) + ": " + name);
        describe(3);
        write(module(std::string("model.layers.1.") + name, rows, columns, 3));
        const ModelFiles files(kGoldens + model);
        const LoraAdapter adapter({"mine", folder_.path()}, files);
        ASSERT_NE(adapter.factors(std::string("blk.1.") + tensor), nullptr);
        EXPECT_EQ(adapter.factors(std::string("blk.1.") + tensor)->scale, 2);
        EXPECT_EQ(adapter.changes_experts(), std::string(name).find("experts.") != std::string::npos &&
                                                 std::string(name).find("shared") == std::string::npos);
    }
}

// As ParamWrapper.get_delta_weight() of PEFT combines them: "o r e, e r i -> e o i" since 0.19.1, and "o r e,
// e r i -> e i o" with turned factors, of the parameter (experts, outputs, inputs). gpt-oss alternates the
// rows of gate and up.
TEST_F(ExpertAdapters, FindsFactorsInParametersOfAllExperts) {
    for (const bool turned : {false, true})
        for (const std::string model : {"qwen2_moe", "gpt_oss"}) {
            SCOPED_TRACE(model + (turned ? ", turned" : ""));
            const ModelFiles files(kGoldens + model);
            const auto experts = static_cast<std::size_t>(files.config().experts.count);
            const auto ffn = static_cast<std::size_t>(files.config().experts.ffn);
            constexpr std::size_t hidden = 64, rank = 2;
            const auto a = [](bool down, std::size_t e, std::size_t k, std::size_t input) {
                return static_cast<float>(1 + (((down ? 1 : 0) * 16 + e) * rank + k) * 128 + input);
            };
            const auto b = [&](bool down, std::size_t e, std::size_t output, std::size_t k) {
                return -static_cast<float>(1 + (((down ? 1 : 0) * 16 + e) * rank + k) * 256 + output);
            };
            std::vector<Factor> factors;
            for (const bool down : {false, true}) {
                const std::string name =
                    std::string("model.layers.1.mlp.experts") + (down ? "" : ".base_layer");
                const std::size_t inputs = down ? ffn : hidden, outputs = down ? hidden : 2 * ffn;
                factors.push_back({name + ".lora_A", experts * rank, turned ? outputs : inputs,
                                   [=](std::size_t i, std::size_t j) {
                                       return turned ? b(down, i / rank, j, i % rank)
                                                     : a(down, i / rank, i % rank, j);
                                   }});
                factors.push_back({name + ".lora_B", turned ? inputs : outputs, rank * experts,
                                   [=](std::size_t i, std::size_t j) {
                                       return turned ? a(down, j % experts, j / experts, i)
                                                     : b(down, j % experts, i, j / experts);
                                   }});
            }
            describe(rank, {{"target_parameters", {"mlp.experts.gate_up_proj", "experts.down_proj"}}});
            write(factors);
            const LoraAdapter adapter({"mine", folder_.path()}, files);
            const auto element = [](const FactorView& view, std::size_t i, std::size_t j) {
                float value = 0;
                std::memcpy(
                    &value,
                    view.tensor.data + (view.first + i * view.row_step + j * view.column_step) * sizeof value,
                    sizeof value);
                return value;
            };
            for (const char* kind : {"gate", "up", "down"})
                for (std::size_t e = 0; e < experts; ++e) {
                    const LoraFactors* found = adapter.factors("blk.1.ffn_" + std::string(kind) + "." +
                                                               std::to_string(e) + ".weight");
                    ASSERT_NE(found, nullptr);
                    ASSERT_EQ(found->rank, static_cast<int>(rank));
                    const bool down = kind[0] == 'd', up = kind[0] == 'u';
                    const std::size_t step = model == "gpt_oss" && !down ? 2 : 1,
                                      first = up ? model == "gpt_oss" ? 1 : ffn : 0;
                    for (std::size_t k = 0; k < rank; ++k) {
                        for (std::size_t c = 0; c < (down ? ffn : hidden); ++c)
                            ASSERT_EQ(element(found->a, k, c), a(down, e, k, c));
                        for (std::size_t j = 0; j < (down ? hidden : ffn); ++j)
                            ASSERT_EQ(element(found->b, j, k), b(down, e, first + step * j, k));
                    }
                }
        }
}

// Experts of 64 x 64: turned factors have the same shapes.
TEST_F(ExpertAdapters, RefusesFactorsThatMayBeTurned) {
    describe(2);
    write(module("model.layers.0.mlp.experts", 64, 64, 16));
    EXPECT_EQ(missing("model.layers.0.mlp.experts has as many inputs as outputs", refusal("qwen2_moe")), "");
}

TEST_F(ExpertAdapters, RefusesExpertsThatTheModelLacks) {
    copy_golden("mixtral_experts", "experts.7.", "experts.9.");
    EXPECT_EQ(missing("model.layers.0.block_sparse_moe.experts.9.w1 is of expert 9 where the model has 8 "
                      "experts, 0 to 7",
                      refusal("mixtral")),
              "");
}

TEST_F(ExpertAdapters, RefusesScalesThatAreNoNumbers) {
    copy_golden("gpt_oss_experts", "\"lora_alpha\": 3", "\"lora_alpha\": 1e300");
    EXPECT_EQ(
        missing("model.layers.0.mlp.experts.gate_up_proj has the scale 5e+299, which is not a number of fp32",
                refusal("gpt_oss")),
        "");
}

TEST_F(ExpertAdapters, RefusesOtherShapes) {
    describe(3);
    write(module("model.layers.1.mlp.experts.2.up_proj", 64, 32, 3));
    EXPECT_EQ(
        missing("model.layers.1.mlp.experts.2.up_proj is for a matrix of 64 x 32 where the model has 64 "
                "x 64",
                refusal("qwen3_moe")),
        "");
    write(module("model.layers.1.mlp.experts", 64, 32, 36));
    EXPECT_EQ(missing("model.layers.1.mlp.experts has factors for matrices of 64 x 32, where the model's "
                      "experts have 128 x 64 (gate and up) and 64 x 64",
                      refusal("qwen3_moe")),
              "");
    copy_golden("qwen2_moe_experts", "mlp", "mlp");  // of 8 experts
    EXPECT_EQ(missing("has 32 ranks in lora_A and 32 in lora_B, which must be equal and a multiple of the 12 "
                      "experts",
                      refusal("qwen3_moe")),
              "");
}

TEST_F(ExpertAdapters, RefusesMissingHalvesAndLayersWithoutExperts) {
    copy_golden("qwen2_moe_experts", "layers.0.mlp.experts.lora_B", "layers.5.mlp.experts.lora_B");
    const std::string text = refusal("qwen2_moe");
    EXPECT_EQ(missing("model.layers.0.mlp.experts has only lora_A", text), "");
    EXPECT_EQ(missing("model.layers.5.mlp.experts names experts of a layer without experts", text), "");
    describe(2);
    write(module("model.layers.0.mlp.experts", 128, 64, 16));  // the first layer of GLM is dense
    EXPECT_EQ(missing("names experts of a layer without experts", refusal("glm4_moe")), "");
    write(module("model.layers.-1.mlp.experts", 128, 64, 16));
    EXPECT_EQ(missing("names experts of a layer without experts", refusal("qwen2_moe")), "");
}

TEST_F(ExpertAdapters, RefusesTwoFactorsOfOneMatrix) {
    describe(2);
    std::vector<Factor> both = module("model.layers.0.mlp.experts", 128, 64, 16);
    for (const Factor& factor : module("model.layers.0.mlp.experts.3.gate_proj", 64, 64, 2))
        both.push_back(factor);
    write(both);
    EXPECT_EQ(missing("changes blk.0.ffn_gate.3.weight, as another module of the adapter does",
                      refusal("qwen2_moe")),
              "");
}

// PEFT writes such a pattern when it joins gate_proj and up_proj to a parameter of twice the rank.
TEST_F(ExpertAdapters, ChecksTheRanksOfParameters) {
    describe(
        1, {{"rank_pattern", {{R"(.*\.gate_up_proj)", 2}}}, {"alpha_pattern", {{R"(.*\.gate_up_proj)", 6}}}});
    write(module("model.layers.0.mlp.experts", 128, 64, 16));
    const ModelFiles files(kGoldens + "qwen2_moe");
    EXPECT_EQ(LoraAdapter({"mine", folder_.path()}, files).factors("blk.0.ffn_up.3.weight")->scale, 3);
    describe(1);
    EXPECT_EQ(missing("model.layers.0.mlp.experts.gate_up_proj has rank 2 where adapter_config.json says 1",
                      refusal("qwen2_moe")),
              "");
    describe(2, {{"target_parameters", {"experts.gate_up_proj", "experts.down_proj"}}});
    EXPECT_EQ(missing("the target parameter experts.down_proj has no factors", refusal("qwen2_moe")), "");
}

TEST_F(ExpertAdapters, RefusesGgufTensorsOfOtherExperts) {
    const auto refusal_of = [&](std::size_t experts, std::size_t rows, const char* architecture = "llama",
                                float alpha = 1) {
        test_files::GgufBytes bytes;
        bytes.begin(2, 4);
        bytes.key("general.type", 8).text("adapter").key("adapter.type", 8).text("lora");
        bytes.key("general.architecture", 8).text(architecture);
        bytes.key("adapter.lora.alpha", 6).number(alpha);
        const std::uint64_t bytes_of_a = 64 * 2 * experts * sizeof(float);
        const std::uint64_t bytes_of_b = rows * 2 * experts * sizeof(float);
        bytes.tensor("blk.0.ffn_up_exps.weight.lora_a", {64, 2, experts}, 0, 0);
        bytes.tensor("blk.0.ffn_up_exps.weight.lora_b", {2, rows, experts}, 0, bytes_of_a);
        bytes.pad().zeros(bytes_of_a + bytes_of_b);
        const ModelFiles files(kGoldens + "mixtral");
        try {
            const LoraAdapter adapter({"mine", folder_.write("adapter.gguf", bytes.str())}, files);
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_EQ(refusal_of(8, 64), "");
    for (const std::size_t experts : {7, 16})
        EXPECT_EQ(
            missing(fmt::format("blk.0.ffn_up_exps.weight has lora_a of {} experts and lora_b of {} where "
                                "the model has 8",
                                experts, experts),
                    refusal_of(experts, 64)),
            "");
    EXPECT_EQ(missing("blk.0.ffn_up_exps.weight is for matrices of 128 x 64 where the model has 64 x 64",
                      refusal_of(8, 128)),
              "");
    EXPECT_EQ(missing("it is for models of architecture qwen2moe, and this one is of llama",
                      refusal_of(8, 64, "qwen2moe")),
              "");
    EXPECT_EQ(missing("adapter.lora.alpha is not a number", refusal_of(8, 64, "llama", NAN)), "");
}

// All matrices of layers but routers and what latent attention projects.
TEST(RandomAdapter, ChangesAllMatrices) {
    for (const auto& [name, unchanged] :
         {std::pair<const char*, std::vector<std::string>>{"mixtral", {"ffn_gate_inp.weight"}},
          {"qwen2_moe", {"ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight"}},
          {"deepseek_v2",
           {"ffn_gate_inp.weight", "attn_q.weight", "attn_kv_a_mqa.weight", "attn_kv_b.weight",
            "attn_k_b.weight", "attn_v_b.weight"}},
          {"mistral_small", {}}}) {
        const ModelFiles files(kGoldens + name);
        const auto adapter = LoraAdapter::random("a", files, 5);
        EXPECT_EQ(adapter->rank(), 5);
        EXPECT_EQ(adapter->changes_experts(), files.config().experts.count > 0);
        for (const ModelTensor& tensor : files.tensors()) {
            const std::string end = tensor.name.substr(tensor.name.find('.', 4) + 1);
            const bool changes = tensor.layer >= 0 && tensor.rows > 1 && !tensor.name.ends_with(".bias") &&
                                 std::ranges::find(unchanged, end) == unchanged.end();
            const LoraFactors* const factors = adapter->factors(tensor.name);
            ASSERT_EQ(factors != nullptr, changes) << name << ' ' << tensor.name;
            if (factors == nullptr) continue;
            EXPECT_EQ(factors->a.tensor.columns, tensor.columns);
            EXPECT_EQ(factors->a.tensor.rows, 5U);
            EXPECT_EQ(factors->b.tensor.rows, tensor.rows);
            EXPECT_EQ(factors->b.tensor.columns, 5U);
        }
        EXPECT_NE(LoraAdapter::random("b", files, 5)->fingerprint(), adapter->fingerprint());
        EXPECT_EQ(LoraAdapter::random("a", files, 5)->fingerprint(), adapter->fingerprint());
    }
}

// mixtral: hidden 64, 4 heads and 2 KV heads of 16, 8 experts of 64. The adapter of rank 2 changes q, the
// router and all experts. Four ranks have whole experts.
TEST(ExpertAdapterMemory, CountsTheExpertsOfARank) {
    ModelFiles files(kGoldens + "mixtral");
    files.attach(
        {std::make_shared<const LoraAdapter>(AdapterChoice{"a", kGoldens + "lora/mixtral_experts"}, files)});
    const std::uint64_t expert = 2 * 64 + 2 * 64 + 64 + 64, router = 64 + 8;
    const AdapterBytes whole = adapter_bytes(files, WeightLayout::File, rank_share(files, 0, 1), 0);
    EXPECT_EQ(whole.others, 4U * 2 * (3 * 64 + 64 + 32 + 32 + router));
    EXPECT_EQ(whole.experts, 4U * 2 * 8 * expert);
    const AdapterBytes shared = adapter_bytes(files, WeightLayout::File, rank_share(files, 3, 4), 1);
    EXPECT_EQ(shared.others, 4U * 2 * (3 * 64 + 16 + 16 + 16 + router));
    EXPECT_EQ(shared.experts, 4U * 2 * 2 * expert);
    // Factors of rank 8 in pieces of 256 bytes, and tables of 24 bytes an entry: of q, k and v, of the router
    // (2 * 8 * 72 bytes, in 5 pieces), and of 8 experts' gate and up, and down.
    const AdapterBytes on_gpu = adapter_bytes(files, WeightLayout::Gpu, rank_share(files, 0, 1), 1);
    EXPECT_EQ(on_gpu.others, 2U * 8 * (3 * 64 + 64 + 32 + 32) + 256 + 5 * 256 + 256);
    EXPECT_EQ(on_gpu.experts, 2U * 8 * 8 * expert + 256 + 256);
    EXPECT_FALSE(adapter_buffers(files).gates_apart);
    EXPECT_TRUE(adapter_buffers(files).added_to_experts);
    // What is added to gate and up of two experts of 64, in fp32.
    const PassShape pass{1, 1, 10, 1, {}}, adapted{1, 1, 10, 1, adapter_buffers(files)};
    for (const WeightLayout layout : {WeightLayout::File, WeightLayout::Gpu})
        EXPECT_EQ(
            working_bytes(files.config(), layout, adapted) - working_bytes(files.config(), layout, pass),
            10U * 2 * 2 * 64 * 4);
}

// The factors of experts are where these are: on the GPU as fp16, in host memory as fp32.
TEST(ExpertAdapterMemory, IsInHostMemoryWithTheExperts) {
    ModelFiles files(kGoldens + "mixtral"), plain(kGoldens + "mixtral");
    files.attach(
        {std::make_shared<const LoraAdapter>(AdapterChoice{"a", kGoldens + "lora/mixtral_experts"}, files)});
    const std::uint64_t others = adapter_bytes(files, WeightLayout::Gpu, rank_share(files, 0, 1), 0).others;
    const std::uint64_t on_gpu = adapter_bytes(files, WeightLayout::Gpu, rank_share(files, 0, 1), 0).experts;
    const std::uint64_t on_host =
        adapter_bytes(files, WeightLayout::File, rank_share(files, 0, 1), 0).experts;
    const double capacity[] = {1};
    for (const int layers : {0, 1, 2}) {
        const auto stage_of = [&](const ModelSource& model) {
            return cut_into_stages(model, WeightLayout::Gpu, 1, capacity, KvElement::F16, layers).front();
        };
        const StageNeeds adapted = stage_of(files), alone = stage_of(plain);
        EXPECT_EQ(adapted.weights - alone.weights,
                  2 * others + static_cast<std::uint64_t>(2 - layers) * on_gpu);
        EXPECT_EQ(adapted.host_experts - alone.host_experts, static_cast<std::uint64_t>(layers) * on_host);
    }
    // What is added to gate and up of two experts of 64, in fp32.
    const PassShape pass{1, 1, 10, 1, {}}, with{1, 1, 10, 1, adapter_buffers(files)};
    EXPECT_EQ(host_working_bytes(files.config(), with) - host_working_bytes(files.config(), pass),
              10U * 2 * 2 * 64 * 4);
}

}  // namespace
}  // namespace voltpile::llm::lora_experts_test
