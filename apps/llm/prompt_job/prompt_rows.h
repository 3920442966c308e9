// What the result of a job says of each prompt.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "llm/engine/outcome.h"
#include "llm/prompt_job/prompt.h"
#include "results/field.h"
#include "results/rows.h"
#include "work/work_range.h"

namespace voltpile::llm {

// tokens, prompt_tokens: of a row, as far as can be told before.
std::vector<FieldSpec> prompt_fields(int top_n, double tokens, double prompt_tokens);

// The ranges of prompts that are under way: rows come in any order, ranges are submitted when all of theirs
// are there.
class PromptRows {
  public:
    using Submit = std::function<void(WorkRange, std::vector<FieldBuffer>)>;

    // `prompts` outlive it.
    PromptRows(const std::vector<Prompt>& prompts, int top_n, Submit submit);

    // Returns the prompts that are to be computed; the rows of the others say why they cannot be used.
    std::vector<std::int64_t> begin(WorkRange range);

    // outcome.id: the prompt's number. Submits the range if that was its last row.
    void add(Outcome outcome);

    // Submits what is there of ranges that will not be finished, and forgets them.
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
