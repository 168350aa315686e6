// Any bytes as a text of rules, run on a few events with awkward values: no crash, no hang, no leak, and every number that
// reaches a finding is finite.
//
// corpus: rules.corpus
// options: -dict={source}/rules.dict -max_len=8192 -timeout=20
#include <whywait/rules/compiler.hpp>
#include <whywait/rules/evaluator.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whywait::rules;
  compiler rules;
  rules.add("fuzz.rules", std::string(reinterpret_cast<const char*>(data), size));
  const knowledge known = rules.finish();

  event_store store(known);
  store.composite_cells = 1u << 20;
  store.location_time = 10;
  static constexpr double numbers[] = {0, -0.0, 1, 2, -1, 0.5, 1e-9, 1e300, -1e300, 1e308};
  static constexpr const char* texts[] = {"", "late_sender", "wait_at_barrier", "region", "\xd0\xb6", "{x}"};
  std::uint32_t random = 1;
  const std::uint32_t place = store.add_action({"MPI_Send", "calculate", "jacobi.cpp", 7, "MPI_Send in calculate"});
  for (std::uint32_t t = 0; t < known.types.size(); ++t) {
    if (!known.types[t].members.empty()) continue;
    for (int row = 0; row < (known.types[t].single ? 1 : 12); ++row) {
      row_writer writer(store, known.types[t].name);
      for (const column& c : known.types[t].columns) {
        random = random * 1664525u + 1013904223u;
        if (c.what.is(type::kind::text)) writer.set(c.name.c_str(), texts[(random >> 16) % 6]);
        else if (c.what.is(type::kind::boolean)) writer.set(c.name.c_str(), (random >> 16) % 2 == 0);
        else writer.set(c.name.c_str(), numbers[(random >> 16) % 10]);
      }
      writer.actions(place);
    }
  }
  const findings found = evaluator(store).evaluate();
  for (const finding& f : found.list)
    if (!std::isfinite(f.instances) || f.seconds < 0 || f.saving < 0 || std::isnan(f.seconds) || std::isnan(f.saving))
      std::abort();
  return 0;
}
