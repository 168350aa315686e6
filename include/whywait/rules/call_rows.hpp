#ifndef WHYWAIT_RULES_CALL_ROWS_HPP
#define WHYWAIT_RULES_CALL_ROWS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/rules/call_kinds.hpp>
#include <whywait/rules/calls.hpp>
#include <whywait/rules/fact_rows.hpp>
#include <whywait/rules/place_columns.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Feeds the recorded calls to the tracing rules: one event per kind of call, with the number of its calls as weight
/// and their mean duration. `facts` is the fact_maker of the same store and numbers call sites. Communicators are
/// numbered from 1 in the order of the table; MPI_COMM_WORLD is 0.
inline void add_calls(event_store& store, trouble& log, const call_table& calls, const base::names& names, fact_maker& facts) {
  call_feeder feeder(store, log);
  base::key_map communicators;
  const auto text = [&store](const std::string& t) {
    const std::uint32_t number = store.texts().intern(t);
    return number == text_pool::none ? 0.0 : static_cast<double>(number);
  };
  for (const folded_calls& c : calls.kinds) {
    const call_kind& k = c.kind;
    const std::uint32_t place = store.add_action(detail::action_at(names.find(k.site)));
    const action at = store.action_of(place);
    call_values v;
    v[call_field::function] = text(core::name_of(k.call));
    v[call_field::region] = text(at.region);
    v[call_field::file] = text(at.file);
    v[call_field::line] = at.line;
    v[call_field::site] = facts.site_number(k.site);
    v[call_field::bytes] = static_cast<double>(k.bytes);
    v[call_field::rank] = k.rank;
    v[call_field::thread] = k.thread;
    v[call_field::peer] = k.peer;
    v[call_field::tag] = k.tag;
    v[call_field::size] = k.size;
    v[call_field::communicator] =
        k.communicator == 0 ? 0 : communicators.intern(k.communicator, static_cast<std::uint32_t>(communicators.size() + 1));
    const core::call_role role = core::role_of(k.part);
    const bool sends = role == core::call_role::send || role == core::call_role::post_send;
    const bool receives = role == core::call_role::receive || role == core::call_role::post_receive;
    v[call_field::source] = sends ? k.rank : receives ? k.peer : -1;
    v[call_field::destination] = sends ? k.peer : receives ? k.rank : -1;
    v[call_field::root] = detail::has_root(core::meeting_role_of(k.part)) ? k.peer : -1;
    v[call_field::duration] = static_cast<double>(c.duration_ns) / static_cast<double>(c.count) / 1e9;
    v[call_field::longest] = static_cast<double>(c.longest_ns) / 1e9;
    v[call_field::count] = static_cast<double>(c.count);
    feeder.feed(k.part, v, place, static_cast<double>(c.count));
  }
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
