#ifndef WHYWAIT_MODELS_RUN_LOG_HPP
#define WHYWAIT_MODELS_RUN_LOG_HPP

#include <whywait/base/vector.hpp>
#include <whywait/models/error.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace models {

/// Time in one named block during one activity.
struct block_time {
  std::uint32_t block = 0;  ///< in run_log::blocks
  double seconds = 0.0;
};

/// A task instance. It consists of computation up to a synchronising call and of the call itself without waiting.
struct activity {
  std::uint32_t label = 0;              ///< in run_log::labels; identifies the code by the call that ends it
  double work_seconds = 0.0;            ///< before the call
  double call_seconds = 0.0;            ///< in the call, excluding waits for others
  base::vector<block_time> blocks = {};  ///< named parts of the work
  double wake_seconds = 0.0;            ///< delay until the call detected completion, after a wait
  double waited_seconds = 0.0;          ///< duration of that wait; shorter waits have proportionally shorter delays
  double unexplained_seconds = 0.0;     ///< part of call_seconds and wake_seconds beyond what such a call plausibly takes
  double disturbed_seconds = 0.0;  ///< interruptions of the work, beside work_seconds: no change of the program reaches them
};

/// Activity `index` of line `line`.
struct place {
  std::uint32_t line = 0;
  std::uint32_t index = 0;
};

/// A message leaves when the call of `from` begins, and the call of `to` cannot end before it has arrived. With
/// `rendezvous` it does not leave before the call of `posted` has begun, and the call of `done` cannot end before it
/// has arrived.
struct message_edge {
  place from, to;
  double bytes = 0.0;
  double seconds = 0.0;  ///< from departure to arrival, without waiting
  bool rendezvous = false;  ///< too large to be buffered, or synchronous
  place posted = {}, done = {};  ///< calls that post the receive and complete the send; with rendezvous only
};

/// The call of `to` cannot end before the call of `from` has begun: a message or a collective makes progress only when
/// both sides are in the communication library.
struct entry_edge {
  place from, to;
};

/// A collective. The calls of `out` cannot end until all calls of `in` have begun and `seconds` have passed.
struct sync_edge {
  std::uint32_t label = 0;  ///< in run_log::labels
  base::vector<place> in, out;
  double seconds = 0.0;
  bool prefix = false;  ///< a scan, where the i-th of `out` needs only the first i of `in`, which are the same places
};

/// The activities of a run without waiting. Input of replay, algebra and learning. A line is the sequence of activities
/// of one thread of one rank. Plain data, written by hand or by whatif/records.hpp.
struct run_log {
  base::vector<std::string> labels;
  base::vector<std::string> blocks;
  base::vector<base::vector<activity>> lines;
  base::vector<message_edge> messages;
  base::vector<sync_edge> syncs;
  base::vector<entry_edge> entries;
  base::vector<std::int32_t> ranks;  ///< rank of each line; if empty, line i is rank i
  std::string open;  ///< reason why the program may behave differently at other speeds; empty if there is none
  double may_wait_from = 1e300;  ///< bytes: whether sends of this size and more wait for receivers was not seen
  double measured_seconds = 0.0;  ///< measured duration of the run; 0 if unknown
  base::vector<std::string> doubts;  ///< data that was dropped or unmatched while the log was built

  std::uint32_t label(const std::string& name) { return index_of(labels, name); }
  std::uint32_t block(const std::string& name) { return index_of(blocks, name); }

  /// Appends an activity to a line and returns its place.
  place add(std::uint32_t line, activity a) {
    if (line >= lines.size()) lines.resize(line + 1);
    lines[line].push_back(std::move(a));
    return {line, static_cast<std::uint32_t>(lines[line].size() - 1)};
  }

  /// Throws P022 for places that do not exist and for times that are negative or not finite.
  void check() const {
    auto good = [](double t) { return t >= 0.0 && std::isfinite(t); };
    for (const auto& line : lines)
      for (const activity& a : line) {
        bool fine = good(a.work_seconds) && good(a.call_seconds) && good(a.wake_seconds) && good(a.waited_seconds) &&
                    good(a.unexplained_seconds) && good(a.disturbed_seconds) && a.label < labels.size();
        for (const block_time& b : a.blocks) fine = fine && good(b.seconds) && b.block < blocks.size();
        if (!fine) throw prediction_error(fault::log, "an activity has a negative time or an unknown label or block");
      }
    auto exists = [&](const place& p) { return p.line < lines.size() && p.index < lines[p.line].size(); };
    for (const message_edge& m : messages)
      if (!exists(m.from) || !exists(m.to) || !good(m.seconds) || !good(m.bytes) ||
          (m.rendezvous && (!exists(m.posted) || !exists(m.done))))
        throw prediction_error(fault::log, "a message from or to an activity that does not exist, or with a negative time");
    for (const entry_edge& e : entries)
      if (!exists(e.from) || !exists(e.to)) throw prediction_error(fault::log, "an entry of an activity that does not exist");
    for (const sync_edge& s : syncs) {
      bool fine = good(s.seconds) && s.label < labels.size() && (!s.prefix || s.in.size() == s.out.size());
      for (const auto* side : {&s.in, &s.out})
        for (const place& p : *side) fine = fine && exists(p);
      if (!fine) throw prediction_error(fault::log, "a collective of activities that do not exist, or with a negative time");
    }
  }

 private:
  static std::uint32_t index_of(base::vector<std::string>& names, const std::string& name) {
    for (std::size_t i = 0; i != names.size(); ++i)
      if (names[i] == name) return static_cast<std::uint32_t>(i);
    names.push_back(name);
    return static_cast<std::uint32_t>(names.size() - 1);
  }
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
