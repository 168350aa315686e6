#ifndef WHYWAIT_REPORT_NAME_RESOLVER_HPP
#define WHYWAIT_REPORT_NAME_RESOLVER_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/report/named_block.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Names and places for the keys of one outcome.
class name_resolver {
 public:
  name_resolver(const explain::outcome& found, const base::names& known) : names_(found, known) {}

  base::place site(core::stable_key key) const { return copy_of(names_.place(key)); }

  /// `within`: the region around an untimed step, else 0.
  void describe(core::stable_key block, core::stable_key within, named_block& out) const {
    const explain::block_description d = names_.describe(block, within != 0);
    out.kind = d.kind_name;
    out.block = words(d);
    out.where = copy_of(d.where);
    if (d.kind == explain::block_kind::between && !d.since_init) out.from = copy_of(d.from);
    if (within != 0) out.within = words(names_.describe(within));
  }

  /// Describes the sum of all blocks that are not listed.
  void rest(named_block& out) const {
    out.kind = explain::name_of(explain::block_kind::other);
    out.block = explain::block_names::rest;
  }

 private:
  static base::place copy_of(const base::place* p) { return p != nullptr ? *p : base::place{}; }

  static std::string words(const explain::block_description& d) {
    if (d.kind == explain::block_kind::call) return "inside " + call_text(copy_of(d.where));
    if (d.kind != explain::block_kind::between) return d.name;
    if (d.until_end) return "after " + (d.since_init ? std::string(base::start_text()) : call_text(copy_of(d.from), "at"));
    return "between " + (d.since_init ? std::string(base::start_text()) : call_text(copy_of(d.from), "at")) + " and " +
           call_text(copy_of(d.where), "at");
  }

  explain::block_names names_;
};

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
