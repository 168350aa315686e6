#ifndef WHYWAIT_FINALIZE_UNSEEN_OPENMP_HPP
#define WHYWAIT_FINALIZE_UNSEEN_OPENMP_HPP

#include <whywait/core/registry.hpp>
#include <whywait/report/model.hpp>

#include <cstdint>
#include <string>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Names the parts of OpenMP that the program used and that are not observed. `used(part)`: whether it did.
template <class Used>
void warn_of_openmp(reports::run_facts& facts, const Used& used) {
  static constexpr const char* names[core::openmp_part::dependences] = {"copyprivate",
                                                                        "doacross loops",
                                                                        "barriers of regions that can be cancelled",
                                                                        "atomic operations that need a lock",
                                                                        "target devices",
                                                                        "parallel regions compiled by GCC before 4.9"};
  std::string all;
  for (std::uint32_t part = 0; part != core::openmp_part::dependences; ++part)
    if (used(part)) all += (all.empty() ? "" : ", ") + std::string(names[part]);
  facts.openmp_unseen = !all.empty() || used(core::openmp_part::dependences);
  if (!all.empty()) facts.warnings.push_back("not observed of the program's OpenMP, so that waits there count as work: " + all);
  if (used(core::openmp_part::dependences))
    facts.warnings.push_back(
        "OpenMP tasks with depend: which task another one waits for is not known, so that a chain of them looks like uneven "
        "threads");
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
