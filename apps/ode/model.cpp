#include "ode/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "job/job_spec.h"
#include "job/named_texts.h"
#include "job/nearest.h"
#include "ode/expression.h"

namespace voltpile::ode {

namespace {

std::vector<std::string> sorted_names(const JobSpec& job, const char* table) {
    std::vector<std::string> names = job.texts(table);
    std::ranges::sort(names);
    return names;
}

class ModelReader {
  public:
    ModelReader(const JobSpec& job, const ReportProblem& report)
        : job_(job), report_(report), equations_(named_texts(job, "equations.NAME")) {
        for (const auto& [name, text] : named_texts(job, "define.NAME")) definitions_[name].text = text;
    }

    Model read() {
        model_.parameters = sorted_names(job_, "parameters.NAME");
        read_states();
        read_names();
        if (!sound_) return std::move(model_);
        for (const auto& [name, text] : equations_)
            model_.rates.push_back(expression("equations." + name, text));
        for (const auto& [name, definition] : definitions_) read_definition(name);
        read_events();
        read_outputs();
        return std::move(model_);
    }

  private:
    struct Definition {
        std::string text;
        int node = -1;
        bool open = false;    // is being read
        bool failed = false;  // has been reported
    };

    void complain(const std::string& key, const std::string& message) {
        sound_ = false;
        report_(key, message);
    }

    void read_states() {
        if (equations_.empty()) complain("equations", "[equations] is empty: write for example dx = \"-x\"");
        if (equations_.size() > kMostStates)
            complain("equations",
                     fmt::format("{} equations: at most {} are possible", equations_.size(), kMostStates));
        for (const auto& [key, text] : equations_) {
            if (key.size() < 2 || key[0] != 'd' || !is_name(key.substr(1))) {
                complain("equations." + key, fmt::format("equations.{}: name an equation d and its variable, "
                                                         "such as dx",
                                                         key));
                continue;
            }
            const std::string state = key.substr(1);
            model_.states.push_back(state);
            if (!has_initial(state))
                complain("equations." + key,
                         fmt::format("{} has no initial value: write {} = 0 in [initial]", state, state));
        }
        for (const std::string& name : sorted_names(job_, "initial.NAME"))
            if (std::ranges::find(model_.states, name) == model_.states.end())
                complain("initial." + name, fmt::format("initial.{}: there is no equation d{}{}", name, name,
                                                        did_you_mean(nearest_word(name, model_.states))));
    }

    bool has_initial(const std::string& state) const {
        const std::vector<std::string> names = sorted_names(job_, "initial.NAME");
        return std::ranges::find(names, state) != names.end();
    }

    // Gives each name its meaning.
    void read_names() {
        int symbol = 0;
        for (const std::string& name : model_.states) claim(name, "equations.d" + name, symbol++);
        for (const std::string& name : model_.parameters) claim(name, "parameters." + name, symbol++);
        claim("t", "", symbol);
        for (const auto& [name, definition] : definitions_) claim(name, "define." + name, -1);
        for (const auto& [name, number] : symbols_) known_.push_back(name);
    }

    void claim(const std::string& name, const std::string& key, int symbol) {
        if (!is_name(name))
            complain(key,
                     fmt::format("{}: a name has letters, digits and underscores, the first no digit", key));
        else if (is_reserved(name))
            complain(key, fmt::format("{}: {} is a function or constant of expressions; choose another name",
                                      key, name));
        else if (name == "t" && !key.empty())
            complain(key, fmt::format("{}: t is the time; choose another name", key));
        else if (!symbols_.try_emplace(name, symbol).second && !key.empty())
            complain(key,
                     fmt::format("{}: another variable, parameter or definition is named {}", key, name));
    }

    // Returns the node of an expression, or -1 after reporting what is wrong with it.
    int expression(const std::string& key, const std::string& text) {
        const ResolveName resolve = [this](const std::string& name) { return node_of(name); };
        try {
            return parse_expression(text, model_.graph, resolve, known_, depth_);
        } catch (const ExpressionError& error) {
            complain(key, fmt::format("{}: {}", key, error.what()));
        } catch (const BrokenDefinition&) {
            sound_ = false;
        }
        return -1;
    }

    std::optional<int> node_of(const std::string& name) {
        const auto found = symbols_.find(name);
        if (found == symbols_.end()) return std::nullopt;
        if (found->second >= 0) return model_.graph.symbol(found->second);
        const Definition& definition = read_definition(name);
        if (definition.failed) throw BrokenDefinition();
        return definition.node;
    }

    struct BrokenDefinition {};  // the definition has been reported; what uses it is not at fault

    const Definition& read_definition(const std::string& name) {
        Definition& definition = definitions_.at(name);
        if (definition.open) throw std::runtime_error(fmt::format("{} is defined by itself", name));
        if (definition.node >= 0 || definition.failed) return definition;
        if (depth_ >= kMostDepth) throw std::runtime_error("too many definitions within definitions");
        ++depth_;
        definition.open = true;
        definition.node = expression("define." + name, definition.text);
        definition.open = false;
        definition.failed = definition.node < 0;
        --depth_;
        return definition;
    }

    void read_events() {
        const auto events = named_texts(job_, "stop.NAME");
        if (events.size() > kMostEvents)
            complain("stop", fmt::format("{} events: at most {} are possible", events.size(), kMostEvents));
        static const std::vector<std::string> taken = {"end", "max_steps", "not_finite", "step_too_small"};
        for (const auto& [name, text] : events) {
            const std::string key = "stop." + name;
            if (!is_name(name) || std::ranges::find(taken, name) != taken.end())
                complain(key, fmt::format("{}: an event cannot be named \"{}\"", key, name));
            const int node = expression(key, text);
            if (node < 0) continue;
            const Op op = model_.graph.node(node).op;
            if (op != Op::Less && op != Op::NotAbove)
                complain(key,
                         fmt::format("{}: expected a comparison that can change, such as \"x > 10\"", key));
            model_.events.push_back({name, node});
        }
    }

    void read_outputs() {
        auto outputs = named_texts_in_order(job_, "outputs.NAME");
        if (outputs.empty())
            for (const std::string& state : model_.states) outputs.emplace_back("final_" + state, state);
        if (outputs.size() > kMostOutputs)
            complain("outputs",
                     fmt::format("{} outputs: at most {} are possible", outputs.size(), kMostOutputs));
        const std::vector<std::string> taken = common_fields();
        for (const auto& [name, text] : outputs) {
            const std::string key = "outputs." + name;
            if (!is_name(name))
                complain(key, fmt::format(
                                  "{}: a name has letters, digits and underscores, the first no digit", key));
            if (std::ranges::find(taken, name) != taken.end())
                complain(key, fmt::format("{}: the result has a field of that name; choose another", key));
            for (std::size_t i = 0; i < job_.axes().size(); ++i)
                if (job_.axes()[i].name == name)
                    complain(key,
                             fmt::format("{}: an axis of the sweep has that name; choose another, or name "
                                         "the axis with sweep.name",
                                         key));
            model_.outputs.push_back({name, expression(key, text)});
        }
        for (std::size_t i = 0; i < job_.axes().size(); ++i)
            if (std::ranges::find(taken, job_.axes()[i].name) != taken.end())
                complain(fmt::format("sweep[{}].name", i),
                         fmt::format("an axis cannot be named \"{}\": the result uses that name",
                                     job_.axes()[i].name));
    }

    const JobSpec& job_;
    const ReportProblem& report_;
    const std::vector<std::pair<std::string, std::string>> equations_;
    std::map<std::string, Definition> definitions_;
    std::map<std::string, int> symbols_;  // -1: a definition
    std::vector<std::string> known_;
    Model model_;
    bool sound_ = true;
    int depth_ = 0;
};

}  // namespace

Model model_from_job(const JobSpec& job, const ReportProblem& report) {
    return ModelReader(job, report).read();
}

Model model_from_job(const JobSpec& job) {
    return model_from_job(job, [](const std::string& key, const std::string& message) {
        throw std::logic_error("a job that was checked is wrong: " + key + ": " + message);
    });
}

std::vector<std::string> common_fields() {
    return {"t_final", "steps", "status", "lyapunov", "check", "plan", "telemetry"};
}

}  // namespace voltpile::ode
