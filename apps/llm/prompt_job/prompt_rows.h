// The fields of a result with one row for each prompt, and the rows of unfinished ranges.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "llm/engine/request.h"
#include "llm/prompt_job/prompt.h"
#include "results/field.h"
#include "results/rows.h"
#include "work/work_range.h"

namespace voltpile::llm {

// Returns the fields of the result. tokens, prompt_tokens: estimates for a row.
std::vector<FieldSpec> prompt_fields(int top_n, double tokens, double prompt_tokens);

// Collects the rows of unfinished ranges, in any order, and submits a range when all of its rows are there.
class PromptRows {
  public:
    using Submit = std::function<void(WorkRange, std::vector<FieldBuffer>)>;

    // prompts: must outlive this object.
    PromptRows(const std::vector<Prompt>& prompts, int top_n, Submit submit);

    // Starts a range. Returns the prompts to compute. The rows of the others have an error at once.
    std::vector<std::int64_t> begin(WorkRange range);

    // Adds a row. outcome.id: the number of the prompt. Submits the range if this was its last missing row.
    void add(Outcome outcome);

    // Submits the finished rows of unfinished ranges and drops these ranges.
    void submit_rest();

    bool empty() const { return open_.empty(); }

  private:
    struct OpenRange {
        WorkRange range;
        std::vector<std::optional<Outcome>> rows;
        std::int64_t missing = 0;
    };
    void submit(const OpenRange& open, WorkRange piece) const;

    const std::vector<Prompt>& prompts_;
    int top_n_;
    Submit submit_;
    std::map<std::int64_t, OpenRange> open_;  // by begin
};

}  // namespace voltpile::llm
