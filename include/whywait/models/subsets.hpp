#ifndef WHYWAIT_MODELS_SUBSETS_HPP
#define WHYWAIT_MODELS_SUBSETS_HPP

#include <whywait/models/expression.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A set of nodes that one completion of a task may enable, with its probability (feasible subsets; Kapelnikov et al.
/// 1987, 4.2.1).
template <class Name>
struct feasible_subset {
  std::vector<Name> destinations;  ///< a multiset, in the order of the expression
  weight probability;
};

/// Limit of the number of subsets in one E expression (P019); 17 independent optional arcs exceed it.
constexpr std::size_t most_subsets = 100000;

namespace detail {

template <class Name>
void merge_subset(std::vector<feasible_subset<Name>>& into, std::map<std::vector<Name>, std::size_t>& known,
                  std::vector<Name> destinations, const weight& probability) {
  if (probability.is_zero()) return;
  std::vector<Name> key = destinations;
  std::sort(key.begin(), key.end());
  const auto found = known.emplace(std::move(key), into.size());
  if (found.second) into.push_back({std::move(destinations), probability});
  else into[found.first->second].probability = into[found.first->second].probability + probability;
}

inline std::vector<weight> choice_weights(const expression& e, const std::string& where) {
  weight given(0, 1);
  std::int64_t open = 0;
  for (const expression& part : e.parts) {
    if (part.weighted) given = given + part.probability;
    else ++open;
  }
  const double sum = given.value();
  if (sum > 1.0 + 1e-9 || (open == 0 && sum < 1.0 - 1e-9))
    throw prediction_error(fault::weights_sum,
                           where + ": the weights of an exclusive-or sum to " + std::to_string(sum) + ", not to 1");
  weight rest = weight(1, 1) - given;
  if (rest.value() < 0.0) rest = weight(0, 1);
  std::vector<weight> all;
  for (const expression& part : e.parts) {
    // weights within the tolerance are scaled to sum to exactly 1
    if (part.weighted)
      all.push_back(open == 0 && !given.is_one() && given.exact() ? part.probability / given : part.probability);
    else all.push_back(rest / weight(open, 1));
  }
  return all;
}

template <class Name, class Resolve>
std::vector<feasible_subset<Name>> subsets_of(const expression& e, const Resolve& resolve, const std::string& where) {
  using subsets = std::vector<feasible_subset<Name>>;
  std::map<std::vector<Name>, std::size_t> known;
  subsets result;
  switch (e.what) {
    case expression::kind::none: return {{{}, weight(1, 1)}};
    case expression::kind::node: return {{{resolve(e)}, weight(1, 1)}};
    case expression::kind::any: {
      const std::vector<weight> weights = choice_weights(e, where);
      for (std::size_t i = 0; i != e.parts.size(); ++i)
        for (auto& s : subsets_of<Name>(e.parts[i], resolve, where))
          merge_subset(result, known, std::move(s.destinations), s.probability * weights[i]);
      return result;
    }
    case expression::kind::all: break;
  }
  result.push_back({{}, weight(1, 1)});
  for (const expression& part : e.parts) {
    subsets inner = subsets_of<Name>(part, resolve, where);
    subsets product;
    known.clear();
    const weight off = weight(1, 1) - part.probability;
    if (result.size() * inner.size() > 10 * most_subsets)
      throw prediction_error(fault::too_many_subsets, where + ": more than 100,000 feasible subsets");
    for (const auto& left : result) {
      merge_subset(product, known, left.destinations, left.probability * off);
      for (const auto& right : inner) {
        std::vector<Name> both = left.destinations;
        both.insert(both.end(), right.destinations.begin(), right.destinations.end());
        merge_subset(product, known, std::move(both), left.probability * right.probability * part.probability);
      }
      if (product.size() > most_subsets)
        throw prediction_error(fault::too_many_subsets, where + ": more than 100,000 feasible subsets");
    }
    result = std::move(product);
  }
  return result;
}

}  // namespace detail

/// All feasible subsets of an E expression; their probabilities sum to 1. `resolve(expression)` converts a node to a
/// Name and may throw. Exact fractions stay exact. Time is the number of subsets times their size.
template <class Name, class Resolve>
std::vector<feasible_subset<Name>> feasible_subsets(const expression& e, const Resolve& resolve,
                                                    const std::string& where = "E") {
  if (!e.weighted) return detail::subsets_of<Name>(e, resolve, where);
  // a weight at the top level is an AND with one part
  expression group;
  group.what = expression::kind::all;
  group.parts.push_back(e);
  return detail::subsets_of<Name>(group, resolve, where);
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
