// Tests the safetensors reader on files assembled byte by byte from the definition of the format.
#include "llm/model/safetensors_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "model_test_files.h"

namespace voltpile::llm {
namespace {

using test_files::bytes_of;
using test_files::missing;
using test_files::safetensors;

std::string message_for(const std::string& file) {
    try {
        const SafetensorsFile read(bytes_of(file), "x.safetensors");
    } catch (const FileError& error) {
        EXPECT_EQ(error.exit_code(), ExitCode::BadInput);
        return error.what();
    }
    return "no error";
}

const std::string kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
                            R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";

// Returns a file with one tensor "t" of 8 bytes.
std::string tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return safetensors("{\"t\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) +
                           ",\"data_offsets\":" + std::string(offsets) + "}}",
                       8);
}

TEST(SafetensorsFile, PlacesTensors) {
    const std::string bytes = safetensors(kHeader, 20);
    const SafetensorsFile file(bytes_of(bytes), "x.safetensors");
    ASSERT_EQ(file.tensors().size(), 2u);
    const StoredTensor& a = file.tensors().at("a");
    EXPECT_EQ(a.format, WeightFormat::F32);
    EXPECT_EQ(a.rows, 1u);
    EXPECT_EQ(a.columns, 2u);
    EXPECT_EQ(a.offset, 8 + kHeader.size());
    const StoredTensor& b = file.tensors().at("b");
    EXPECT_EQ(b.format, WeightFormat::BF16);
    EXPECT_EQ(b.rows, 2u);
    EXPECT_EQ(b.columns, 3u);
    EXPECT_EQ(b.offset, 16 + kHeader.size());
    EXPECT_EQ(b.data, bytes_of(bytes).data() + b.offset);
}

TEST(SafetensorsFile, NamesErrors) {
    EXPECT_EQ(message_for(tensor("F16", "[4]", "[0,8]")), "no error");
    EXPECT_EQ(
        missing("t is in F8_E5M2, which is not supported", message_for(tensor("F8_E5M2", "[8]", "[0,8]"))),
        "");
    const std::string packed = tensor("I32", "[2]", "[0,8]");
    const SafetensorsFile file(bytes_of(packed), "x.safetensors");
    EXPECT_EQ(file.tensors().at("t").element, StoredType::I32);
    EXPECT_THROW(check_only_weights(file.tensors(), "x.safetensors"), FileError);
    EXPECT_EQ(missing("outside the file's 8 bytes", message_for(tensor("F16", "[4]", "[0,16]"))), "");
    EXPECT_EQ(missing("outside", message_for(tensor("F16", "[4]", "[8,0]"))), "");
    EXPECT_EQ(missing("not two numbers", message_for(tensor("F16", "[4]", "[0]"))), "");
    EXPECT_EQ(missing("not two numbers", message_for(tensor("F16", "[4]", "[-1,7]"))), "");
    EXPECT_EQ(missing("has 8 bytes where its shape needs 6", message_for(tensor("F16", "[3]", "[0,8]"))), "");
    EXPECT_EQ(missing("2 bytes of data belong to no tensor", message_for(tensor("F16", "[3]", "[0,6]"))), "");
    EXPECT_EQ(missing("a gap or an overlap", message_for(tensor("F16", "[3]", "[2,8]"))), "");
    EXPECT_EQ(missing("has 8 bytes where its shape needs 2", message_for(tensor("F16", "[]", "[0,8]"))), "");
    EXPECT_EQ(missing("shape", message_for(tensor("F16", "[1.5]", "[0,8]"))), "");
    EXPECT_EQ(missing("impossible shape", message_for(tensor("F16", "[0]", "[0,0]"))), "");
    EXPECT_EQ(missing("impossible shape", message_for(tensor("F16", "[4294967296,4294967296,4]", "[0,8]"))),
              "");
    EXPECT_EQ(missing("not a JSON object", message_for(safetensors("[1,2]", 0))), "");
    EXPECT_EQ(missing("not valid JSON at byte 5, in line 1", message_for(safetensors("{\"t\":", 0))), "");
    EXPECT_EQ(missing("not valid JSON at byte 6, in line 3", message_for(safetensors("{\n\"t\"\n}", 0))), "");
    EXPECT_EQ(missing("a number is too large", message_for(safetensors(R"({"t":1e999})", 0))), "");
    EXPECT_EQ(missing("\"t\" occurs twice", message_for(safetensors(R"({"t":1,"t":2})", 0))), "");
    EXPECT_EQ(missing("not described by an object", message_for(safetensors(R"({"t":1})", 0))), "");
    EXPECT_EQ(missing("nested deeper than", message_for(safetensors(std::string(100'000, '['), 0))), "");
    EXPECT_EQ(missing("this is not a safetensors file", message_for(std::string(16, '\xff'))), "");
}

TEST(SafetensorsFile, RejectsEveryTruncation) {
    const std::string file = safetensors(kHeader, 20);
    EXPECT_EQ(message_for(file), "no error");
    for (std::size_t size = 0; size < file.size(); ++size)
        EXPECT_NE(message_for(std::string(file.data(), size)), "no error") << size;
}

TEST(SafetensorsFile, SurvivesChangedBytes) {
    const std::string file = safetensors(kHeader, 20);
    std::size_t refused = 0;
    for (std::size_t i = 0; i < file.size(); ++i)
        for (const unsigned flip : {1u, 0x80u, 0xffu}) {
            std::string changed = file;
            changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
            refused += message_for(changed) != "no error";
        }
    EXPECT_GT(refused, file.size());
}

}  // namespace
}  // namespace voltpile::llm
