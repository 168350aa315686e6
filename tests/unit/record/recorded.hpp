#ifndef WHYWAIT_TESTS_UNIT_RECORD_RECORDED_HPP
#define WHYWAIT_TESTS_UNIT_RECORD_RECORDED_HPP

#include <whywait/record/listen.hpp>
#include <whywait/record/totals.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

/// Enables recording, because the tests read their own records.
inline const bool listening = (whywait::record::listen(), true);

/// Runs a test on a new thread, which has an empty location.
template <class Test>
void on_new_thread(Test test) {
  std::thread(test).join();
}

/// The records of this thread, by name.
class recorded {
 public:
  recorded() : location_(*whywait::record::this_location()), sites_(whywait::core::the_registry()->sites) {
    REQUIRE(totals_.open());
    totals_.add(location_, whywait::core::cycle_clock::now());
  }
  ~recorded() { totals_.release(); }
  recorded(const recorded&) = delete;
  recorded& operator=(const recorded&) = delete;

  const whywait::record::location& here() const { return location_; }
  std::string innermost() const { return sites_[location_.path.innermost()].name; }
  std::uint64_t visits(const char* name) const { return sum(name, &whywait::record::site_total::visits); }
  std::uint64_t ticks(const char* name) const { return sum(name, &whywait::record::site_total::ticks); }
  std::uint64_t work(const char* name) const { return sum(name, &whywait::record::site_total::work); }
  /// Number of places with this name on all threads.
  int places(const char* name) const {
    int found = 0;
    for (std::uint32_t i = 0; i < sites_.size(); ++i) found += std::strcmp(sites_[i].name, name) == 0 ? 1 : 0;
    return found;
  }
  whywait::core::site_kind kind(const char* name) const {
    for (std::uint32_t i = 0; i < sites_.size(); ++i)
      if (std::strcmp(sites_[i].name, name) == 0) return sites_[i].kind;
    return whywait::core::site_kind::none;
  }

 private:
  std::uint64_t sum(const char* name, std::uint64_t whywait::record::site_total::*what) const {
    std::uint64_t all = 0;
    for (std::uint32_t i = 0; i < sites_.size(); ++i)
      if (std::strcmp(sites_[i].name, name) == 0) all += totals_[i].*what;
    return all;
  }

  const whywait::record::location& location_;
  const whywait::core::site_table& sites_;
  whywait::record::totals totals_;
};

#endif
