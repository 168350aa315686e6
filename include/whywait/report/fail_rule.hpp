#ifndef WHYWAIT_REPORT_FAIL_RULE_HPP
#define WHYWAIT_REPORT_FAIL_RULE_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/report/run_result.hpp>

#include <cctype>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// One condition of WHYWAIT_FAIL, under which a run fails: "waiting(MPI_Allreduce) > 10 %".
struct fail_rule {
  enum class quantity {
    efficiency,
    load_balance,
    communication,
    serialisation,
    transfer,
    waiting,
    unexplained,
    not_understood,
    saving,
    time
  };
  quantity what = quantity::efficiency;
  std::string site;  ///< a region, or where ranks wait; empty: the whole run
  bool below = false;  ///< it fails if the value is below the limit, else above
  bool equal = false;  ///< or equal
  double limit = 0;  ///< a share of 1, or seconds
};

/// The conditions of WHYWAIT_FAIL.
struct fail_rules {
  base::vector<fail_rule> all;
  std::string problem;  ///< of a text that cannot be read, with the text and a caret; empty: all of it was read
};

namespace detail {

struct fail_word {
  const char* name;
  bool has_site;  ///< it may be asked of a region or call site
};
/// In the order of fail_rule::quantity.
inline constexpr fail_word fail_words[] = {
    {"efficiency", true}, {"load_balance", true}, {"communication", true},   {"serialisation", false}, {"transfer", false},
    {"waiting", true},    {"unexplained", false}, {"not_understood", false}, {"saving", false},        {"time", true}};

inline const char* name_of(fail_rule::quantity q) noexcept { return fail_words[static_cast<std::size_t>(q)].name; }

class fail_parser {
 public:
  explicit fail_parser(std::string_view text) : text_(text) {}

  fail_rules operator()() {
    for (skip(); at_ != text_.size() && out_.problem.empty(); skip()) {
      if (text_[at_] == ';' || text_[at_] == ',') ++at_;
      else condition();
    }
    if (out_.all.empty() && !text_.empty()) fail("a condition");
    return std::move(out_);
  }

 private:
  void skip() {
    while (at_ != text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  void fail(const std::string& expected) {
    if (out_.problem.empty())
      out_.problem = "expected " + expected + "\n  " + std::string(text_) + "\n  " + std::string(at_, ' ') + "^";
  }

  void condition() {
    fail_rule rule;
    const std::size_t begin = at_;
    while (at_ != text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    std::size_t word = 0;
    std::string all;
    for (; word != std::size(fail_words) && name != fail_words[word].name; ++word)
      all += (word == 0 ? "" : ", ") + std::string(fail_words[word].name);
    if (word == std::size(fail_words)) {
      at_ = begin;
      return fail(all);
    }
    rule.what = static_cast<fail_rule::quantity>(word);
    skip();
    if (at_ != text_.size() && text_[at_] == '(') {
      if (!fail_words[word].has_site) return fail("<, <=, > or >=, because " + std::string(name) + " is that of the whole run");
      const std::size_t end = text_.find(')', at_);
      if (end == std::string_view::npos) return fail("a site in parentheses");
      rule.site = std::string(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      skip();
    }
    if (at_ == text_.size() || (text_[at_] != '<' && text_[at_] != '>')) return fail("<, <=, > or >=");
    rule.below = text_[at_++] == '<';
    if (at_ != text_.size() && text_[at_] == '=') {
      rule.equal = true;
      ++at_;
    }
    skip();
    const auto number = std::from_chars(text_.data() + at_, text_.data() + text_.size(), rule.limit);
    if (number.ec != std::errc() || !(rule.limit >= 0)) return fail("a number");
    at_ = static_cast<std::size_t>(number.ptr - text_.data());
    skip();
    const bool seconds = rule.what == fail_rule::quantity::time;
    const std::size_t unit_at = at_;
    while (at_ != text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '%')) ++at_;
    const std::string_view unit = text_.substr(unit_at, at_ - unit_at);
    if (!seconds && unit == "%") rule.limit /= 100;
    else if (seconds && unit == "ms") rule.limit /= 1e3;
    else if (seconds && unit == "us") rule.limit /= 1e6;
    else if (seconds ? unit != "s" : !unit.empty()) {
      at_ = unit_at;
      return fail(seconds ? "s, ms or us" : "%, ; or the end");
    }
    if (!seconds && rule.limit > 1) {
      at_ = unit_at;
      return fail(unit.empty() ? "%, because a share is at most 1" : "at most 100 %");
    }
    skip();
    if (at_ != text_.size() && text_[at_] != ';' && text_[at_] != ',') return fail("; or the end");
    out_.all.push_back(std::move(rule));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  fail_rules out_;
};

/// Whether a name may be that of a call; where a run makes it, or waits in it, may differ from run to run.
[[gnu::noinline]] inline bool may_be_call(std::string_view name) noexcept {
  if (name.find_first_of(".:( ") != std::string_view::npos) return true;  // a place, or a primitive
  for (unsigned n = 0; n != static_cast<unsigned>(core::mpi_call::thread_count_); ++n)
    if (core::is_known(static_cast<core::mpi_call>(n)) && name == core::name_of(static_cast<core::mpi_call>(n))) return true;
  return false;
}

/// The value that a condition is about. False, and the reason in `why`, if it is not known.
inline bool value_of(const fail_rule& rule, const whywait::result& r, double& value, std::string& why) {
  using quantity = fail_rule::quantity;
  const bool site = !rule.site.empty();
  const auto of = [&](const whywait::result::efficiencies& e) {
    switch (rule.what) {
      case quantity::efficiency: return value = e.parallel, true;
      case quantity::load_balance: return value = e.load_balance, true;
      case quantity::communication: return value = e.communication, true;
      case quantity::serialisation: return value = e.serialisation.value_or(0), e.serialisation.has_value();
      default: return value = e.transfer.value_or(0), e.transfer.has_value();
    }
  };
  switch (rule.what) {
    case quantity::waiting:
      if (site && r.waiting_at(rule.site) <= 0 && r.find_region(rule.site) == nullptr && !may_be_call(rule.site))
        return why = "there is no call or region of this name", false;
      value = r.rank_seconds > 0 ? (site ? r.waiting_at(rule.site) : r.waiting_seconds) / r.rank_seconds : 0;
      return true;
    case quantity::unexplained: value = r.waiting_seconds > 0 ? r.unexplained_seconds / r.waiting_seconds : 0; return true;
    case quantity::not_understood: value = r.rank_seconds > 0 ? r.not_understood_seconds / r.rank_seconds : 0; return true;
    case quantity::saving:
      value = r.verdict.empty() || r.seconds <= 0 ? 0 : r.verdict.front().saving_seconds / r.seconds;
      return true;
    default: break;
  }
  const whywait::result::region* const region = site ? r.find_region(rule.site) : nullptr;
  if (site && region == nullptr) return why = "there is no region of this name", false;
  if (rule.what == quantity::time) return value = site ? region->max_seconds : r.seconds, true;
  const std::optional<whywait::result::efficiencies>& known = site ? region->efficiency : r.efficiency;
  if (!known) return why = r.ranks == 1 ? "with one rank it is not known" : "it is not known", false;
  if (!of(*known)) return why = "it is not known", false;
  return true;
}

inline std::string fail_value(const fail_rule& rule, double value) {
  if (rule.what == fail_rule::quantity::time) return base::duration(value);
  return base::fixed(value * 100, value < 0.0995 ? 2 : 1) + " %";
}

}  // namespace detail

/// Reads conditions, separated by ';': NAME or NAME(SITE), then <, <=, > or >=, then a number. Names: efficiency, load_balance,
/// communication, serialisation, transfer, waiting, unexplained, not_understood, saving (a share of 1, or with %), and time
/// (with s, ms or us).
inline fail_rules parse_fail_rules(std::string_view text) { return detail::fail_parser(text)(); }

/// The conditions that hold, one sentence each: "efficiency is 51.0 %, below 80.0 %". What is not known fails as well, because the
/// run does not show that it is good.
inline base::vector<std::string> broken_rules(const fail_rules& rules, const whywait::result& r) {
  base::vector<std::string> out;
  for (const fail_rule& rule : rules.all) {
    const std::string name = std::string(detail::name_of(rule.what)) + (rule.site.empty() ? "" : "(" + rule.site + ")");
    double value = 0;
    std::string why = r.reason;
    if (!r || !detail::value_of(rule, r, value, why)) {
      out.push_back(name + " cannot be checked: " + why);
      continue;
    }
    const bool holds = rule.below ? value < rule.limit : value > rule.limit;
    if (!holds && !(rule.equal && value == rule.limit)) continue;
    out.push_back(name + " is " + detail::fail_value(rule, value) + (value == rule.limit ? ", not " : ", ") +
                  (rule.below ? (value == rule.limit ? "above " : "below ") : (value == rule.limit ? "below " : "above ")) +
                  detail::fail_value(rule, rule.limit));
  }
  return out;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
