#ifndef WHYWAIT_DATA_FINALIZE_DATA_FACTS_OF_HPP
#define WHYWAIT_DATA_FINALIZE_DATA_FACTS_OF_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/analysis/page_book.hpp>
#include <whywait/data/analysis/sharing_book.hpp>
#include <whywait/data/report/communication_assemble.hpp>
#include <whywait/rules/data_facts.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace data {

/// Adds the arrays that are falsely shared, by the blocks that use or write them, most misses first. `threads`: of a process;
/// else the ranks of a machine.
inline void add_shared_data(rules::data_facts& to, const sharing_report& found, bool threads, const data_naming& names) {
  const base::rank_noun_scope words(threads);
  struct use {
    core::stable_key array, block;
    std::uint64_t here, all;  // threads that use it in this block; in any
  };
  base::pod_vector<use> uses;
  for (const sharing_group& g : found.groups) {
    if (g.pattern != sharing_pattern::false_sharing) continue;
    std::uint64_t users = 0, writers = 0;
    for (const node_threads& t : g.graph.threads) {
      users |= t.readers | t.writers;
      writers |= t.writers;
    }
    const auto add = [&](core::stable_key block, std::uint64_t here) {
      if (block == 0) return;
      std::size_t at = 0;
      while (at != uses.size() && (uses[at].array != g.array || uses[at].block != block)) ++at;
      if (at == uses.size()) uses.push_back({g.array, block, 0, 0});
      uses[at].here |= here;
      uses[at].all |= users;
    };
    for (const node_threads& t : g.graph.threads) {
      const sharing_node& n = found.nodes[t.node];
      add(n.request, t.readers | t.writers);
      for (const core::stable_key w : n.writes) add(w, writers);  // by which of them is not known
    }
  }
  for (const use& u : uses) {
    base::pod_vector<std::int32_t> numbers;
    for (std::int32_t t = 0; t != 64; ++t)
      if ((u.all >> t & 1) != 0) numbers.push_back(t);
    to.shared.push_back({u.block, names.data(u.array), code_text(names.site(u.array)), name_of(sharing_pattern::false_sharing),
                         base::rank_list(numbers), threads ? u.here : 0, u.all});
  }
}

/// Adds the threads that use arrays from another NUMA node. `all`: most bytes first.
inline void add_far_data(rules::data_facts& to, const base::pod_vector<far_use>& all, const data_naming& names) {
  for (const far_use& u : all)
    to.far.push_back({u.block, names.data(u.array), code_text(names.site(u.array)), names.code(u.block), u.rank, u.thread,
                      u.node, u.pages_node, u.share()});
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
