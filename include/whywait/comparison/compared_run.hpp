#ifndef WHYWAIT_COMPARISON_COMPARED_RUN_HPP
#define WHYWAIT_COMPARISON_COMPARED_RUN_HPP

#include <whywait/comparison/json_value.hpp>
#include <whywait/report/named_block.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// A block of code with its time; of an explanation, what the late side ran more of it than the waiting side.
struct timed_block : reports::named_block {
  double seconds = 0;
  double visits_seconds = 0;  ///< of an explanation: because of more visits
  double speed_seconds = 0;   ///< of an explanation: because of slower visits
  std::int64_t visits = 0;    ///< on the critical path
};

/// All waits of one pattern between the same two call sites, as the report lists them. Rank time.
struct listed_wait {
  std::string pattern;
  base::place operation, cause;
  double seconds = 0;
  std::int64_t count = 0;
  std::vector<timed_block> residual;
  std::vector<std::pair<int, double>> causers;  ///< rank and seconds; -1: all that are not listed
};

/// A predicted saving: a sentence of the verdict, or an answer to WHYWAIT_WHATIF.
struct predicted_saving {
  std::string text;              ///< the sentence, or the question
  std::string identity;          ///< what it is about, without numbers
  std::string subject;           ///< "balancing relax (uneven.cpp:8)"
  double seconds = 0;            ///< saving, or of a question the predicted time
  double low = 0, high = 0;      ///< its interval
  bool at_most = false;          ///< the saving is an upper bound
};

/// What a comparison reads of one report.
struct compared_run {
  std::string name;     ///< path of the file
  std::string program;  ///< name of the executable with its arguments; empty in files that do not tell
  std::string host;     ///< empty in files that do not tell
  std::string date;     ///< begin of the run, ISO 8601; empty in files that do not tell
  std::string mpi;
  std::int64_t ranks = 1, locations = 1;
  double seconds = 0;           ///< wall time
  double location_seconds = 0;  ///< rank time
  double waiting_seconds = 0;   ///< rank time
  double sharing_seconds = 0;   ///< rank time in which ranks were ready to run and had no processor
  double unknown_seconds = 0;   ///< rank time that is not understood
  double path_seconds = 0;      ///< of the critical path
  std::optional<double> parallel, load_balance, serialisation, transfer;  ///< efficiencies
  std::vector<listed_wait> waits;
  std::vector<timed_block> critical_path;
  std::vector<predicted_saving> verdict, answers;
  std::vector<std::string> doubts;  ///< why the run is no complete measurement, one phrase each

  /// Rank time to seconds per rank, which compares with wall time.
  double per_rank(double rank_seconds) const noexcept {
    return locations > 0 ? rank_seconds / static_cast<double>(locations) : rank_seconds;
  }
};

namespace detail {

inline base::place read_place(const json_value& from) {
  base::place p;
  p.call = from.text_of("call");
  p.region = from.text_of("region");
  p.file = from.text_of("file");
  p.line = static_cast<int>(from.count_of("line"));
  p.last_line = static_cast<int>(from.count_of("last_line"));
  p.function = from.text_of("function");
  p.module = from.text_of("module");
  p.offset = static_cast<std::uint64_t>(from.count_of("offset"));
  p.caller = from.text_of("caller");
  return p;
}

inline timed_block read_block(const json_value& from) {
  timed_block b;
  b.block = from.text_of("block");
  b.kind = from.text_of("kind");
  b.within = from.text_of("within");
  b.where = read_place(from);
  if (const json_value* begin = from.find("from", json_value::object)) b.from = read_place(*begin);
  b.seconds = from.number_of("seconds");
  b.visits_seconds = from.number_of("visits_seconds");
  b.speed_seconds = from.number_of("speed_seconds");
  b.visits = from.count_of("visits");
  return b;
}

inline listed_wait read_wait(const json_value& from) {
  listed_wait w;
  w.pattern = from.text_of("pattern");
  w.operation = read_place(from.at("operation"));
  w.cause = read_place(from.at("cause"));
  w.seconds = from.number_of("seconds");
  w.count = from.count_of("count");
  for (const json_value& r : from.list("residual")) w.residual.push_back(read_block(r));
  for (const json_value& c : from.list("causers"))
    w.causers.push_back({static_cast<int>(c.number_of("rank", -1)), c.number_of("seconds")});
  return w;
}

/// Digits become '#', so that a sentence about the same cause with other numbers is the same text.
inline std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    else if (out.empty() || out.back() != '#') out += '#';
  }
  return out;
}

inline predicted_saving read_verdict(const json_value& from) {
  predicted_saving p;
  p.text = from.text_of("text");
  p.seconds = p.low = p.high = from.number_of("saving_seconds");
  const std::vector<json_value>& range = from.list("saving_range", json_value::number);
  if (range.size() == 2) {
    p.low = range[0].amount;
    p.high = range[1].amount;
  }
  // "rank 2 takes 3.0 times as long as the others in relax (uneven.cpp:8): balancing it would shorten the run by about ..."
  std::size_t end = p.text.find(" would shorten the run");
  if (end == std::string::npos) end = p.text.size();
  p.at_most = p.text.find("by up to", end) != std::string::npos;
  const std::string block = from.text_of("block");
  p.subject = p.text.substr(0, end);
  const std::size_t colon = p.subject.find(": ");
  if (colon != std::string::npos) p.subject = p.subject.substr(colon + 2);
  if (!block.empty()) {
    const std::size_t it = p.subject.find(" it");
    if (it != std::string::npos) p.subject = p.subject.substr(0, it + 1) + block + p.subject.substr(it + 3);
  }
  while (!p.subject.empty() && (p.subject.back() == ',' || p.subject.back() == ' ')) p.subject.pop_back();
  p.identity = block.empty() ? from.text_of("problem") + ":" + without_numbers(p.subject) : "block:" + without_numbers(block);
  return p;
}

inline void read_answers(const json_value& from, std::vector<predicted_saving>& into) {
  for (const json_value& a : from.list("answers")) {
    if (a.find("seconds") == nullptr) continue;  // the question was refused
    predicted_saving p;
    p.text = p.subject = p.identity = a.text_of("question");
    p.seconds = a.number_of("seconds");
    p.low = a.number_of("low_seconds", p.seconds);
    p.high = a.number_of("high_seconds", p.seconds);
    into.push_back(p);
  }
}

inline compared_run read_report(const json_value& all, const std::string& name) {
  if (all.text_of("schema") != "whywait/1")
    throw unreadable(name + ": is not a report of whywait (\"schema\" is not whywait/1)");
  const json_value& run = all.at("run");
  compared_run r;
  r.name = name;
  r.program = std::string(base::last_of(run.text_of("program")));
  for (const json_value& a : run.list("arguments", json_value::text)) r.program += " " + a.string;
  r.host = run.text_of("host");
  r.date = run.text_of("date");
  r.mpi = run.text_of("mpi");
  r.ranks = run.count_of("ranks");
  r.locations = run.count_of("locations");
  r.seconds = run.number_of("seconds");
  r.location_seconds = run.number_of("location_seconds");
  r.waiting_seconds = run.number_of("waiting_seconds");
  if (r.ranks < 1 || !(r.seconds > 0) || !(r.location_seconds > 0))
    throw unreadable(name + ": no time was recorded in this run");
  r.sharing_seconds = all.at("processor_sharing").number_of("seconds");
  r.unknown_seconds = all.at("not_understood").number_of("seconds");
  const json_value& e = all.at("efficiency");
  const auto efficiency = [&e](const char* which) {
    const json_value* const found = e.find(which, json_value::number);
    return found != nullptr ? std::optional<double>(found->amount) : std::nullopt;
  };
  r.parallel = efficiency("parallel");
  r.load_balance = efficiency("load_balance");
  r.serialisation = efficiency("serialisation");
  r.transfer = efficiency("transfer");
  for (const json_value& w : all.list("waits")) r.waits.push_back(read_wait(w));
  for (const json_value& b : all.list("critical_path")) {
    r.critical_path.push_back(read_block(b));
    r.path_seconds += r.critical_path.back().seconds;
  }
  for (const json_value& v : all.list("verdict")) r.verdict.push_back(read_verdict(v));
  read_answers(all.at("prediction"), r.answers);
  if (run.is_true("partial")) r.doubts.push_back("the program did not reach MPI_Finalize");
  if (run.number_of("unseen_seconds") > 0) r.doubts.push_back("a part of the run was not recorded");
  if (r.unknown_seconds >= 0.05 * r.location_seconds) r.doubts.push_back("5 % of rank time or more is not understood");
  return r;
}

}  // namespace detail

/// Reads the facts of a report (docs/schema.json). Fields that are missing count as unknown, so that files of other
/// versions of the schema whywait/1 can be compared. Throws `unreadable`.
inline compared_run run_from_json(std::string_view text, const std::string& name) {
  const json_value all = parse_json(text, name);
  try {
    return detail::read_report(all, name);
  } catch (const wrong_type& problem) {
    throw unreadable(name + ": " + problem.what());
  }
}

/// Reads a file that WHYWAIT_OUTPUT wrote. Throws `unreadable`.
inline compared_run read_run(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw unreadable("cannot read " + path + ": " + std::strerror(errno));
  std::string text;
  char buffer[65536];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) != 0;) text.append(buffer, n);
  const int problem = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (problem != 0) throw unreadable("cannot read " + path + ": " + std::strerror(problem));
  return run_from_json(text, path);
}

/// The run of a result that the program itself holds (whywait::mpi::explain), on rank 0, through its JSON form. Throws
/// `unreadable` on other ranks, which do not have it.
template <class Result, class = decltype(std::declval<const Result&>().json())>
compared_run run_of(const Result& result, const std::string& name = "this run") {
  const std::string text = result.json();
  if (text.empty()) throw unreadable(name + " has no report here: only rank 0 has it");
  return run_from_json(text, name);
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
