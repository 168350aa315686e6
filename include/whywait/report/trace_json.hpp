#ifndef WHYWAIT_REPORT_TRACE_JSON_HPP
#define WHYWAIT_REPORT_TRACE_JSON_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/version.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/json_writer.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/section.hpp>
#include <whywait/report/trace_slices.hpp>
#include <whywait/report/words.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A text with quotes and escapes, as JSON has it.
inline std::string json_quoted(std::string_view text) {
  std::string out;
  auto append = [&out](const char* data, std::size_t size) { out.append(data, size); };
  json_document one{json_sink(append)};
  one.value(text);
  return out;
}

/// The timelines of all ranks in the Trace Event Format (Chrome, Perfetto): slices of regions, calls and waits, and an arrow from
/// the late call to the end of each wait. Sink: called with a std::string that it takes over. All slices come before all arrows,
/// because a viewer binds an arrow to the slices that it has read.
template <class Sink>
class trace_json_writer {
 public:
  /// `origin_ns` becomes 0. `dropped`: a sentence about what is left out, or empty.
  trace_json_writer(Sink sink, const detail::name_resolver& names, std::int64_t origin_ns, const std::string& program,
                    const std::string& dropped)
      : sink_(sink), names_(&names), origin_ns_(origin_ns) {
    const core::version_number v = core::version();
    line_ = "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"schema\": \"whywait-trace/1\", \"whywait\": \"" +
            std::to_string(v.major_part) + "." + std::to_string(v.minor_part) + "." + std::to_string(v.patch_part) +
            "\", \"program\": " + json_quoted(program) + ", \"left_out\": " + json_quoted(dropped) + "}, \"traceEvents\": [";
  }

  /// A rank and its threads.
  void rank(std::int32_t rank, std::uint32_t locations) {
    rank_ = rank;
    const std::string process = "{\"ph\":\"M\",\"pid\":" + std::to_string(rank);
    add(process + ",\"name\":\"process_name\",\"args\":{\"name\":\"rank " + std::to_string(rank) + "\"}}");
    add(process + ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" + std::to_string(rank) + "}}");
    for (std::uint32_t l = 0; l != locations; ++l)
      add(process + ",\"tid\":" + std::to_string(l) + ",\"name\":\"thread_name\",\"args\":{\"name\":\"" +
          (l == 0 ? "main thread" : "thread " + std::to_string(l)) + "\"}}");
  }

  /// The slices of the rank; `keys` has the meaning of the numbers.
  void slices(const base::pod_vector<trace_slice>& all, const base::pod_vector<trace_wait>& waits,
              const base::pod_vector<core::stable_key>& keys) {
    base::vector<std::string> known(keys.size() * 2);
    const auto cached = [&](std::size_t at, auto make) -> const std::string& {
      if (known[at].empty()) known[at] = make();
      return known[at];
    };
    for (const trace_slice& s : all) {
      std::string out = "{\"ph\":\"" + std::string(s.kind == slice_kind::step ? "i\",\"s\":\"t" : "X") +
                        "\",\"pid\":" + std::to_string(rank_) + ",\"tid\":" + std::to_string(s.location) +
                        ",\"ts\":" + us(s.begin_ns - origin_ns_);
      if (s.kind != slice_kind::step) out += ",\"dur\":" + us(s.end_ns - s.begin_ns);
      if (s.kind == slice_kind::wait) {
        add_wait(out, waits[s.name], keys);
      } else if (s.kind == slice_kind::call) {
        out += cached(s.name, [&] {
          const base::place p = names_->site(keys[s.name]);
          return ",\"cat\":\"mpi\",\"name\":" + json_quoted(p.call.empty() ? "MPI" : p.call) +
                 ",\"args\":{\"at\":" + json_quoted(base::call_text(p)) + "}}";
        });
      } else {
        out += cached(keys.size() + s.name, [&] {
          named_block b;
          names_->describe(keys[s.name], 0, b);
          return ",\"cat\":\"" +
                 std::string(s.kind == slice_kind::step ? "step"
                             : b.kind == "waiting"      ? "waiting"
                                                        : "region") +
                 "\",\"name\":" + json_quoted(b.block) + ",\"args\":{\"at\":" + json_quoted(base::code_text(b.where)) + "}}";
        });
      }
      add(out);
    }
  }

  /// The arrows of the rank.
  void arrows(std::int32_t rank, const base::pod_vector<trace_wait>& waits) {
    for (const trace_wait& w : waits) {
      const std::string same =
          ",\"cat\":\"wait\",\"name\":\"why\",\"id\":" + std::to_string(++arrows_) + ",\"ts\":" + us(w.end_ns - origin_ns_);
      add("{\"ph\":\"s\",\"pid\":" + std::to_string(w.causer_rank) + ",\"tid\":" + std::to_string(w.causer_location) + same +
          "}");
      add("{\"ph\":\"f\",\"bp\":\"e\",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(w.location) + same + "}");
    }
  }

  void end() {
    line_ += "\n]}\n";
    sink_(line_);
    line_.clear();
  }

 private:
  static std::string us(std::int64_t ns) {
    const char* const sign = ns < 0 ? "-" : "";
    const std::uint64_t size = ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    const std::string part = std::to_string(size % 1000 + 1000);
    return sign + std::to_string(size / 1000) + "." + part.substr(1);
  }

  void add_wait(std::string& out, const trace_wait& w, const base::pod_vector<core::stable_key>& keys) const {
    static constexpr const char* qualities[] = {"exact", "bounded", "order_suspect", "hidden_tree"};
    const auto why = static_cast<explain::pattern>(w.why);
    out += ",\"cat\":\"wait\",\"name\":" + json_quoted(pattern_words(explain::name_of(why))) +
           ",\"args\":{\"waited\":" + json_quoted(base::duration(base::seconds_of(w.end_ns - w.begin_ns))) +
           ",\"for rank\":" + std::to_string(w.causer_rank) +
           ",\"operation\":" + json_quoted(base::call_text(names_->site(keys[w.operation]))) +
           ",\"late call\":" + json_quoted(base::call_text(names_->site(keys[w.cause])));
    for (std::size_t i = 0; i != w.terms; ++i) {
      named_block b;
      names_->describe(keys[w.term[i]], 0, b);
      const std::string code = b.kind == "between" || b.kind == "call" ? std::string() : base::code_text(b.where);
      out += ",\"the late side ran " + std::to_string(i + 1) + "\":" +
             json_quoted(base::printable(b.block) + (code.empty() ? "" : " (" + code + ")") + " +" +
                         base::duration(base::seconds_of(w.term_ns[i])));
    }
    if (w.explained == 0) out += ",\"explained\":false";
    out += ",\"quality\":\"" + std::string(qualities[w.trust & 3]) + "\"}}";
  }

  void add(const std::string& event) {
    line_ += first_ ? "\n" : ",\n";
    first_ = false;
    line_ += event;
    if (line_.size() < 65536) return;
    sink_(line_);
    line_.clear();
  }

  Sink sink_;
  const detail::name_resolver* names_;
  std::int64_t origin_ns_;
  std::string line_;
  std::int64_t arrows_ = 0;
  std::int32_t rank_ = 0;
  bool first_ = true;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
