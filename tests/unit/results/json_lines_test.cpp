#include "results/json_lines.h"

#include <cmath>
#include <limits>

#include "results/rows.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

TEST(JsonLines, ContainEveryKindOfField) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    FieldSpec words = field("words", FieldType::Int32), list = words, text = words;
    words.labels = {"none", "some"};
    list.name = "list";
    list.shape = FieldShape::List;
    text.name = "text";
    text.shape = FieldShape::Text;
    const FieldDimension pair{"pair", {"a", "b"}};
    const ResultLayout layout = layout_of({axis("x", 0, 1, 2), axis("y", 5, 7, 2)},
                                          {field("value", FieldType::Float64, {pair}), words, list, text});
    const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    RowsBuilder lists, texts;
    for (const std::vector<std::int32_t>& each : {std::vector<std::int32_t>{1, -2}, {}, {3}, {}})
        lists.add(std::span<const std::int32_t>(each));
    for (const char* each : {"a \"quoted\" one\n", "", "\xc3\xbc", "\xff"}) texts.add(std::string_view(each));
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_part(parts.life(), layout, layout.whole(),
                {buffer(std::vector<double>{0.5, 1, nan, infinite, 2, 3, 4, 5}),
                 buffer(std::vector<std::int32_t>{0, 1, 1, 0}), lists.take(), texts.take()});
    consolidate(parts.life(), layout, scan_parts(parts.life(), layout, layout.whole()).parts,
                some_provenance());

    write_json_lines(folder.path() / "map.jsonl", ResultReader(result));
    EXPECT_EQ(
        file_text(folder.path() / "map.jsonl"),
        R"({"x":0.0,"y":5.0,"value":[0.5,1.0],"words":"none","list":[1,-2],"text":"a \"quoted\" one\n"})"
        "\n"
        R"({"x":0.5,"y":5.0,"value":[null,null],"words":"some","list":[],"text":""})"
        "\n"
        "{\"x\":0.0,\"y\":6.0,\"value\":[2.0,3.0],\"words\":\"some\",\"list\":[3],\"text\":\"\xc3\xbc\"}\n"
        "{\"x\":0.5,\"y\":6.0,\"value\":[4.0,5.0],\"words\":\"none\",\"list\":[],\"text\":\"\xef\xbf\xbd\"}"
        "\n");
}

TEST(JsonLines, AreRecognizedByTheirKeys) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5", lines = folder.path() / "map.jsonl";
    const ResultLayout layout = layout_of({axis("x", 0, 1, 2)}, {field("steps", FieldType::Int32)});
    make_result(result, layout, {0, 2});
    write_json_lines(lines, ResultReader(result));
    EXPECT_TRUE(is_json_lines_of(lines, layout));
    for (const char* content : {"", "notes", "[1]", "{\"x\":0}\n", "{\"prompt\":\"x steps\"}\n"}) {
        write_text_file(lines, content);
        EXPECT_FALSE(is_json_lines_of(lines, layout)) << content;
    }
    EXPECT_FALSE(is_json_lines_of(folder.path() / "missing", layout));
}

}  // namespace
}  // namespace voltpile
