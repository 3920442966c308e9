// Adapters that do not fit a model are refused, with the reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "llm/model/lora/adapter_memory.h"
#include "llm/model/lora/lora_adapter.h"
#include "llm/model/model_files.h"
#include "llm/model_test_files.h"

namespace voltpile::llm::lora_adapter_test {
namespace {

namespace fs = std::filesystem;
using test_files::TestFolder;

const std::string kGoldens = VOLTPILE_SOURCE_DIR "/data/llm/goldens/";

// A copy of an adapter, whose description and tensors a test changes.
class LoraRefusals : public ::testing::Test {
  protected:
    void describe(const nlohmann::json& changes) {
        std::ifstream file(kGoldens + "lora/mistral_small_attention/adapter_config.json");
        auto config = nlohmann::json::parse(file);
        config.merge_patch(changes);
        folder_.write("adapter_config.json", config.dump());
    }

    // Renames tensors in the header, or leaves them out if the new name is empty. The header keeps its
    // length.
    void rename(const std::string& from, const std::string& to) {
        std::ifstream file(kGoldens + "lora/mistral_small_attention/adapter_model.safetensors",
                           std::ios::binary);
        std::stringstream bytes;
        bytes << file.rdbuf();
        std::string text = bytes.str();
        for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
        folder_.write("adapter_model.safetensors", text);
    }

    std::string refusal(const std::string& model = "mistral_small") {
        if (!fs::exists(folder_ / "adapter_config.json")) describe(nlohmann::json::object());
        if (!fs::exists(folder_ / "adapter_model.safetensors"))
            fs::copy_file(kGoldens + "lora/mistral_small_attention/adapter_model.safetensors",
                          folder_ / "adapter_model.safetensors");
        return refusal_of(folder_.path(), model);
    }

    static std::string refusal_of(const std::string& path, const std::string& model = "mistral_small") {
        const ModelFiles files(kGoldens + model);
        try {
            const LoraAdapter adapter({"mine", path}, files);
        } catch (const FileError& error) {
            EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
            return error.what();
        }
        return "";
    }

    TestFolder folder_{"lora"};
};

TEST_F(LoraRefusals, TakesAFittingAdapter) {
    EXPECT_EQ(refusal(), "");
}

TEST_F(LoraRefusals, RefusesAnAdapterOfAnotherModel) {
    const std::string text = refusal("llama2");
    EXPECT_NE(text.find("adapter mine"), std::string::npos) << text;
    EXPECT_NE(
        text.find("model.layers.0.self_attn.q_proj is for a matrix of 96 x 64 where the model has 64 x 64"),
        std::string::npos)
        << text;
}

TEST_F(LoraRefusals, RefusesUnknownModules) {
    rename("layers.1.self_attn.q_proj", "layers.1.self_attn.x_proj");
    const std::string text = refusal();
    EXPECT_NE(text.find("model.layers.1.self_attn.x_proj is not one of the model's matrices"),
              std::string::npos)
        << text;
}

TEST_F(LoraRefusals, RefusesLayersThatTheModelLacks) {
    rename("layers.1.", "layers.7.");
    EXPECT_NE(refusal().find("layers.7.self_attn.q_proj is not one of"), std::string::npos);
}

TEST_F(LoraRefusals, RefusesMissingHalves) {
    rename("layers.1.self_attn.q_proj.lora_B", "layers.3.self_attn.q_proj.lora_B");
    const std::string text = refusal();
    EXPECT_NE(text.find("layers.1.self_attn.q_proj has only lora_A"), std::string::npos) << text;
    EXPECT_NE(text.find("layers.3.self_attn.q_proj has only lora_B"), std::string::npos) << text;
}

TEST_F(LoraRefusals, RefusesSecondFactors) {
    rename("\"base_model.model.model.layers.1.self_attn.q_proj",
           std::string(17, ' ') + "\"model.layers.0.self_attn.q_proj");
    const std::string text = refusal();
    EXPECT_NE(text.find("model.layers.0.self_attn.q_proj.lora_A.weight is a second factor A of "
                        "model.layers.0.self_attn.q_proj"),
              std::string::npos)
        << text;
}

TEST_F(LoraRefusals, RefusesTensorsThatAreNoFactors) {
    rename("lora_A", "lora_X");
    EXPECT_NE(refusal().find("is not a factor of a matrix"), std::string::npos);
}

TEST_F(LoraRefusals, RefusesAnotherRankThanDescribed) {
    describe({{"r", 8}});
    EXPECT_NE(refusal().find("has rank 16 where adapter_config.json says 8"), std::string::npos);
}

TEST_F(LoraRefusals, RefusesTargetsWithoutFactors) {
    describe({{"target_modules", {"q_proj", "v_proj", "lm_head"}}});
    EXPECT_NE(refusal().find("the target module lm_head has no factors"), std::string::npos);
}

TEST_F(LoraRefusals, RefusesWhatIsNotPlainLora) {
    for (const auto& [change, word] :
         {std::pair<nlohmann::json, const char*>{{{"peft_type", "IA3"}}, "IA3"},
          {{{"use_dora", true}}, "use_dora"},
          {{{"bias", "all"}}, "trained biases"},
          {{{"modules_to_save", {"lm_head"}}}, "modules_to_save"},
          {{{"r", 0}}, "from 1 to 256"},
          {{{"r", 300}}, "from 1 to 256"},
          {{{"rank_pattern", {{".*q_proj", 4}}}}, "regular expression"},
          {{{"rank_pattern", {{"q_proj", 2.5}}}}, "of q_proj must be a whole number"},
          {{{"rank_pattern", {{"q_proj", 300}}}}, "\"rank_pattern\" of q_proj = 300"},
          {{{"target_modules", 5}}, "must be a text or a list of texts"},
          {{{"lora_alpha", 1e300}}, "which is not a number of fp32"},
          {{{"init_lora_weights", "PiSSA_niter_4"}}, "changes the model's own"}}) {
        describe(change);
        EXPECT_NE(refusal().find(word), std::string::npos) << refusal();
    }
}

TEST_F(LoraRefusals, TakesEveryBeginningThatKeepsTheModel) {
    for (const nlohmann::json& change : {nlohmann::json{{"init_lora_weights", true}},
                                         {{"init_lora_weights", "gaussian"}},
                                         {{"init_lora_weights", "eva"}},
                                         {{"target_modules", nullptr}},
                                         {{"target_modules", ".*(q|v)_proj"}}}) {
        describe(change);
        EXPECT_EQ(refusal(), "") << change;
    }
}

TEST_F(LoraRefusals, SaysWhatAFolderLacks) {
    EXPECT_NE(refusal_of(folder_ / "nothing").find("does not exist"), std::string::npos);
    EXPECT_NE(refusal_of(folder_.path()).find("no adapter_model.safetensors"), std::string::npos);
    folder_.write("adapter_model.bin", "");
    EXPECT_NE(refusal_of(folder_.path()).find("pickle"), std::string::npos);
    EXPECT_NE(refusal_of(kGoldens + "mistral_small/model.gguf").find("something else than a LoRA adapter"),
              std::string::npos);
}

TEST(LoraAdapter, ReadsNamesAndPaths) {
    const auto choices = adapter_choices({"one=a/b", "two=c=d"});
    ASSERT_EQ(choices.size(), 2U);
    EXPECT_EQ(choices[0].name, "one");
    EXPECT_EQ(choices[0].path, "a/b");
    EXPECT_EQ(choices[1].path, "c=d");
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"folder"}, {"=folder"}, {"name="}, {"a=1", "a=2"}})
        EXPECT_THROW(adapter_choices(wrong), JobError);
}

TEST(LoraAdapter, ChangesTheFingerprint) {
    ModelFiles plain(kGoldens + "mistral_small"), adapted(kGoldens + "mistral_small");
    const auto adapter = [&](const char* name, const char* folder) {
        return std::make_shared<const LoraAdapter>(AdapterChoice{name, kGoldens + "lora/" + folder}, adapted);
    };
    EXPECT_EQ(plain.fingerprint_with_adapters(), plain.fingerprint());
    std::set<std::string> all{plain.fingerprint()};
    adapted.attach({adapter("a", "mistral_small_all")});
    all.insert(adapted.fingerprint_with_adapters());
    adapted.attach({adapter("b", "mistral_small_all")});
    all.insert(adapted.fingerprint_with_adapters());
    adapted.attach({adapter("a", "mistral_small_attention")});
    all.insert(adapted.fingerprint_with_adapters());
    EXPECT_EQ(all.size(), 4U);
}

// mistral_small: hidden 64, 4 heads and 2 KV heads of 24, feed-forward size 128. The adapter of rank 16
// changes q and v, which share their input with k.
TEST(LoraAdapter, CountsItsMemory) {
    ModelFiles files(kGoldens + "mistral_small");
    files.attach({std::make_shared<const LoraAdapter>(
        AdapterChoice{"a", kGoldens + "lora/mistral_small_attention"}, files)});
    const RankShare whole_model = rank_share(files, 0, 1), half = rank_share(files, 0, 2);
    const auto bytes = [&](WeightLayout layout, const RankShare& share, std::int64_t layer) {
        const AdapterBytes of = adapter_bytes(files, layout, share, layer);
        EXPECT_EQ(of.experts, 0U);
        return of.others;
    };
    // On GPUs with a table, in pieces of 256 bytes.
    EXPECT_EQ(bytes(WeightLayout::File, whole_model, 0), 4U * 16 * (3 * 64 + 96 + 48 + 48));
    EXPECT_EQ(bytes(WeightLayout::Gpu, whole_model, 1), 2U * 16 * (3 * 64 + 96 + 48 + 48) + 256);
    EXPECT_EQ(bytes(WeightLayout::Gpu, half, 1), 2U * 16 * (3 * 64 + 48 + 24 + 24) + 256);
    EXPECT_FALSE(adapter_buffers(files).gates_apart);
    EXPECT_FALSE(adapter_buffers(files).added_to_experts);
}

}  // namespace
}  // namespace voltpile::llm::lora_adapter_test
