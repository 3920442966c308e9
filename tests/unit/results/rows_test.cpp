// Tests lists and texts of any length: parts -> finished file -> reader.
#include "results/rows.h"

#include "plot/plot.h"
#include "results/hdf5/attribute.h"
#include "results/parts/part_file.h"
#include "results/result_reader.h"
#include "results/show.h"
#include "results/statistics.h"
#include "unit/results/result_fixtures.h"

namespace voltpile {
namespace {

using namespace test;

FieldSpec variable(const std::string& name, FieldShape shape, FieldType type = FieldType::Int32) {
    FieldSpec spec = field(name, type);
    spec.shape = shape;
    spec.usual_length = 4;
    return spec;
}

ResultLayout rows_layout(std::vector<std::int64_t> counts) {
    FieldSpec why = field("why", FieldType::Int32);
    why.labels = {"end", "length"};
    return layout_of(some_axes(std::move(counts)),
                     {variable("tokens", FieldShape::List), variable("text", FieldShape::Text),
                      variable("weights", FieldShape::List, FieldType::Float64), why});
}

// Point p has p % 4 values, so some are empty.
std::vector<std::int32_t> tokens_of(std::int64_t p) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < p % 4; ++i) tokens.push_back(static_cast<std::int32_t>(100 * p + i));
    return tokens;
}
std::vector<double> weights_of(std::int64_t p) {
    return std::vector<double>(static_cast<std::size_t>((p + 1) % 3), 0.5 * static_cast<double>(p));
}
std::string text_of(std::int64_t p) {
    std::string text;
    for (std::int64_t i = 0; i < p % 5; ++i) text += "\xc3\xbc" + std::to_string(p);
    return text;
}

std::vector<FieldBuffer> rows_of(WorkRange range) {
    RowsBuilder tokens, texts, weights;
    std::vector<std::int32_t> why;
    for (std::int64_t p = range.begin; p < range.end; ++p) {
        tokens.add(std::span<const std::int32_t>(tokens_of(p)));
        texts.add(text_of(p));
        weights.add(std::span<const double>(weights_of(p)));
        why.push_back(static_cast<std::int32_t>(p % 2));
    }
    return {tokens.take(), texts.take(), weights.take(), buffer(why)};
}

std::vector<PartInfo> commit(PartFolder& folder, const ResultLayout& layout,
                             const std::vector<std::int64_t>& bounds) {
    for (std::size_t i = 1; i < bounds.size(); ++i) {
        const WorkRange range{bounds[i - 1], bounds[i]};
        commit_part(folder.life(), layout, range, rows_of(range));
    }
    return scan_parts(folder.life(), layout, layout.whole()).parts;
}

void expect_rows(const ResultReader& result, WorkRange range) {
    const ResultLayout& layout = result.layout();
    const auto rows = [&](std::size_t index) { return result.read_rows(layout.fields[index], range); };
    const FieldBuffer tokens = rows(0), texts = rows(1), weights = rows(2);
    for (std::int64_t p = range.begin; p < range.end; ++p) {
        const std::int64_t i = p - range.begin;
        EXPECT_EQ(RowsView(tokens, range.size(), 4).list<std::int32_t>(i), tokens_of(p));
        EXPECT_EQ(RowsView(texts, range.size(), 1).text(i), text_of(p));
        EXPECT_EQ(RowsView(weights, range.size(), 8).list<double>(i), weights_of(p));
    }
}

TEST(Rows, RoundTripThroughPartsAndResult) {
    for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{23}, {5, 4}, {1}, {}}) {
        TemporaryFolder folder;
        const auto result = folder.path() / "map.h5";
        const ResultLayout layout = rows_layout(counts);
        const std::int64_t points = layout.point_count();
        PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
        const std::vector<PartInfo> found = commit(
            parts, layout,
            points > 7 ? std::vector<std::int64_t>{0, 3, 7, points} : std::vector<std::int64_t>{0, points});
        {
            const ResultReader unfinished(result);
            expect_rows(unfinished, layout.whole());
            if (points > 7) expect_rows(unfinished, {2, 9});
        }
        consolidate(parts.life(), layout, found, some_provenance());
        parts.remove();
        const ResultReader reader(result);
        expect_rows(reader, layout.whole());
        if (points > 7) expect_rows(reader, {2, 9});
        EXPECT_EQ(reader.layout().fields[0].shape, FieldShape::List);
        EXPECT_EQ(reader.layout().fields[1].shape, FieldShape::Text);
        EXPECT_EQ(reader.layout().fields[2].type, FieldType::Float64);
        EXPECT_EQ(reader.layout().fields[3].labels, (std::vector<std::string>{"end", "length"}));
    }
}

TEST(Rows, MayAllBeEmpty) {
    TemporaryFolder folder;
    const ResultLayout layout = rows_layout({1});  // point 0: no tokens, no text
    PartFolder parts(folder.path() / "map.h5", layout, PartFolder::IfOther::Refuse);
    EXPECT_EQ(commit(parts, layout, {0, 1}).size(), 1u);
}

TEST(Rows, AreEmptyWhereMissing) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = rows_layout({12});
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    commit_part(parts.life(), layout, {4, 6}, rows_of({4, 6}));
    const ResultReader reader(result);
    const FieldBuffer buffer = reader.read_rows(layout.fields[1], layout.whole());
    const RowsView texts(buffer, 12, 1);
    for (std::int64_t p = 0; p < 12; ++p) EXPECT_EQ(texts.text(p), p == 4 || p == 5 ? text_of(p) : "");
    EXPECT_EQ(field_statistics(reader, layout.fields[0]).finite, 2);
}

TEST(Rows, ReplaceANulInTheResult) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    ResultLayout layout = rows_layout({1});
    layout.fields = {layout.fields[1]};
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    RowsBuilder texts;
    texts.add(std::string_view("a\0b", 3));
    commit_part(parts.life(), layout, {0, 1}, {texts.take()});
    consolidate(parts.life(), layout, scan_parts(parts.life(), layout, {0, 1}).parts, some_provenance());
    const FieldBuffer found = ResultReader(result).read_rows(layout.fields[0], {0, 1});
    EXPECT_EQ(RowsView(found, 1, 1).text(0),
              "a\xEF\xBF\xBD"
              "b");
}

// Some bytes of a file have no meaning (gaps that HDF5 leaves).
TEST(Rows, OfADamagedPartAreRejectedOrIntact) {
    TemporaryFolder folder(memory_path());
    const ResultLayout layout = rows_layout({8});
    const auto result = folder.path() / "map.h5";
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    const std::filesystem::path path = commit(parts, layout, {0, 8}).front().path;
    const std::string bytes = file_text(path);
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 5) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        write_text_file(path, damaged);
        const PartScan scan = scan_parts(parts.life(), layout, layout.whole());
        refused += scan.rejected.size();
        if (!scan.parts.empty()) expect_rows(ResultReader(result), layout.whole());
        for (const RejectedPart& part : scan.rejected) std::filesystem::remove(part.path);
    }
    EXPECT_GT(refused, bytes.size() / 5 / 2);
}

TEST(Rows, AreShownByLengthAndNotDrawn) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    const ResultLayout layout = rows_layout({20});
    PartFolder parts(result, layout, PartFolder::IfOther::Refuse);
    consolidate(parts.life(), layout, commit(parts, layout, {0, 20}), some_provenance());
    const ResultReader reader(result);
    const Statistics lengths = field_statistics(reader, layout.fields[0]);
    EXPECT_EQ(lengths.min, 0);
    EXPECT_EQ(lengths.max, 3);
    EXPECT_EQ(lengths.mean(), 1.5);
    const std::string shown = show_text(reader);
    EXPECT_NE(shown.find("list of int32"), std::string::npos) << shown;
    EXPECT_NE(shown.find("0 end, 1 length"), std::string::npos) << shown;
    try {
        plot(reader, {.field = "text"});
        FAIL() << "a text was drawn";
    } catch (const JobError& error) {
        EXPECT_STREQ(error.what(),
                     "text has texts of variable length, which plot cannot draw; --field takes why");
    }
}

TEST(Rows, ThrowLogicErrorIfTheyDoNotFitTheirRange) {
    RowsBuilder rows;
    rows.add("one");
    const FieldBuffer buffer = rows.take();
    EXPECT_THROW(RowsView(buffer, 2, 1), std::logic_error);
    EXPECT_THROW(RowsView(buffer, 1, 2), std::logic_error);
    EXPECT_NO_THROW(RowsView(buffer, 1, 1));
}

TEST(Inputs, AreNamedIfTheyHaveChanged) {
    TemporaryFolder folder;
    const auto result = folder.path() / "map.h5";
    ResultLayout before = rows_layout({4});
    before.inputs = {{"model.gguf", "m1"}, {"prompts/a.jsonl", "a1"}};
    ResultLayout after = before;
    after.inputs[1].fingerprint = "a2";
    after.fingerprint = "f23456789abcdef0123456789abcdef0";
    const auto refusal = [&] {
        try {
            PartFolder(result, after, PartFolder::IfOther::Refuse);
        } catch (const JobError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    { const PartFolder parts(result, before, PartFolder::IfOther::Refuse); }
    EXPECT_NE(refusal().find("prompts/a.jsonl is not what it was (fingerprint a2, then a1)"),
              std::string::npos)
        << refusal();
    EXPECT_EQ(refusal().find("model.gguf"), std::string::npos);
}

}  // namespace
}  // namespace voltpile
