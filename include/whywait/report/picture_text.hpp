#ifndef WHYWAIT_REPORT_PICTURE_TEXT_HPP
#define WHYWAIT_REPORT_PICTURE_TEXT_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/json_writer.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Writes a picture as two columns; similar rows are folded into one line.
class picture_writer {
 public:
  static constexpr std::size_t most_rows = 17;  ///< 20 lines with both headings and a remark
  static constexpr std::size_t few_rows = 9;    ///< up to this number no row is folded

  picture_writer(const picture& p, std::size_t columns, const std::string& margin)
      : p_(p), margin_(margin + "  "), side_((std::min<std::size_t>(columns, 100) - margin_.size() - 3) / 2) {}

  std::string operator()() {
    choose();
    line("side by side, since both were last in step, the longest of these waits:", 2);
    columns(who(p_.waiter, "waited " + base::duration(p_.waiter.seconds, 2)), who(p_.causer, "came late"));
    for (std::size_t i = 0; i != p_.rows.size();) {
      if (kept_[i] != 0) {
        columns(cell(p_.rows[i], p_.rows[i].waiter), cell(p_.rows[i], p_.rows[i].causer));
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end != p_.rows.size() && kept_[end] == 0) ++end;
      folded(i, end);
      i = end;
    }
    if (p_.cut) line("(what ran before, or its order, was not kept)", 0);
    return std::move(out_);
  }

 private:
  void line(const std::string& text, std::size_t less) { out_ += margin_.substr(less) + text + "\n"; }

  void columns(const std::string& left, const std::string& right) {
    std::string text = margin_ + base::pad_right(left, side_) + " | " + right;
    while (text.back() == ' ') text.pop_back();
    out_ += text + "\n";
  }

  static std::string who(const location_seconds& l, const std::string& what) {
    return base::rank_text(l.rank, l.thread) + " (" + what + ")";
  }

  // Code that the compiler counts is named by its function.
  static bool is_line(const picture_row& row) noexcept { return row.kind == "step" && row.where.last_line != 0; }

  static std::string label(const picture_row& row, const picture_cell& c) {
    if (row.kind == "loop") return base::count(c.count) + " times";
    std::string name = row.kind == "unmarked"    ? std::string("(unmarked code)")
                       : row.kind == "unordered" ? std::string("(in an order not kept)")
                       : row.kind == "call"      ? (row.where.call.empty() ? "an MPI call" : base::printable(row.where.call))
                                                 : (row.name.empty() ? "unnamed block" : base::printable(row.name));
    if (is_line(row)) name += ":" + std::to_string(row.where.line);
    if (c.count != 1) name = base::count(c.count) + (is_line(row) ? "x " : " ") + name;
    if (c.continued) name = "... " + name;
    if (c.unfinished) name += " ...";
    return name;
  }

  std::string cell(const picture_row& row, const std::optional<picture_cell>& c) const {
    if (!c) return {};
    const std::string indent(2 * static_cast<std::size_t>(std::min<std::int64_t>(row.depth, 6)), ' ');
    return beside(indent + base::shorten_middle(label(row, *c), side_ - 9 - indent.size()),
                  row.kind == "step" ? "" : base::duration(c->seconds, 2));
  }
  std::string beside(const std::string& text, const std::string& amount) const {
    return base::pad_right(text, side_ - 9) + " " + base::pad_left(amount, 8);
  }

  // One line for folded rows, with the time of those that are not nested in others.
  void folded(std::size_t begin, std::size_t end) {
    double left = 0, right = 0;
    std::int64_t top = p_.rows[begin].depth;
    bool alike = true;
    for (std::size_t i = begin; i != end; ++i) {
      const picture_row& row = p_.rows[i];
      alike = alike && !differs(row);
      if (row.depth > top && i != begin) continue;
      top = row.depth;
      if (row.waiter) left += row.waiter->seconds;
      if (row.causer) right += row.causer->seconds;
    }
    const std::string rows = base::counted(static_cast<std::int64_t>(end - begin), "row");
    const std::string text = "  (" + rows + (alike ? " alike)" : ", small)");
    columns(beside(text, base::duration(left, 2)), beside(text, base::duration(right, 2)));
  }

  static double seconds(const std::optional<picture_cell>& c) noexcept { return c ? c->seconds : 0; }
  double apart(const picture_row& row) const noexcept { return std::fabs(seconds(row.waiter) - seconds(row.causer)); }
  bool differs(const picture_row& row) const noexcept {
    return !row.waiter || !row.causer || row.waiter->count != row.causer->count || apart(row) > 0.05 * p_.waiter.seconds;
  }

  // Selects the rows with the largest differences and their enclosing rows, as many as fit; without differences the
  // longest.
  void choose() {
    const std::size_t all = p_.rows.size();
    kept_.assign(all, all <= few_rows ? 1 : 0);
    if (all <= few_rows) return;
    base::pod_vector<std::size_t> order(all), around(all, all), open;
    for (std::size_t i = 0; i != all; ++i) {
      order[i] = i;
      while (!open.empty() && p_.rows[open.back()].depth >= p_.rows[i].depth) open.pop_back();
      if (!open.empty()) around[i] = open.back();
      open.push_back(i);
    }
    base::pod_vector<char> differing(all);  // lines of a differing loop identify it
    for (std::size_t i = 0; i != all; ++i)
      differing[i] = differs(p_.rows[i]) || (is_line(p_.rows[i]) && around[i] != all && differs(p_.rows[around[i]]));
    base::small_stable_sort(order, [this, &differing](std::size_t a, std::size_t b) {
      const picture_row &x = p_.rows[a], &y = p_.rows[b];
      if (differing[a] != differing[b]) return differing[a] != 0;
      if (apart(x) != apart(y)) return apart(x) > apart(y);
      return seconds(x.causer) > seconds(y.causer);
    });
    base::pod_vector<char> trial;
    std::size_t tries = 0;
    for (const std::size_t row : order) {
      if (kept_[row] != 0) continue;
      if (!differing[row] && differing[order.front()]) break;
      if (++tries > 4 * most_rows) break;  // later rows differ less than those already rejected
      trial = kept_;
      for (std::size_t at = row; at != all; at = around[at]) trial[at] = 1;
      if (lines_of(trial) <= (differing[row] ? most_rows : few_rows)) kept_.swap(trial);
    }
    for (std::size_t i = 0; i != all; ++i)  // folding a single row saves no line
      if (kept_[i] == 0 && (i == 0 || kept_[i - 1] != 0) && (i + 1 == all || kept_[i + 1] != 0)) kept_[i] = 1;
  }
  static std::size_t lines_of(const base::pod_vector<char>& kept) {
    std::size_t lines = 0;
    for (std::size_t i = 0; i != kept.size(); ++i) lines += kept[i] != 0 || i == 0 || kept[i - 1] != 0 ? 1 : 0;
    return lines;
  }

  const picture& p_;
  std::string margin_;
  std::size_t side_;
  base::pod_vector<char> kept_;
  std::string out_;
};

template <class Writer>
void write_picture_cell(Writer& out, const char* name, const std::optional<picture_cell>& c) {
  if (!c) return;
  out.key(name).begin_object().member("count", c->count).member("seconds", c->seconds);
  if (c->continued) out.member("continued", true);
  if (c->unfinished) out.member("unfinished", true);
  out.end_object();
}

template <class Writer>
void write_picture(Writer& out, const picture& p) {
  out.key("picture").begin_object().member("cut", p.cut);
  for (const bool left : {true, false}) {
    const location_seconds& l = left ? p.waiter : p.causer;
    out.key(left ? "waiter" : "causer").begin_object();
    out.member("rank", l.rank).member("thread", l.thread).member("seconds", l.seconds).end_object();
  }
  out.key("rows").begin_array();
  for (const picture_row& row : p.rows) {
    out.begin_object().member("kind", row.kind).member("depth", row.depth);
    if (!row.name.empty()) out.member("name", row.name);
    if (!row.where.call.empty()) out.member("call", row.where.call);
    if (!row.where.file.empty()) out.member("file", row.where.file).member("line", row.where.line);
    write_picture_cell(out, "waiter", row.waiter);
    write_picture_cell(out, "causer", row.causer);
    out.end_object();
  }
  out.end_array().end_object();
}

}  // namespace detail

/// The picture as text: at most 20 lines of at most min(`columns`, 100) columns, each beginning with `margin`.
inline std::string picture_text(const picture& p, std::size_t columns, const std::string& margin) {
  return detail::picture_writer(p, columns, margin)();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
