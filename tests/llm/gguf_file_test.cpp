// Tests the GGUF reader on files assembled byte by byte from the definition of the format.
#include "llm/model/gguf_file.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "model_test_files.h"

namespace voltpile::llm::gguf_file_test {
namespace {

using test_files::bytes_of;
using test_files::GgufBytes;
using test_files::missing;

// Type numbers from the definition of the format.
constexpr std::uint32_t kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7, kString = 8, kArray = 9, kInt8 = 1;
constexpr std::uint32_t kTypeF32 = 0, kTypeQ8_0 = 8, kTypeQ4_K = 12;

// A file with every kind of value and two tensors: "a", 2 x 32 in Q8_0, and "b", 3 numbers in F32.
std::string small_file() {
    GgufBytes file;
    file.begin(2, 7);
    file.key("general.architecture", kString).text("llama");
    file.key("count", kUint32).number<std::uint32_t>(7);
    file.key("minus", kInt32).number<std::int32_t>(-3);
    file.key("eps", kFloat32).number(0.25f);
    file.key("truth", kBool).number<std::uint8_t>(1);
    file.key("tokens", kArray).number(kString).number<std::uint64_t>(2).text("one").text("");
    file.key("kinds", kArray).number(kInt8).number<std::uint64_t>(3).raw("\x01\x02\xff");
    file.tensor("a", {32, 2}, kTypeQ8_0, 0).tensor("b", {3}, kTypeF32, 96).pad();
    file.zeros(68).zeros(28).number(1.0f).number(2.0f).number(3.0f);
    return file.str();
}

std::string message_for(const std::string& file) {
    try {
        const GgufFile read(bytes_of(file), "x.gguf");
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

// A file with one tensor entry, followed by `data`.
std::string one_tensor(std::initializer_list<std::uint64_t> dimensions, std::uint32_t type,
                       std::uint64_t offset, std::size_t data) {
    return GgufBytes().begin(1, 0).tensor("t", dimensions, type, offset).pad().zeros(data).str();
}

TEST(GgufFile, ReadsValuesOfAllKinds) {
    const std::string bytes = small_file();
    const GgufFile file(bytes_of(bytes), "x.gguf");
    EXPECT_EQ(file.find<std::string_view>("general.architecture"), "llama");
    EXPECT_EQ(file.find<std::uint64_t>("count"), 7u);
    EXPECT_EQ(file.find<std::int64_t>("minus"), -3);
    EXPECT_EQ(file.find<double>("eps"), 0.25);
    EXPECT_EQ(file.find<bool>("truth"), true);
    const auto texts = file.find<std::span<const std::string_view>>("tokens");
    EXPECT_EQ(std::vector(texts->begin(), texts->end()), (std::vector<std::string_view>{"one", ""}));
    EXPECT_EQ(file.find<std::vector<std::int64_t>>("kinds"), (std::vector<std::int64_t>{1, 2, -1}));
    EXPECT_EQ(file.find<double>("absent"), std::nullopt);
    EXPECT_THROW(file.find<std::uint64_t>("minus"), FileError);
    EXPECT_THROW(file.find<double>("count"), FileError);
    EXPECT_THROW(file.find<std::vector<float>>("tokens"), FileError);
}

TEST(GgufFile, PlacesTensors) {
    const std::string bytes = small_file();
    const GgufFile file(bytes_of(bytes), "x.gguf");
    ASSERT_EQ(file.tensors().size(), 2u);
    const StoredTensor& a = file.tensors().at("a");
    EXPECT_EQ(a.format, WeightFormat::Q8_0);
    EXPECT_EQ(a.rows, 2u);
    EXPECT_EQ(a.columns, 32u);
    EXPECT_EQ(a.bytes, 68u);
    EXPECT_EQ(a.offset % 32, 0u);
    const StoredTensor& b = file.tensors().at("b");
    EXPECT_EQ(b.rows, 1u);
    EXPECT_EQ(b.offset, a.offset + 96);
    std::array<float, 3> numbers;
    std::memcpy(numbers.data(), b.data, sizeof numbers);
    EXPECT_EQ(numbers, (std::array<float, 3>{1, 2, 3}));
}

TEST(GgufFile, NamesErrors) {
    EXPECT_EQ(missing("x.gguf: this is not a GGUF file", message_for("PK\3\4 and so on")), "");
    EXPECT_EQ(missing("version 1 is not supported", message_for(GgufBytes().begin(0, 0, 1).str())), "");
    EXPECT_EQ(missing("big-endian", message_for(GgufBytes().begin(0, 0, 0x03000000).str())), "");
    EXPECT_EQ(missing("more than the file has room for", message_for(GgufBytes().begin(~0ull, 0).str())), "");
    EXPECT_EQ(missing("more than the file has room for", message_for(GgufBytes().begin(0, 1ull << 60).str())),
              "");
    EXPECT_EQ(missing("unknown type 13", message_for(GgufBytes().begin(0, 1).key("k", 13).zeros(64).str())),
              "");
    EXPECT_EQ(missing("neither true nor false",
                      message_for(GgufBytes().begin(0, 1).key("k", kBool).raw("\2").zeros(9).str())),
              "");
    EXPECT_EQ(
        missing(
            "the file ends",
            message_for(GgufBytes().begin(0, 1).key("k", kArray).number(kFloat32).number(1ull << 62).str())),
        "");
    EXPECT_EQ(missing("more than the file has room for",
                      message_for(
                          GgufBytes().begin(0, 1).key("k", kArray).number(kString).number(1ull << 61).str())),
              "");
    EXPECT_EQ(
        missing(
            "holds arrays",
            message_for(GgufBytes().begin(0, 1).key("k", kArray).number(kArray).number(1ull).zeros(9).str())),
        "");
    const auto twice = GgufBytes().begin(0, 2).key("k", kBool).raw("\1").key("k", kBool).raw("\1").str();
    EXPECT_EQ(missing("k occurs twice", message_for(twice)), "");
}

TEST(GgufFile, NamesTensorsWithErrors) {
    EXPECT_EQ(message_for(one_tensor({256, 2}, kTypeQ4_K, 0, 288)), "no error");
    EXPECT_EQ(
        missing("t reaches beyond the end of the file", message_for(one_tensor({256, 2}, kTypeQ4_K, 0, 287))),
        "");
    EXPECT_EQ(missing("beyond the end", message_for(one_tensor({256}, kTypeQ4_K, ~31ull, 144))), "");
    EXPECT_EQ(
        missing("not a multiple of the alignment 32", message_for(one_tensor({256}, kTypeQ4_K, 8, 320))), "");
    EXPECT_EQ(missing("not a multiple of 256", message_for(one_tensor({255}, kTypeQ4_K, 0, 320))), "");
    EXPECT_EQ(
        missing("impossible shape", message_for(one_tensor({1ull << 33, 1ull << 33}, kTypeF32, 0, 320))), "");
    EXPECT_EQ(missing("impossible shape", message_for(one_tensor({4, 0}, kTypeF32, 0, 320))), "");
    EXPECT_EQ(missing("0 dimensions", message_for(one_tensor({}, kTypeF32, 0, 320))), "");
    EXPECT_EQ(missing("5 dimensions", message_for(one_tensor({1, 1, 1, 1, 1}, kTypeF32, 0, 320))), "");
    EXPECT_EQ(
        missing("1 tensors (t first) are TQ2_0, which is not supported (supported: F32, F16, BF16, Q8_0",
                message_for(one_tensor({256}, 35, 0, 320))),
        "");
    EXPECT_EQ(missing("of unknown type 77", message_for(one_tensor({256}, 77, 0, 320))), "");
    const auto overlap =
        GgufBytes().begin(2, 0).tensor("p", {16}, kTypeF32, 0).tensor("q", {4}, kTypeF32, 32);
    EXPECT_EQ(missing("tensors p and q overlap", message_for(GgufBytes(overlap).pad().zeros(64).str())), "");
}

TEST(GgufFile, UsesTheAlignmentOfTheFile) {
    const auto file = [](std::uint32_t alignment) {
        GgufBytes bytes;
        bytes.begin(1, 1).key("general.alignment", kUint32).number(alignment);
        return bytes.tensor("t", {1}, kTypeF32, 0).pad(64).number(5.0f).str();
    };
    const std::string bytes = file(64);
    const GgufFile aligned(bytes_of(bytes), "x.gguf");
    EXPECT_EQ(aligned.tensors().at("t").offset, bytes.size() - 4);
    for (const std::uint32_t wrong : {0u, 1u, 48u, 1u << 31})
        EXPECT_EQ(missing("general.alignment", message_for(file(wrong))), "") << wrong;
}

TEST(GgufFile, RejectsEveryTruncation) {
    const std::string file = small_file();
    EXPECT_EQ(message_for(file), "no error");
    for (std::size_t size = 0; size < file.size(); ++size) {
        const std::string cut(file.data(),
                              size);  // a separate allocation: sanitizers notice reads beyond its end
        EXPECT_NE(message_for(cut), "no error") << size;
    }
}

// Any changed byte gives a file or a FileError.
TEST(GgufFile, SurvivesChangedBytes) {
    const std::string file = small_file();
    std::size_t refused = 0;
    for (std::size_t i = 0; i < file.size(); ++i)
        for (const unsigned flip : {1u, 0x80u, 0xffu}) {
            std::string changed = file;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
            refused += message_for(changed) != "no error";
        }
    EXPECT_GT(refused, file.size());  // of three changes for each byte; changes in texts and data are valid
}

}  // namespace
}  // namespace voltpile::llm::gguf_file_test
