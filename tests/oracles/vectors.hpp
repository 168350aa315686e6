#ifndef WHYWAIT_TESTS_ORACLES_VECTORS_HPP
#define WHYWAIT_TESTS_ORACLES_VECTORS_HPP

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Test vectors: every *.json file of one folder, tests/oracles or the one that WHYWAIT_ORACLES names. A vector passes or
// fails by its content; nothing here or in the tests depends on how many there are or what they are called.
namespace oracles {

using json = nlohmann::ordered_json;  // control graphs start their tasks in the order of the file

/// What a file holds, by its content: `overhead` has "schema": "whywait-overhead-vectors/...", `prediction` has "cases".
enum class topic { overhead, prediction };

/// A vector that cannot be judged: the message says why.
struct bad_vector : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Counts vectors and prints the result as the last line of the program.
class tally {
 public:
  static tally& of(topic t) {
    static tally overhead("overhead"), prediction("prediction");
    return t == topic::overhead ? overhead : prediction;
  }

  void begin(std::string id) {
    end();
    current_ = std::move(id);
    open_ = true;
    print_at_exit();
  }
  void fail(const std::string& why) {
    if (open_ && reasons_.empty()) reasons_ = why;
    if (!open_) problems_.push_back(why);
  }
  void end() {
    if (!open_) return;
    open_ = false;
    ++checked_;
    if (reasons_.empty()) ++passed_;
    else problems_.push_back("vector " + current_ + ": " + reasons_);
    reasons_.clear();
  }
  void print_at_exit() {
    static const bool once = [] { return std::atexit(&print_all) == 0; }();
    (void)once;
  }
  const std::string& current() const noexcept { return current_; }
  /// How many vectors went through `way`, by kind.
  void count(const std::string& way, const std::string& kind) { ++ways_[way][kind]; }
  std::size_t checked() const noexcept { return checked_; }

 private:
  explicit tally(const char* name) : name_(name) {}

  static void print_all() {
    for (const topic t : {topic::overhead, topic::prediction}) of(t).print();
  }
  void print() {
    end();
    if (checked_ == 0 && problems_.empty()) return;
    for (const auto& way : ways_) {
      std::printf("%s vectors, %s:", name_, way.first.c_str());
      const char* between = " ";
      for (const auto& kind : way.second) {
        std::printf("%s%s %zu", between, kind.first.c_str(), kind.second);
        between = ", ";
      }
      std::printf("\n");
    }
    for (const std::string& p : problems_) std::printf("%s: %s\n", name_, p.c_str());
    std::printf("%s vectors: %zu checked, %zu passed, %zu failed\n", name_, checked_, passed_, checked_ - passed_);
    std::fflush(stdout);
  }

  const char* name_;
  std::string current_, reasons_;
  bool open_ = false;
  std::size_t checked_ = 0, passed_ = 0;
  std::vector<std::string> problems_;
  std::map<std::string, std::map<std::string, std::size_t>> ways_;
};

/// One doctest assertion that counts against the vector at hand.
inline bool expect(topic t, bool good, const std::string& what) {
  if (good) {
    CHECK(good);
    return true;
  }
  tally::of(t).fail(what);
  FAIL_CHECK("vector " << tally::of(t).current() << ": " << what);
  return false;
}

inline std::filesystem::path folder() {
  const char* chosen = std::getenv("WHYWAIT_ORACLES");
  return chosen != nullptr && *chosen != '\0' ? std::filesystem::path(chosen)
                                              : std::filesystem::path(WHYWAIT_TEST_SOURCE_DIR) / "tests" / "oracles";
}

namespace detail {

/// One line that names the place, whatever the library says.
inline std::string reason(const std::exception& e) {
  std::string text = e.what();
  if (text.compare(0, 16, "[json.exception.") == 0) {
    const std::size_t end = text.find("] ");
    if (end != std::string::npos) text = text.substr(end + 2);
  }
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

inline void add_file(const std::filesystem::path& file, topic t, std::vector<json>& into) {
  const std::string name = file.string();
  std::ifstream in(file);
  if (!in.good()) throw bad_vector("cannot read " + name);
  json whole;
  try {
    whole = json::parse(in);
  } catch (const std::exception& e) {
    throw bad_vector(name + " is not JSON: " + reason(e));
  }
  if (!whole.is_object()) throw bad_vector(name + ": neither overhead vectors nor prediction cases");
  const auto schema = whole.find("schema");
  const bool overhead =
      schema != whole.end() && schema->is_string() && schema->get<std::string>().rfind("whywait-overhead-vectors/", 0) == 0;
  const bool prediction = whole.contains("cases");
  if (overhead == prediction) throw bad_vector(name + ": neither overhead vectors nor prediction cases");
  if (overhead != (t == topic::overhead)) return;
  const char* list = overhead ? "vectors" : "cases";
  if (!whole.contains(list) || !whole[list].is_array()) throw bad_vector(name + ": \"" + list + "\" is not a list");
  for (json& v : whole[list]) into.push_back(std::move(v));
}

}  // namespace detail

/// All vectors of a topic in the folder. What cannot be read is a failure with one line, and the rest is still returned.
inline const std::vector<json>& read(topic t) {
  static std::map<topic, std::vector<json>> known;
  const auto found = known.find(t);
  if (found != known.end()) return found->second;
  std::vector<json>& all = known[t];
  const auto fail = [t](const std::string& why) {
    tally::of(t).print_at_exit();
    tally::of(t).fail(why);
    FAIL_CHECK(why);
  };
  const std::filesystem::path from = folder();
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator it(from, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".json") files.push_back(it->path());
  if (error) {
    fail("cannot read the folder " + from.string() + ": " + error.message() +
         "; set WHYWAIT_ORACLES to a folder of test vectors");
    return all;
  }
  std::sort(files.begin(), files.end());
  bool broken = false;
  for (const auto& file : files) {
    try {
      detail::add_file(file, t, all);
    } catch (const std::exception& e) {
      broken = true;
      fail(e.what());
    }
  }
  if (all.empty() && !broken)
    fail("no " + std::string(t == topic::overhead ? "overhead" : "prediction") + " vectors in " + from.string());
  return all;
}

/// Judges every vector by `check(vector)`; what that throws is a failure of that vector.
template <class Check>
void each(topic t, Check&& check) {
  tally& count = tally::of(t);
  std::size_t number = 0;
  for (const json& v : read(t)) {
    ++number;
    const bool named = v.is_object() && v.contains("id") && v["id"].is_string();
    count.begin(named ? v["id"].get<std::string>() : "number " + std::to_string(number));
    try {
      if (!named) throw bad_vector("malformed: no \"id\"");
      check(v);
    } catch (const bad_vector& e) {
      expect(t, false, e.what());
    } catch (const json::exception& e) {
      expect(t, false, "malformed: " + detail::reason(e));
    } catch (const std::exception& e) {
      expect(t, false, detail::reason(e));
    }
  }
  count.end();
}

}  // namespace oracles

#endif
