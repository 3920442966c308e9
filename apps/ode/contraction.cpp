#include "ode/contraction.h"

#include <map>
#include <utility>

namespace voltpile::ode {

namespace {

std::size_t at(int i) {
    return static_cast<std::size_t>(i);
}

bool is_sum(Op op) {
    return op == Op::Add || op == Op::Subtract;
}

// Moves the signs of values outward: every node becomes another one, or the negative of another one.
class Signs {
  public:
    explicit Signs(Graph& graph) : graph_(graph) {}

    std::vector<int> rewrite(std::span<const int> roots) {
        const std::vector<bool> needed = graph_.needed_for(roots);
        now_.resize(needed.size());
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (needed[i]) now_[i] = rewritten(static_cast<int>(i));
        std::vector<int> result;
        for (const int root : roots) result.push_back(plain(now_[at(root)]));
        return result;
    }

  private:
    struct Signed {
        int node = -1;
        bool negative = false;
    };

    int plain(Signed value) { return value.negative ? graph_.apply(Op::Negate, value.node) : value.node; }

    Signed rewritten(int i) {
        const Node node = graph_.node(i);
        Signed operand[3];
        for (int k = 0; k < operands(node.op); ++k) operand[k] = now_[at(node.operand[k])];
        const auto [a, b, c] = operand;
        switch (node.op) {
            case Op::Constant:
            case Op::Symbol:
                return {i};
            case Op::Copy:
                return a;
            case Op::Negate:
                return {a.node, !a.negative};
            case Op::Abs:
                return {graph_.apply(Op::Abs, a.node)};
            case Op::Multiply:
            case Op::Divide:
                return quotient_or_product(node.op, a, b);
            case Op::Add:
                return sum(a, b);
            case Op::Subtract:
                return sum(a, {b.node, !b.negative});
            default:
                return {graph_.apply(node.op, plain(a), plain_or_none(b), plain_or_none(c))};
        }
    }

    int plain_or_none(Signed value) { return value.node < 0 ? -1 : plain(value); }

    Signed quotient_or_product(Op op, Signed a, Signed b) {
        const bool negative = a.negative != b.negative;
        // A constant takes the sign.
        for (Signed* const factor : {&a, &b}) {
            if (!negative || !graph_.is_constant(factor->node)) continue;
            factor->node = graph_.constant(-graph_.node(factor->node).value);
            return {graph_.apply(op, a.node, b.node)};
        }
        return {graph_.apply(op, a.node, b.node), negative};
    }

    Signed sum(Signed a, Signed b) {
        if (a.negative == b.negative) return {graph_.apply(Op::Add, a.node, b.node), a.negative};
        if (a.negative) std::swap(a, b);
        const auto reverse = differences_.find({b.node, a.node});
        if (reverse != differences_.end() && a.node != b.node) return {reverse->second, true};
        const int difference = graph_.apply(Op::Subtract, a.node, b.node);
        differences_[{a.node, b.node}] = difference;
        return {difference};
    }

    Graph& graph_;
    std::vector<Signed> now_;
    std::map<std::pair<int, int>, int> differences_;
};

class Fusion {
  public:
    Fusion(Graph& graph, const std::function<bool(int)>& moves) : graph_(graph), moves_symbol_(moves) {}

    std::vector<int> rewrite(std::span<const int> roots) {
        needed_ = graph_.needed_for(roots);
        count_uses(roots);
        choose();
        std::vector<int> now(needed_.size(), -1);
        for (std::size_t i = 0; i < needed_.size(); ++i)
            if (needed_[i]) now[i] = rewritten(static_cast<int>(i), now);
        std::vector<int> result;
        for (const int root : roots) result.push_back(now[at(root)]);
        return result;
    }

  private:
    // A product can be fused if it moves and only sums use it.
    void count_uses(std::span<const int> roots) {
        std::vector<bool> moves(needed_.size());
        std::vector<bool> exact(needed_.size());  // differences that are not fused
        uses_.assign(needed_.size(), 0);
        fusible_.assign(needed_.size(), false);
        for (std::size_t i = 0; i < needed_.size(); ++i) {
            if (!needed_[i]) continue;
            const Node& node = graph_.node(static_cast<int>(i));
            if (node.op == Op::Symbol) moves[i] = moves_symbol_(node.operand[0]);
            for (int k = 0; k < operands(node.op); ++k) moves[i] = moves[i] || moves[at(node.operand[k])];
            fusible_[i] = node.op == Op::Multiply && moves[i] && !has_whole_factor(node);
            if (node.op == Op::Sqrt || node.op == Op::Log || node.op == Op::Power)
                exact[at(node.operand[0])] = is_difference_of_products(node.operand[0]);
        }
        for (std::size_t i = 0; i < needed_.size(); ++i) {
            if (!needed_[i]) continue;
            const Node& node = graph_.node(static_cast<int>(i));
            for (int k = 0; k < operands(node.op); ++k) {
                ++uses_[at(node.operand[k])];
                if (!is_sum(node.op) || exact[i]) fusible_[at(node.operand[k])] = false;
            }
        }
        for (const int root : roots) fusible_[at(root)] = false;
    }

    // As in mod(a, b) = a - b floor(a/b), which must not become negative where b floor(a/b) rounds to a.
    bool has_whole_factor(const Node& product) const {
        return graph_.node(product.operand[0]).op == Op::Floor ||
               graph_.node(product.operand[1]).op == Op::Floor;
    }

    bool is_difference_of_products(int i) const {
        const Node& node = graph_.node(i);
        return node.op == Op::Subtract && graph_.node(node.operand[0]).op == Op::Multiply &&
               graph_.node(node.operand[1]).op == Op::Multiply;
    }

    // Chooses for each sum which operand it computes itself. Every use of a product must do so, or none.
    void choose() {
        for (bool settled = false; !settled;) {
            settled = true;
            chosen_.assign(needed_.size(), -1);
            std::vector<int> fused(needed_.size(), 0);
            for (std::size_t i = 0; i < needed_.size(); ++i) {
                const Node& node = graph_.node(static_cast<int>(i));
                if (!needed_[i] || !is_sum(node.op)) continue;
                for (const int k : {1, 0}) {
                    const std::size_t product = at(node.operand[k]);
                    if (!fusible_[product]) continue;
                    const bool better =
                        chosen_[i] < 0 || uses_[product] < uses_[at(node.operand[chosen_[i]])];
                    if (better) chosen_[i] = k;
                }
                if (chosen_[i] >= 0) ++fused[at(node.operand[chosen_[i]])];
            }
            for (std::size_t i = 0; i < needed_.size(); ++i) {
                if (fused[i] == 0 || fused[i] == uses_[i]) continue;
                fusible_[i] = false;
                settled = false;
            }
        }
    }

    int rewritten(int i, const std::vector<int>& now) {
        const Node node = graph_.node(i);
        if (operands(node.op) == 0) return i;
        const auto of = [&](int operand) { return operand < 0 ? -1 : now[at(operand)]; };
        const int k = chosen_[at(i)];
        if (k < 0)
            return graph_.apply(node.op, of(node.operand[0]), of(node.operand[1]), of(node.operand[2]));
        const Node product = graph_.node(node.operand[k]);
        const Op op = node.op == Op::Add ? Op::MultiplyAdd
                      : k == 0           ? Op::MultiplySubtract
                                         : Op::SubtractMultiply;
        return graph_.apply(op, of(product.operand[0]), of(product.operand[1]), of(node.operand[1 - k]));
    }

    Graph& graph_;
    const std::function<bool(int)>& moves_symbol_;
    std::vector<bool> needed_, fusible_;
    std::vector<int> uses_;
    std::vector<int> chosen_;  // the operand of a sum that it multiplies itself; -1: none
};

}  // namespace

std::vector<int> contracted(Graph& graph, std::span<const int> roots,
                            const std::function<bool(int symbol)>& moves) {
    const std::vector<int> signed_roots = Signs(graph).rewrite(roots);
    return Fusion(graph, moves).rewrite(signed_roots);
}

}  // namespace voltpile::ode
